/**
 * The differential test's executions, as both hosts perform them. This module runs in Node and, as a Worker, in workerd. It
 * writes the results of an execution down as text, to be compared.
 */
import { encodeEffects, encodeOutcome, type Limits, type ModuleHash, NO_EXECUTION } from "@radical/protocol";
import { deriveAccessSet, recordHandler, type CompletedRun, type HandlerModule } from "@radical/wasm-host";
import { snapshotOf } from "./complete-snapshot.ts";

/** One execution on one store; all bytes in hexadecimal digits. */
export interface DifferentialExecution {
  readonly handler: string;
  readonly args: string;
  readonly seed: string;
  readonly timeMs: number;
  readonly caller: string | null;
  readonly items: Readonly<Record<string, string>>;
  readonly limits: Limits;
  /** Whether it has a read/write-set function. */
  readonly derives: boolean;
}

/** Executions of one program of the Worker, by its number. */
export interface DifferentialRequest {
  readonly program: number;
  readonly executions: readonly DifferentialExecution[];
}

export type Programs = Pick<HandlerModule, "f" | "rw">;

export interface Shown {
  /** Reads, writes, outcome and fuel of f, and the set of f^rw. */
  readonly text: string;
  readonly run: CompletedRun;
}

/** Runs f, and f^rw if there is one. */
export function perform(programs: Programs, execution: DifferentialExecution): Shown {
  const module: HandlerModule = { ...programs, hash: "" as ModuleHash, limits: execution.limits };
  const { handler, timeMs, caller } = execution;
  const environment = { timeMs, seed: bytesOf(execution.seed), caller };
  const invocation = { executionId: NO_EXECUTION, handler, args: bytesOf(execution.args), environment };
  const items = Object.entries(execution.items).map(([unit, value]) => [unit, bytesOf(value)] as const);
  const snapshot = snapshotOf(new Map(items));
  const { run } = recordHandler(module, invocation, snapshot, { guess: false });
  if (run === null) throw new Error(`${handler} did not end`);
  const { outcome, reads, writes, effects = [], fuel } = run;
  const derived = execution.derives ? deriveAccessSet(module, invocation, snapshot) : null;
  const text = JSON.stringify({
    outcome: outcome.kind === "trap" ? `${outcome.code}: ${outcome.message}` : hexOf(encodeOutcome(outcome)),
    reads,
    writes: writes.map(({ unit, value }) => [unit, value === null ? null : hexOf(value)]),
    effects: hexOf(encodeEffects(effects)),
    fuel,
    set:
      derived?.kind === "derived"
        ? {
            reads: [...derived.set.reads],
            writes: [...derived.set.writes],
            lanes: [...(derived.set.lanes ?? [])],
            dependent: derived.dependent,
          }
        : derived,
  });
  return { text, run };
}

/** Answers a request with the texts of its executions. */
export function createDifferentialWorker(programs: readonly Programs[]): {
  fetch(request: Request): Promise<Response>;
} {
  return {
    async fetch(request) {
      const { program, executions } = (await request.json()) as DifferentialRequest;
      return Response.json(executions.map((execution) => perform(programs[program]!, execution).text));
    },
  };
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}
