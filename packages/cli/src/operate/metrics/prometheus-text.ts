/** The text in which a server tells its metrics, read back: the part of Prometheus' format that it writes. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of each name; those of a histogram have the endings `_bucket`, `_sum` and `_count`. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", "\\": "\\", '"': '"' };

export function samplesOf(text: string): Samples {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const found = Array.from(labels.matchAll(LABEL), ([, label, told]) => [label!, unescaped(told!)] as const);
    const of = samples.get(name) ?? [];
    samples.set(name, of);
    of.push({ labels: Object.fromEntries(found), value: value === "+Inf" ? Infinity : Number(value) });
  }
  return samples;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, escaped: string) => ESCAPED[escaped] ?? escaped);
}

/** The sum of the samples with these labels; 0 if there are none. */
export function total(samples: Samples, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels);
  const those = (samples.get(name) ?? []).filter((one) =>
    wanted.every(([label, value]) => one.labels[label] === value),
  );
  return those.reduce((sum, { value }) => sum + value, 0);
}

export interface Histogram {
  readonly bounds: readonly number[];
  /** Of each bucket alone, with one more for larger values. */
  readonly counts: readonly number[];
}

/** All samples of the histogram with these labels, as one. */
export function histogram(samples: Samples, name: string, labels: Readonly<Record<string, string>> = {}): Histogram {
  const buckets = samples.get(`${name}_bucket`) ?? [];
  const limits = new Set(buckets.map(({ labels: { le } }) => (le === "+Inf" ? Infinity : Number(le))));
  const bounds = [...limits].filter(Number.isFinite).toSorted((a, b) => a - b);
  const upTo = [...bounds.map(String), "+Inf"].map((le) => total(samples, `${name}_bucket`, { ...labels, le }));
  return { bounds, counts: upTo.map((count, at) => count - (upTo[at - 1] ?? 0)) };
}
