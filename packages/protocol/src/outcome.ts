/**
 * The outcome of an execution: what the client is told. Aborts and traps are outcomes like results: deterministic,
 * without writes, and told only after validation.
 */
import { CborReader, CborWriter } from "./cbor.ts";
import { MalformedError } from "./malformed-error.ts";

export type Outcome =
  /** The handler returned: its result as an encoded value. */
  | { readonly kind: "result"; readonly value: Uint8Array }
  /** The handler called `abort`: HTTP status 400 to 599, a code and a message of its own. */
  | { readonly kind: "abort"; readonly status: number; readonly code: string; readonly message: string }
  /** The handler trapped: a failed assertion, an index out of range, out of memory … */
  | { readonly kind: "trap"; readonly code: TrapCode; readonly message: string };

export const TRAP_CODES = [
  "assertion_failed",
  "unreachable",
  "memory_out_of_bounds",
  "out_of_memory",
  "out_of_fuel",
  "integer_divide_by_zero",
  "integer_overflow",
  "stack_overflow",
  "invalid_access",
  "indirect_call",
] as const;

export type TrapCode = (typeof TRAP_CODES)[number];

/** Whether a trap says that a limit of the run was met, which another program meets elsewhere. */
export function isExhaustion(code: TrapCode): boolean {
  return code === "out_of_memory" || code === "out_of_fuel" || code === "stack_overflow" || code === "unreachable";
}

const RESULT = 0;
const ABORT = 1;
const TRAP = 2;

export function writeOutcome(writer: CborWriter, outcome: Outcome): void {
  switch (outcome.kind) {
    case "result":
      writer.array(2).integer(RESULT).bytes(outcome.value);
      break;
    case "abort":
      writer.array(4).integer(ABORT).integer(outcome.status).text(outcome.code).text(outcome.message);
      break;
    case "trap":
      writer.array(3).integer(TRAP).text(outcome.code).text(outcome.message);
  }
}

export function readOutcome(reader: CborReader): Outcome {
  const length = reader.array();
  const kind = reader.integerIn(RESULT, TRAP);
  if (kind === RESULT && length === 2) return { kind: "result", value: reader.bytes().slice() };
  if (kind === ABORT && length === 4) {
    return { kind: "abort", status: reader.integerIn(400, 599), code: reader.text(), message: reader.text() };
  }
  if (kind === TRAP && length === 3) {
    const code = reader.text();
    const known = TRAP_CODES.find((candidate) => candidate === code);
    if (known === undefined) throw new MalformedError(`unknown trap code ${code}`);
    return { kind: "trap", code: known, message: reader.text() };
  }
  throw new MalformedError("malformed outcome");
}

/** The bytes of an outcome: two runs had the same outcome if and only if these are equal. */
export function encodeOutcome(outcome: Outcome): Uint8Array {
  const writer = new CborWriter();
  writeOutcome(writer, outcome);
  return writer.finish();
}

export function decodeOutcome(bytes: Uint8Array): Outcome {
  const reader = new CborReader(bytes);
  const outcome = readOutcome(reader);
  reader.end();
  return outcome;
}
