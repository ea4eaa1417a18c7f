/** Failures of services to order: `--fail charge=throw:0.2,lost:0.2,slow:3000`. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type FaultChange, type Faults, NO_FAULTS, readFaultChange } from "@radical/local";
import type { Manifest } from "@radical/protocol";

export interface ServiceFaults {
  /** How many calls of 1 fail without being made. */
  readonly throw: number;
  /** How many calls of 1 are made, and their answer is lost. */
  readonly lost: number;
  /** By how much each call is later. */
  readonly slowMs: number;
}

export type FaultsByService = Readonly<Record<string, ServiceFaults>>;

export type ServiceFaultChange = Readonly<Record<string, Partial<ServiceFaults>>>;

export const NO_SERVICE_FAULTS: ServiceFaults = { throw: 0, lost: 0, slowMs: 0 };

/** The faults of `radical dev`. */
export interface DevFaults extends Faults {
  /** Failures of services, by name. */
  readonly services: FaultsByService;
}

export interface DevFaultChange extends FaultChange {
  /** A service or a kind that is not named stays as it is. The empty object ends all. */
  readonly services?: ServiceFaultChange;
}

export const NO_DEV_FAULTS: DevFaults = { ...NO_FAULTS, services: {} };

const MAX_SLOW_MS = 600_000;

/** Names of functions, and so of services. */
export const SERVICE_NAME = /^[A-Za-z_$][\w$]*$/;

/** Failures as a test orders them, in the words of `--fail`. */
export interface OrderedFaults {
  readonly throw?: number;
  readonly lost?: number;
  readonly slow?: number;
}

/** Throws a TypeError. */
export function faultsOfTest(ordered: Readonly<Record<string, OrderedFaults>>): FaultsByService {
  return Object.fromEntries(
    Object.entries(ordered).map(([name, each]) => {
      if (!isOrdered(each)) throw new TypeError(`serviceFaults of ${name}: ${POSSIBLE}.`);
      return [name, { ...NO_SERVICE_FAULTS, ...orderedFaults(each) }];
    }),
  );
}

function orderedFaults({ slow, ...ordered }: OrderedFaults): Partial<ServiceFaults> {
  return slow === undefined ? ordered : { ...ordered, slowMs: slow };
}

/** The failures after a change. */
export function changedServiceFaults(faults: FaultsByService, change: ServiceFaultChange): FaultsByService {
  const changed = Object.entries(change);
  if (changed.length === 0) return {};
  const after = changed.map(([name, each]) => [name, { ...NO_SERVICE_FAULTS, ...faults[name], ...each }] as const);
  return { ...faults, ...Object.fromEntries(after) };
}

/** Whether a client has sent failures that there are. */
function isOrdered(sent: unknown): sent is OrderedFaults {
  if (typeof sent !== "object" || sent === null) return false;
  const isKnown = Object.entries(sent).every(([kind, number]) => KINDS.has(kind) && typeof number === "number");
  return isKnown && isPossible({ ...NO_SERVICE_FAULTS, ...orderedFaults(sent) });
}

const KINDS: ReadonlySet<string> = new Set(["throw", "lost", "slow"]);

/** Of several `--fail`, the last one for a service counts. Throws a CommandError. */
export function parseServiceFaults(texts: readonly string[]): FaultsByService {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name = "", list = ""] = /^([^=]*)=(.+)$/.exec(text) ?? [];
      let faults = NO_SERVICE_FAULTS;
      for (const part of list.split(",")) {
        const [, kind, number] = /^(throw|lost|slow):(\d+(?:\.\d+)?)$/.exec(part.trim()) ?? [];
        if (kind === undefined) throw wrong(text);
        faults = { ...faults, [kind === "slow" ? "slowMs" : kind]: Number(number) };
      }
      if (!SERVICE_NAME.test(name) || !isPossible(faults)) throw wrong(text);
      return [name, faults] as const;
    }),
  );
}

/** A change of faults as a client sends it: services in the words of `--fail`. Throws a CommandError. */
export function readDevFaultChange(
  json: unknown,
  locations: readonly string[],
  manifest: Pick<Manifest, "services">,
): DevFaultChange {
  if (typeof json !== "object" || json === null || !("services" in json)) return readFaultChange(json, locations);
  const { services, ...others } = json;
  if (typeof services !== "object" || services === null || !Object.values(services).every(isOrdered))
    throw wrongChange(`The field services must be like ${EXAMPLE}: ${POSSIBLE}.`);
  const faults = Object.fromEntries(
    Object.entries(services as Readonly<Record<string, OrderedFaults>>).map(([name, ordered]) => [
      name,
      orderedFaults(ordered),
    ]),
  );
  checkServiceFaults(faults, manifest);
  return { ...readFaultChange(others, locations), services: faults };
}

const EXAMPLE = '{"charge": {"throw": 0.2, "lost": 0.2, "slow": 3000}}';

/** Throws a CommandError for failures of a service that the application does not have. */
export function checkServiceFaults(faults: ServiceFaultChange, { services = {} }: Pick<Manifest, "services">): void {
  const unknown = Object.keys(faults).find((name) => !Object.hasOwn(services, name));
  if (unknown === undefined) return;
  const names = Object.keys(services);
  throw new CommandError(
    "usage",
    `Failures of "${unknown}" are ordered, and the application has no service of that name.`,
    names.length === 0 ? "Its handlers declare no service." : `Name one of these: ${names.join(", ")}.`,
    { exitCode: EXIT_USAGE },
  );
}

function isPossible({ throw: thrown, lost, slowMs }: ServiceFaults): boolean {
  return [thrown, lost].every((part) => part >= 0 && part <= 1) && slowMs >= 0 && slowMs <= MAX_SLOW_MS;
}

function wrongChange(message: string): CommandError {
  return new CommandError("invalid_faults", message, `Send {"services": ${EXAMPLE}}.`, { exitCode: EXIT_USAGE });
}

const POSSIBLE = `a service has failures by kind: throw and lost with a part of its calls from 0 to 1, slow with milliseconds up to ${MAX_SLOW_MS}`;

function wrong(text: string): CommandError {
  return new CommandError(
    "usage",
    `--fail ${text}: ${POSSIBLE}.`,
    "Write for example --fail charge=throw:0.2,lost:0.2,slow:3000.",
    { exitCode: EXIT_USAGE },
  );
}
