/**
 * How often validation succeeds in the paper's workloads, and what would let it fail less, replayed in virtual time: five
 * locations, their round trips, caches that hold everything, and sets after those of three templates' handlers, simplified:
 * nobody is logged in, and a page is fewer kinds of items. Nothing is timed.
 */
import type { Random } from "@radical/history";

/** How a location learns what others have written. */
export type Means =
  /** From the repairs of its own failed validations. */
  | "repairs"
  /** Besides, each reply brings what was applied since the last one. */
  | "replies"
  /** Besides repairs, what it has read lately is sent to it when it is applied. */
  | "updates";

export interface StalenessRow {
  readonly workload: string;
  /** At each location, a second. */
  readonly rate: number;
  /** Shares of all validations. */
  readonly validated: Readonly<Record<Means, number>>;
  /** With updates: what failed although the writer was told less than a round trip before, which nothing can prevent. */
  readonly concurrent: number;
}

export const MEANS: readonly Means[] = ["repairs", "replies", "updates"];
const ROUND_TRIPS_MS = [7, 74, 70, 93, 146] as const;
const REQUESTS = 20_000;
const WARM_UP = 5_000;
/** How many changes of a unit are sent to a location after it has read it. */
const CREDIT = 4;

interface Kind {
  readonly share: number;
  readonly workMs: number;
  readonly access: () => { readonly reads: readonly string[]; readonly writes: readonly string[] };
}

export function replayStaleness(random: Random): readonly StalenessRow[] {
  const rows: StalenessRow[] = [];
  for (const [workload, kinds] of Object.entries(workloads(random))) {
    for (const rate of [0.5, 2, 10]) {
      const of = (means: Means): ReturnType<typeof replay> => replay(kinds, rate, means, random);
      const [repairs, replies, updates] = [of("repairs"), of("replies"), of("updates")];
      const share = ({ failed, count }: ReturnType<typeof replay>): number => 1 - failed / count;
      const validated = { repairs: share(repairs), replies: share(replies), updates: share(updates) };
      rows.push({ workload, rate, validated, concurrent: updates.concurrent / updates.count });
    }
  }
  return rows;
}

interface Change {
  readonly version: number;
  readonly toldAtMs: number;
}

function replay(
  kinds: readonly Kind[],
  rate: number,
  means: Means,
  random: Random,
): { failed: number; concurrent: number; count: number } {
  const later: { readonly atMs: number; readonly what: () => void }[] = [];
  const push = (atMs: number, what: () => void): void => {
    later.push({ atMs, what });
    for (let at = later.length - 1; at > 0;) {
      const up = (at - 1) >> 1;
      if (later[up]!.atMs <= later[at]!.atMs) break;
      [later[up], later[at]] = [later[at]!, later[up]!];
      at = up;
    }
  };
  const pop = (): (typeof later)[number] | undefined => {
    const first = later[0];
    const last = later.pop();
    if (first === undefined || last === undefined || first === last) return first;
    later[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < later.length && later[left]!.atMs < later[least]!.atMs) least = left;
      if (right < later.length && later[right]!.atMs < later[least]!.atMs) least = right;
      if (least === at) break;
      [later[least], later[at]] = [later[at]!, later[least]!];
      at = least;
    }
    return first;
  };
  const primary = new Map<string, Change>();
  const currentOf = (unit: string): number => primary.get(unit)?.version ?? 0;
  const locations = ROUND_TRIPS_MS.map((roundTripMs) => ({
    roundTripMs,
    cache: new Map<string, number>(),
    credit: new Map<string, number>(),
    /** Applied, and not yet brought by a reply. */
    news: new Map<string, number>(),
  }));
  const put = (cache: Map<string, number>, unit: string, version: number): void => {
    if (version > (cache.get(unit) ?? -1)) cache.set(unit, version);
  };
  let begun = 0;
  const result = { failed: 0, concurrent: 0, count: 0 };
  for (const location of locations) {
    const begin = (startedAtMs: number): void => {
      if (begun >= REQUESTS) return;
      const counts = ++begun > WARM_UP;
      const { roundTripMs, cache } = location;
      let drawn = random.unit();
      const kind = kinds.find(({ share }) => (drawn -= share) < 0) ?? kinds[0]!;
      const { reads, writes } = kind.access();
      const sent = new Map(reads.map((unit) => [unit, cache.get(unit) ?? null]));
      const isHit = reads.every((unit) => sent.get(unit) !== null);
      const arrivesAtMs = startedAtMs + roundTripMs / 2;
      push(arrivesAtMs, () => {
        const stale = reads.filter((unit) => sent.get(unit) !== currentOf(unit));
        const isValid = stale.length === 0;
        if (counts && isHit) {
          result.count++;
          if (!isValid) result.failed++;
          if (stale.some((unit) => primary.get(unit)!.toldAtMs > arrivesAtMs - roundTripMs)) result.concurrent++;
        }
        const doneAtMs = isValid ? arrivesAtMs : arrivesAtMs + kind.workMs;
        const brought = new Map(stale.map((unit) => [unit, currentOf(unit)]));
        for (const unit of reads) location.credit.set(unit, CREDIT);
        const written = new Map<string, number>();
        for (const unit of writes) {
          const version = currentOf(unit) + 1;
          primary.set(unit, { version, toldAtMs: arrivesAtMs });
          written.set(unit, version);
        }
        const repliedAtMs = doneAtMs + roundTripMs / 2;
        const appliedAtMs = isValid ? Math.max(repliedAtMs, startedAtMs + kind.workMs) + roundTripMs / 2 : doneAtMs;
        push(appliedAtMs, () => {
          for (const [unit, version] of written) {
            for (const other of locations) {
              if (means === "replies" && other.cache.has(unit)) other.news.set(unit, version);
              const credit = other.credit.get(unit) ?? 0;
              if (means !== "updates" || credit === 0 || other === location) continue;
              other.credit.set(unit, credit - 1);
              push(appliedAtMs + other.roundTripMs / 2, () => put(other.cache, unit, version));
            }
          }
        });
        push(doneAtMs, () => {
          const news = [...location.news];
          location.news.clear();
          push(repliedAtMs, () => {
            for (const [unit, version] of [...brought, ...written, ...news]) put(cache, unit, version);
          });
        });
      });
    };
    // An open loop.
    const loop = (atMs: number): void => {
      push(atMs, () => {
        begin(atMs);
        if (begun < REQUESTS) loop(atMs - Math.log(1 - random.unit()) * (1_000 / rate));
      });
    };
    loop(random.unit() * 1_000);
  }
  for (let next = pop(); next !== undefined; next = pop()) next.what();
  return result;
}

