/**
 * Traps as outcomes: the same code and words for the same trap on every engine, so that a re-execution elsewhere
 * has the same outcome.
 */
import type { TrapCode } from "@radical/protocol";
import { HOST_OUT_OF_MEMORY } from "./metering/function-body.ts";
import { isRuntimeError } from "./web-assembly.ts";

export interface Trap {
  readonly code: TrapCode;
  readonly message: string;
}

/** Longest message of a trap or abort, in UTF-16 units. */
const MAX_MESSAGE = 4096;

/**
 * The words of engines, except of limits. AssemblyScript reaches `unreachable` only when memory can't grow: its assertions
 * call the host, and handlers are refused the `unreachable` builtin.
 */
const TRAPS: readonly (readonly [words: RegExp, code: TrapCode, message: string])[] = [
  // "table index is out of bounds" is not an access to memory.
  [/indirect call|null function|signature|table index/i, "indirect_call", "call of a function value that is not one"],
  [/unreachable/i, "out_of_memory", "the handler used up its memory"],
  [/(divide|division|remainder) by zero/i, "integer_divide_by_zero", "integer division by zero"],
  [/out.of.bounds|outside (the )?bounds/i, "memory_out_of_bounds", "access outside of memory"],
  [/unrepresentable|overflow/i, "integer_overflow", "integer overflow"],
];

/** The program's own counters, at the end of a run. */
export interface Counters {
  readonly fuel: number;
  readonly stack: number;
}

/**
 * The trap that an error thrown by a running module stands for. Null: the host is at fault, by a mistake, its stack or
 * its memory, and another host would not meet it.
 */
export function trapOf(error: unknown, { fuel, stack }: Counters): Trap | null {
  if (!isRuntimeError(error) || fuel === HOST_OUT_OF_MEMORY) return null;
  if (fuel < 0) return { code: "out_of_fuel", message: "the handler used up its fuel" };
  if (stack < 0) return STACK_OVERFLOW;
  const known = TRAPS.find(([words]) => words.test(error.message));
  return known === undefined ? null : { code: known[1], message: known[2] };
}

const STACK_OVERFLOW: Trap = { code: "stack_overflow", message: "the handler's calls are nested too deeply" };

/** The trap for a call of AssemblyScript's own `abort`: a failed assertion or a `throw`. */
export function assertionTrap(message: string, file: string, line: number, column: number): Trap {
  if (message === "stack overflow") return STACK_OVERFLOW;
  if (message === "Allocation too large") return { code: "out_of_memory", message: "the handler used up its memory" };
  const place = file === "" ? "" : ` (${file}:${line}:${column})`;
  return { code: "assertion_failed", message: `${tidy(message === "" ? "assertion failed" : message)}${place}` };
}

/** Text of a handler's that is safe to send: well-formed and of bounded length. */
export function tidy(text: string): string {
  return text.slice(0, MAX_MESSAGE).toWellFormed();
}
