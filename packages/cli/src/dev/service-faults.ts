/** Failures of services to order: `--fail charge=throw:0.2,lost:0.2,slow:3000`. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";

export interface ServiceFaults {
  /** How many calls of 1 fail without being made. */
  readonly throw: number;
  /** How many calls of 1 are made, and their answer is lost. */
  readonly lost: number;
  /** By how much each call is later. */
  readonly slowMs: number;
}

export type FaultsByService = Readonly<Record<string, ServiceFaults>>;

export const NO_SERVICE_FAULTS: ServiceFaults = { throw: 0, lost: 0, slowMs: 0 };

const MAX_SLOW_MS = 600_000;

/** Of several `--fail`, the last one for a service counts. Throws a CommandError. */
export function parseServiceFaults(texts: readonly string[]): FaultsByService {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, list = ""] = /^([A-Za-z]\w*)=(.+)$/.exec(text) ?? [];
      if (name === undefined) throw wrong(text);
      let faults = NO_SERVICE_FAULTS;
      for (const part of list.split(",")) {
        const [, kind, number] = /^(throw|lost|slow):(\d+(?:\.\d+)?)$/.exec(part.trim()) ?? [];
        const value = Number(number);
        if (kind === undefined || value > (kind === "slow" ? MAX_SLOW_MS : 1)) throw wrong(text);
        faults = { ...faults, [kind === "slow" ? "slowMs" : kind]: value };
      }
      return [name, faults] as const;
    }),
  );
}

function wrong(text: string): CommandError {
  return new CommandError(
    "usage",
    `--fail ${text}: a service has failures by kind: throw and lost with a part of its calls from 0 to 1, slow with milliseconds up to ${MAX_SLOW_MS}.`,
    "Write for example --fail charge=throw:0.2,lost:0.2,slow:3000.",
    { exitCode: EXIT_USAGE },
  );
}
