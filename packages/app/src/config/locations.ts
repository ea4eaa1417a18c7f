/** Locations and their simulated ways to the primary, in `radical.config.ts` and in options of commands. */
import { CommandError, EXIT_USAGE } from "../command-error.ts";

/** A simulated way between a location and the primary. */
export interface Distance {
  /** In milliseconds. */
  readonly roundTripMs: number;
  /** How far the round trip of a message is from that at most, either way, in milliseconds. Default: 0. */
  readonly jitterMs?: number;
  /** Of a hundred pieces of data that many are lost and sent again. Default: 0. */
  readonly lossPercent?: number;
}

export interface Location extends Distance {
  readonly name: string;
}

/** The locations of the paper's evaluation (section 5.1) with their round trips to the primary. */
export const PAPER_LOCATIONS: readonly Location[] = [
  { name: "VA", roundTripMs: 7 },
  { name: "CA", roundTripMs: 74 },
  { name: "IE", roundTripMs: 70 },
  { name: "DE", roundTripMs: 93 },
  { name: "JP", roundTripMs: 146 },
];

export const MAX_ROUND_TRIP_MS = 10_000;
export const MAX_LOSS_PERCENT = 50;
export const NAME_OF_LOCATION = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

/** The distance of locations that name none; null leaves a location as it is. */
export interface CommonDistance {
  readonly jitterMs: number | null;
  readonly lossPercent: number | null;
}

/** `146`, `146±5`, `146+-5`, `146/1%`, `146±5/1%`. */
const DISTANCE = /^(\d+(?:\.\d+)?)(?:(?:±|\+-)(\d+(?:\.\d+)?))?(?:\/(\d+(?:\.\d+)?)%)?$/;

/** `VA=7,JP=146±5/1%` as `--locations` takes it. Throws a CommandError. */
export function parseLocations(text: string): readonly Location[] {
  const locations = text.split(",").map((part): Location => {
    const [name = "", distance = "", ...more] = part.split("=").map((side) => side.trim());
    const [roundTripMs, jitterMs, lossPercent] = (DISTANCE.exec(distance)?.slice(1) ?? []).map((digits) =>
      digits === undefined ? undefined : Number(digits),
    );
    if (
      !NAME_OF_LOCATION.test(name) ||
      more.length > 0 ||
      roundTripMs === undefined ||
      roundTripMs > MAX_ROUND_TRIP_MS ||
      (jitterMs ?? 0) > roundTripMs ||
      (lossPercent ?? 0) > MAX_LOSS_PERCENT
    ) {
      throw usage(
        `--locations: "${part.trim()}" is not NAME=MILLISECONDS[±MILLISECONDS][/PERCENT%].`,
        `Name each location with its round trip to the primary, at most ${MAX_ROUND_TRIP_MS} ms. You may add how much it varies, and how much is lost, at most ${MAX_LOSS_PERCENT} %: --locations VA=7,JP=146±5/1%`,
      );
    }
    return locationOf(name, { roundTripMs, jitterMs, lossPercent });
  });
  const names = new Set(locations.map(({ name }) => name));
  if (names.size !== locations.length)
    throw usage(`--locations names a location twice: ${text}`, "Name each location once.");
  return locations;
}

/** The locations, each with what is common to all as far as it says nothing itself; none varies by more than its round trip. */
export function withCommonDistance(locations: readonly Location[], common: CommonDistance): readonly Location[] {
  return locations.map(({ name, roundTripMs, jitterMs, lossPercent }) =>
    locationOf(name, {
      roundTripMs,
      jitterMs: jitterMs ?? (common.jitterMs === null ? undefined : Math.min(common.jitterMs, roundTripMs)),
      lossPercent: lossPercent ?? common.lossPercent ?? undefined,
    }),
  );
}

/** `146 ms`, `146±5 ms, 1 % lost`. */
export function describeDistance({ roundTripMs, jitterMs = 0, lossPercent = 0 }: Distance): string {
  return `${roundTripMs}${jitterMs === 0 ? "" : `±${jitterMs}`} ms${lossPercent === 0 ? "" : `, ${lossPercent} % lost`}`;
}

/** A distance whose optional parts may be undefined. */
type GivenDistance = { readonly [Part in keyof Distance]: Distance[Part] | undefined } & Pick<Distance, "roundTripMs">;

export function locationOf(name: string, { roundTripMs, jitterMs, lossPercent }: GivenDistance): Location {
  return {
    name,
    roundTripMs,
    ...(jitterMs === undefined ? {} : { jitterMs }),
    ...(lossPercent === undefined ? {} : { lossPercent }),
  };
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
