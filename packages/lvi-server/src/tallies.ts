/**
 * Counters and histograms that cost an addition. Those of prom-client look their labels up by a text that is made at each
 * observation, which takes longer than all else that a hot request has counted. Here a child is looked up once, by whoever
 * keeps it; prom-client asks for the values when metrics are wanted.
 */
import type { Metric, Registry } from "prom-client";
import { Distribution } from "./core/distribution.ts";

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

abstract class Tally<Child> {
  readonly #help: string;
  readonly name: string;
  readonly #type: string;
  readonly #children = new Map<string, { readonly labels: Labels; readonly child: Child }>();

  constructor(registry: Registry, type: string, name: string, help: string) {
    this.name = name;
    this.#help = help;
    this.#type = type;
    // It asks nothing of a metric but its name, and `get`.
    registry.registerMetric(this as unknown as Metric);
  }

  /** What counts under these labels. */
  child(labels: Labels): Child {
    const key = JSON.stringify(labels);
    let known = this.#children.get(key);
    if (known === undefined) this.#children.set(key, (known = { labels, child: this.empty() }));
    return known.child;
  }

  /** All of them, with their labels. */
  get children(): readonly { readonly labels: Labels; readonly child: Child }[] {
    return [...this.#children.values()];
  }

  get(): Promise<object> {
    const values = this.children.flatMap(({ labels, child }) => this.samples(labels, child));
    return Promise.resolve({ name: this.name, help: this.#help, type: this.#type, values, aggregator: "sum" });
  }

  protected abstract empty(): Child;
  protected abstract samples(labels: Labels, child: Child): readonly Sample[];
}

export interface Count {
  count: number;
}

export class CounterTally extends Tally<Count> {
  constructor(registry: Registry, name: string, help: string) {
    super(registry, "counter", name, help);
  }

  protected override empty(): Count {
    return { count: 0 };
  }

  protected override samples(labels: Labels, { count }: Count): readonly Sample[] {
    return [{ labels, value: count }];
  }
}

export class HistogramTally extends Tally<Distribution> {
  readonly #bounds: readonly number[];

  constructor(registry: Registry, name: string, help: string, bounds: readonly number[]) {
    super(registry, "histogram", name, help);
    this.#bounds = bounds;
  }

  protected override empty(): Distribution {
    return new Distribution(this.#bounds);
  }

  protected override samples(labels: Labels, distribution: Distribution): readonly Sample[] {
    return samplesOf(this.name, labels, distribution);
  }
}

/** A histogram without labels that somebody else keeps. */
export class KeptHistogram {
  readonly name: string;
  readonly #help: string;
  readonly #kept: () => Distribution;

  /** `kept`: asked for when metrics are wanted. */
  constructor(registry: Registry, name: string, help: string, kept: () => Distribution) {
    this.name = name;
    this.#help = help;
    this.#kept = kept;
    registry.registerMetric(this as unknown as Metric);
  }

  get(): Promise<object> {
    const values = samplesOf(this.name, {}, this.#kept());
    return Promise.resolve({ name: this.name, help: this.#help, type: "histogram", values, aggregator: "sum" });
  }
}

function samplesOf(name: string, labels: Labels, { bounds, counts, sum }: Distribution): readonly Sample[] {
  let total = 0;
  const buckets = counts.map((count, at): Sample => {
    total += count;
    return { metricName: `${name}_bucket`, labels: { le: bounds[at] ?? "+Inf", ...labels }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ];
}