function workloads(random: Random): Readonly<Record<string, readonly Kind[]>> {
  const draw = (count: number): number => random.below(count);
  const [people, stories, hotels] = [1_000, 1_000, 80];
  const user = () => random.zipf(people);
  const story = () => random.zipf(stories);
  const followers = Array.from({ length: people }, () => Array.from({ length: 10 }, () => draw(people)));
  const none = { reads: [], writes: [] };
  const own = (reads: readonly string[]) => ({ reads, writes: reads });
  return {
    social: [
      { share: 0.8, workMs: 120, access: () => ({ reads: [`timelines/${user()}`], writes: [] }) },
      { share: 0.095, workMs: 124, access: () => ({ reads: [`people/${user()}`], writes: [] }) },
      { share: 0.095, workMs: 213, access: () => none },
      { share: 0.005, workMs: 16, access: () => own([`people/${user()}`, `people/${user()}`]) },
      {
        share: 0.005,
        workMs: 106,
        access: () => {
          const author = user();
          return own([
            `people/${author}`,
            ...new Set([author, ...followers[author]!].map((one) => `timelines/${one}`)),
          ]);
        },
      },
    ],
    hotel: [
      {
        share: 0.6,
        workMs: 161,
        access: () => ({ reads: Array.from({ length: 5 }, () => `rooms/${draw(hotels)}`), writes: [] }),
      },
      {
        share: 0.3,
        workMs: 207,
        access: () => ({ reads: Array.from({ length: hotels }, (_, at) => `hotels/${at}`), writes: [] }),
      },
      { share: 0.085, workMs: 111, access: () => none },
      { share: 0.005, workMs: 272, access: () => own([`rooms/${draw(hotels)}`]) },
      { share: 0.005, workMs: 13, access: () => own([`hotels/${draw(hotels)}`]) },
      { share: 0.005, workMs: 213, access: () => none },
    ],
    forum: [
      // The stories that are on the front page are not those that most is done with.
      {
        share: 0.8,
        workMs: 209,
        access: () => ({
          reads: ["fronts/front", ...Array.from({ length: 60 }, (_, at) => `stories/${at * 16}`)],
          writes: [],
        }),
      },
      { share: 0.01, workMs: 18, access: () => own(["fronts/front"]) },
      { share: 0.09, workMs: 16, access: () => own([`stories/${story()}`, `members/${draw(people)}`]) },
      { share: 0.08, workMs: 123, access: () => ({ reads: [`stories/${story()}`], writes: [] }) },
      { share: 0.02, workMs: 212, access: () => none },
    ],
  };
}
