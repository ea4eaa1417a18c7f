/** The cost of a lease to a write: on items that all locations have leased, and on items that nobody reads. */
import { type Benchmark, PAPER_LOCATIONS } from "@radical/app";
import { type Answered, median, quantile } from "@radical/bench";
import { CommandError } from "@radical/app/command-error";
import { type Figure, figure } from "../bench-figure.ts";
import {
  type Application,
  type Both,
  type Effort,
  LOCATIONS,
  READ,
  type Side,
  SIDES,
  TABLE,
  withBoth,
  WRITE,
} from "./two-deployments.ts";

/** Beyond the two round trips. */
const MARGIN_MS = 25;
const MOST_RATIO_ELSEWHERE = 1.03;
/** Reads after which an item should be leased. */
const MOST_READS = 100;
const READ_PAUSE_MS = 20;

interface Write {
  readonly location: string;
  readonly ms: number;
}

export async function measureWrites(application: Application, effort: Effort): Promise<readonly Figure[]> {
  const { writes: rounds, signal, tell } = effort;
  const leased: Write[] = [];
  const elsewhere: Record<Side, Write[]> = { leased: [], off: [] };
  const benchmark: Benchmark = {
    prepare: (preparation) => {
      for (let round = 0; round < rounds; round++)
        for (const location of LOCATIONS) {
          preparation.put(TABLE, keyOf("leased", round, location), { count: 0 });
          preparation.put(TABLE, keyOf("elsewhere", round, location), { count: 0 });
        }
    },
    requests: [{ handler: READ, share: 1, args: () => ({ keys: [] }) }],
  };
  await withBoth(application, benchmark, effort, async (both) => {
    for (let round = 0; round < rounds && !signal.aborted; round++) {
      if (round % 5 === 0) tell(`writes: ${round} of ${rounds} rounds`);
      for (const location of LOCATIONS) {
        const key = keyOf("leased", round, location);
        await leaseEverywhere(both, key);
        leased.push({ location, ms: await write(both, "leased", location, key) });
        for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed())
          elsewhere[side].push({
            location,
            ms: await write(both, side, location, keyOf("elsewhere", round, location)),
          });
      }
    }
  });
  return [
    ...PAPER_LOCATIONS.flatMap(({ name, roundTripMs }) => {
      const own = leased.filter(({ location }) => location === name).map(({ ms }) => ms);
      const farthest = Math.max(
        ...PAPER_LOCATIONS.filter((other) => other.name !== name).map((other) => other.roundTripMs),
      );
      return [
        figure(`writes of leased items at ${name}: p50`, median(own), "ms", {
          atMost: roundTripMs + farthest + MARGIN_MS,
        }),
        figure(
          `writes of leased items at ${name}: p99`,
          quantile(
            own.toSorted((a, b) => a - b),
            0.99,
          ),
          "ms",
        ),
      ];
    }),
    figure("writes of other items: p50, leased / off", ratioOf(elsewhere), "×", { atMost: MOST_RATIO_ELSEWHERE }),
  ];
}

/** Each location is as far away as it is, so that the ratio is taken there; told is the mean of the five. */
function ratioOf(elsewhere: Readonly<Record<Side, readonly Write[]>>): number {
  const p50 = (side: Side, name: string): number =>
    median(elsewhere[side].filter(({ location }) => location === name).map(({ ms }) => ms));
  const sum = (side: Side): number => LOCATIONS.reduce((all, name) => all + p50(side, name), 0);
  return sum("leased") / sum("off");
}

function keyOf(group: string, round: number, location: string): string {
  return `${group}-${round}-${location}`;
}

/** Each location reads the item until a lease answers. Throws if none does. */
async function leaseEverywhere(both: Both, key: string): Promise<void> {
  const unleased = await Promise.all(
    LOCATIONS.map(async (location) => ((await isLeased(both, location, key)) ? [] : [location])),
  );
  if (unleased.flat().length === 0) return;
  throw new CommandError(
    "benchmark_failed",
    `${key} was read ${MOST_READS} times, and is not leased to ${unleased.flat().join(", ")}`,
    "see the log of the server for sessions that lapsed",
  );
}

async function isLeased({ leased }: Both, location: string, key: string): Promise<boolean> {
  for (let read = 0; read < MOST_READS; read++) {
    const { headers } = await leased.ask(location, { handler: READ, args: { keys: [key] } });
    if (headers["x-radical-path"] === "leased") return true;
    await new Promise((resolve) => setTimeout(resolve, READ_PAUSE_MS));
  }
  return false;
}

async function write(both: Both, side: Side, location: string, key: string): Promise<number> {
  const { sentAtMs, answeredAtMs, status, body }: Answered = await both[side].ask(location, {
    handler: WRITE,
    args: { keys: [key] },
  });
  if (status !== 200) throw new CommandError("benchmark_failed", `a write was answered ${status} ${body}`, "see above");
  return answeredAtMs - sentAtMs;
}
