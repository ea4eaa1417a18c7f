/**
 * Traps as outcomes: the same code and words for the same trap on every engine, so that a re-execution elsewhere
 * has the same outcome.
 */
import type { TrapCode } from "@radical/protocol";
import { isRuntimeError } from "./web-assembly.ts";

export interface Trap {
  readonly code: TrapCode;
  readonly message: string;
}

/** Longest message of a trap or abort, in UTF-16 units. */
const MAX_MESSAGE = 4096;

/**
 * What engines say. AssemblyScript reaches `unreachable` only when memory can't grow: its assertions call the host,
 * and handlers are refused the `unreachable` builtin.
 */
const TRAPS: readonly (readonly [words: RegExp, code: TrapCode, message: string])[] = [
  // "table index is out of bounds" is no access to memory.
  [/indirect call|null function|signature|table index/i, "indirect_call", "call of a function value that is not one"],
  [/unreachable/i, "out_of_memory", "the handler used up its memory"],
  [/(divide|division|remainder) by zero/i, "integer_divide_by_zero", "integer division by zero"],
  [/out.of.bounds|outside (the )?bounds/i, "memory_out_of_bounds", "access outside of memory"],
  [/unrepresentable|overflow/i, "integer_overflow", "integer overflow"],
];

/** The trap that an error thrown by a running module stands for; null if it is no trap but a mistake of the host. */
export function trapOf(error: unknown): Trap | null {
  // Engines report exhaustion of their own stack as RangeError or InternalError.
  if (error instanceof Error && /call stack|too much recursion/i.test(error.message)) {
    return { code: "stack_overflow", message: "the handler's calls are nested too deeply" };
  }
  if (!isRuntimeError(error)) return null;
  const known = TRAPS.find(([words]) => words.test(error.message));
  return known === undefined
    ? { code: "unreachable", message: "the handler stopped" }
    : { code: known[1], message: known[2] };
}

/** The trap for a call of AssemblyScript's own `abort`: a failed assertion or a `throw`. */
export function assertionTrap(message: string, file: string, line: number, column: number): Trap {
  if (message === "stack overflow")
    return { code: "stack_overflow", message: "the handler's calls are nested too deeply" };
  if (message === "Allocation too large") return { code: "out_of_memory", message: "the handler used up its memory" };
  const place = file === "" ? "" : ` (${file}:${line}:${column})`;
  return { code: "assertion_failed", message: `${tidy(message === "" ? "assertion failed" : message)}${place}` };
}

/** Text of a handler's that is safe to send: well-formed and of bounded length. */
export function tidy(text: string): string {
  return text.slice(0, MAX_MESSAGE).toWellFormed();
}
