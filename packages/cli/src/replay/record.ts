/**
 * Records sampled executions of a deployment. The LVI server tells what each one ran on, exactly; what came of it is found
 * by running it again here, in the very module that it ran in, and compared with what the server knows of that.
 */
import {
  decodeOutcome,
  type ModuleHash,
  MODULES_PATH,
  type RedactionQuestion,
  type SampleLine,
  SAMPLES_PATH,
  type UnitId,
} from "@radical/protocol";
import { compileModule, type HandlerModule } from "@radical/wasm-host";
import { readModule, askPrimary, linesOf, PrimaryError, type PrimaryAddress } from "@radical/admin";
import { differencesOf } from "./differences.ts";
import type { Recorded } from "./record-line.ts";
import { type Values, valuesRead } from "./recorded-spans.ts";
import { type Inputs, runAgain } from "./run-again.ts";
import type { Sample } from "./sample-ring.ts";

export interface RecordOptions {
  readonly primary: PrimaryAddress;
  readonly count: number;
  /** One of so many executions is recorded. */
  readonly every: number;
  /** Empty: all. */
  readonly handlers: readonly string[];
  /** What the server redacts. */
  readonly redact: RedactionQuestion;
  /** Ends the recording; what was recorded stays. */
  readonly signal: AbortSignal;
  /** Called once the server samples. */
  readonly onStarted?: () => void;
  readonly onRecord: (record: Recorded) => void;
}

export interface Recording {
  readonly recorded: number;
  /** Sampled executions that could not be recorded: see `left-out` of the protocol, and what is redacted. */
  readonly leftOut: number;
  /** Executions whose run here had another outcome, or other writes, than the server knows: a fault of Radical. */
  readonly differing: readonly string[];
  /** Those of the names to redact that nothing was found for. */
  readonly unredacted: readonly string[];
}

/** Throws a PrimaryError if the server can't be asked, or ends it. */
export async function record(options: RecordOptions): Promise<Recording> {
  const { primary, count, every, handlers, redact, signal, onRecord } = options;
  const modules = new Map<ModuleHash, HandlerModule>();
  const moduleOf = async (hash: ModuleHash): Promise<HandlerModule> => {
    const known = modules.get(hash);
    if (known !== undefined) return known;
    const module = await moduleOfPrimary(primary, hash);
    modules.set(hash, module);
    return module;
  };

  let [recorded, leftOut] = [0, 0];
  const differing: string[] = [];
  const found = new Set<string>();
  const stop = new AbortController();
  const response = await askPrimary(
    primary,
    "POST",
    SAMPLES_PATH,
    { every, handlers, values: true, redact },
    AbortSignal.any([signal, stop.signal]),
  );
  options.onStarted?.();
  try {
    for await (const text of linesOf(response)) {
      const line = JSON.parse(text) as SampleLine;
      switch (line.kind) {
        case "left-out":
          leftOut += line.count;
          break;
        case "ended":
          throw new PrimaryError(
            "primary_failed",
            `the recording was ended: ${line.reason}`,
            "what was recorded stays",
          );
        case "sample": {
          if (line.redacted === undefined && redact.length > 0) throw tooOld();
          for (const name of line.redacted ?? []) found.add(name);
          const result = recordOf(line, await moduleOf(line.module), redact.length > 0);
          if (result === "left-out") leftOut++;
          else if (result === "differing") differing.push(line.execution);
          else {
            onRecord(result);
            recorded++;
          }
        }
      }
      if (recorded >= count) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
  }
  if (recorded < count && !signal.aborted)
    throw new PrimaryError("primary_not_reached", "the LVI server has ended the connection", "what was recorded stays");
  const unredacted = redact === "all" ? [] : redact.filter((name) => !found.has(name));
  return { recorded, leftOut, differing, unredacted };
}

/** The module as the primary has it. Throws a PrimaryError. */
export async function moduleOfPrimary(primary: PrimaryAddress, hash: ModuleHash): Promise<HandlerModule> {
  const response = await askPrimary(primary, "GET", `${MODULES_PATH}${hash}/content`);
  return compileModule(readModule(new Uint8Array(await response.arrayBuffer())));
}

/** What it has sent is neither shown nor kept. */
function tooOld(): PrimaryError {
  return new PrimaryError(
    "primary_failed",
    "The LVI server is of an older version and does not redact what it sends. Nothing was recorded",
    "bring the server to the version of this command, or record everything as it is: --whole",
  );
}

/** The arguments and the environment of a sampled execution. */
export function inputsOf({ execution, handler, args, timeMs, seed, caller }: Sample): Inputs {
  return { execution, handler, args: bytesOf(args), timeMs, seed: bytesOf(seed), caller };
}

/** The values that a sampled execution ran on. */
export function valuesOf({ values }: Sample): Values {
  return new Map((values ?? []).map(([name, value]) => [name as UnitId, value === null ? null : bytesOf(value)]));
}

/** Runs a sampled execution in the module in which it was carried out. */
export function recordOf(
  sample: Sample,
  module: HandlerModule,
  isRedacted: boolean,
): Recorded | "left-out" | "differing" {
  const { execution, path, location, redacted = [] } = sample;
  // A secret is, whatever was asked for.
  const isOther = isRedacted || redacted.length > 0;
  const inputs = inputsOf(sample);
  const values = valuesOf(sample);
  const run = runAgain(module, inputs, values);
  // On what was redacted a handler may look for other items.
  if (run.kind !== "ended") return isOther ? "left-out" : "differing";
  const { outcome, writes, fuel, drawSites, logged } = run;
  const reads = valuesRead(run.reads, values);
  const recorded = {
    ...inputs,
    execution,
    path,
    location,
    module: sample.module,
    drawSites,
    reads,
    outcome,
    writes,
    fuel,
    logged,
    redacted,
  };
  return isOther || isAsEnded(recorded, sample) ? recorded : "differing";
}

/** Whether the run here did what the server knows that the execution did. */
function isAsEnded(recorded: Recorded, { ended }: Sample): boolean {
  if (ended === null) return true;
  const writes = new Map(ended.writes.map(([unit, value]) => [unit as UnitId, value === null ? null : bytesOf(value)]));
  const { outcome, fuel } = recorded;
  const known: Recorded = { ...recorded, outcome: decodeOutcome(bytesOf(ended.outcome)), writes };
  return (
    differencesOf(
      known,
      { kind: "ended", outcome, fuel, writes: recorded.writes, reads: [], drawSites: [], logged: [] },
      0,
    ).length === 0
  );
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}
