/**
 * The instructions that handlers are made of: WebAssembly 1.0 with sign extension, saturating conversions and bulk memory,
 * as AssemblyScript emits it. Any other instruction is refused, never passed over.
 */
import type { BinaryReader } from "./binary.ts";

export const Op = {
  Unreachable: 0x00,
  Nop: 0x01,
  Block: 0x02,
  Loop: 0x03,
  If: 0x04,
  Else: 0x05,
  End: 0x0b,
  Br: 0x0c,
  BrIf: 0x0d,
  BrTable: 0x0e,
  Return: 0x0f,
  Call: 0x10,
  CallIndirect: 0x11,
  Drop: 0x1a,
  Select: 0x1b,
  TypedSelect: 0x1c,
  LocalGet: 0x20,
  LocalSet: 0x21,
  LocalTee: 0x22,
  GlobalGet: 0x23,
  GlobalSet: 0x24,
  F32Load: 0x2a,
  F64Load: 0x2b,
  F32Store: 0x38,
  F64Store: 0x39,
  MemorySize: 0x3f,
  MemoryGrow: 0x40,
  I32Const: 0x41,
  I64Const: 0x42,
  F32Const: 0x43,
  F64Const: 0x44,
  I32Eq: 0x46,
  I32LtS: 0x48,
  I32GtU: 0x4b,
  I64LtS: 0x53,
  F32Eq: 0x5b,
  F64Eq: 0x61,
  I32Add: 0x6a,
  I32Sub: 0x6b,
  I32DivS: 0x6d,
  I32RemU: 0x70,
  I64Sub: 0x7d,
  I64Mul: 0x7e,
  I64DivS: 0x7f,
  I64RemU: 0x82,
  I64ShrU: 0x88,
  F32Sqrt: 0x91,
  F32Div: 0x95,
  F32CopySign: 0x98,
  F64Sqrt: 0x9f,
  F64Div: 0xa3,
  F64CopySign: 0xa6,
  I64ExtendI32U: 0xad,
  I64TruncF64S: 0xb0,
  F32ConvertFirst: 0xb2,
  F32ConvertLast: 0xb5,
  F64ConvertFirst: 0xb7,
  F64ConvertI64S: 0xb9,
  F64ConvertLast: 0xba,
  I32ReinterpretF32: 0xbc,
  I64ReinterpretF64: 0xbd,
  Prefixed: 0xfc,
} as const;

/** The codes that follow `Prefixed`. */
export const PrefixedOp = { LastSaturating: 7, MemoryCopy: 10, MemoryFill: 11 } as const;

const FIRST_LOAD = 0x28;
const LAST_LOAD = 0x35;
const LAST_STORE = 0x3e;
const FIRST_NUMERIC = 0x45;
const LAST_NUMERIC = 0xc4;

/** The fuel of an instruction: divisions and square roots last as long as many others. */
export function fuelOf(op: number): number {
  if (op >= Op.I64DivS && op <= Op.I64RemU) return 40;
  if (op >= Op.I32DivS && op <= Op.I32RemU) return 15;
  return op === Op.F32Sqrt || op === Op.F32Div || op === Op.F64Sqrt || op === Op.F64Div ? 15 : 1;
}

/** How many operands an instruction takes that neither branches nor calls; what it leaves is `results`. */
export function operandsOf(op: number): number {
  if (op >= FIRST_NUMERIC) return isUnary(op) ? 1 : 2;
  if (op >= FIRST_LOAD && op <= LAST_STORE) return op <= LAST_LOAD ? 1 : 2;
  switch (op) {
    case Op.Drop:
    case Op.LocalSet:
    case Op.LocalTee:
    case Op.GlobalSet:
    case Op.MemoryGrow:
      return 1;
    case Op.Select:
    case Op.TypedSelect:
      return 3;
    default:
      return 0;
  }
}

export function resultsOf(op: number): number {
  switch (op) {
    case Op.Nop:
    case Op.Drop:
    case Op.LocalSet:
    case Op.GlobalSet:
      return 0;
    default:
      return op > LAST_LOAD && op <= LAST_STORE ? 0 : 1;
  }
}

/** Tests, unary operators and conversions. */
function isUnary(op: number): boolean {
  return (
    op === 0x45 ||
    op === 0x50 ||
    (op >= 0x67 && op <= 0x69) ||
    (op >= 0x79 && op <= 0x7b) ||
    (op >= 0x8b && op <= 0x91) ||
    (op >= 0x99 && op <= 0x9f) ||
    op >= 0xa7
  );
}

/** Passes over the immediates of an instruction that neither branches nor calls. Throws for one that is not known. */
export function skipImmediates(op: number, reader: BinaryReader): void {
  if (op >= FIRST_NUMERIC && op <= LAST_NUMERIC) return;
  if (op >= FIRST_LOAD && op <= LAST_STORE) {
    reader.skipNumber();
    reader.skipNumber();
    return;
  }
  switch (op) {
    case Op.Nop:
    case Op.Drop:
    case Op.Select:
      return;
    case Op.TypedSelect:
      for (let types = reader.unsigned(); types > 0; types--) reader.byte();
      return;
    case Op.LocalGet:
    case Op.LocalSet:
    case Op.LocalTee:
    case Op.GlobalGet:
    case Op.GlobalSet:
    case Op.MemorySize:
    case Op.MemoryGrow:
    case Op.I32Const:
    case Op.I64Const:
      reader.skipNumber();
      return;
    case Op.F32Const:
      reader.skip(4);
      return;
    case Op.F64Const:
      reader.skip(8);
      return;
    default:
      throw new Error(`unknown instruction 0x${op.toString(16)}`);
  }
}
