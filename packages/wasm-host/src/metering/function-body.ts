/**
 * One function of a metered program: what is put into its code, and where (see `meter.ts`, which says why).
 *
 * A first pass over its instructions finds the places, the fuel of each straight part and how many values it holds at
 * most. The second pass writes the function with the additions at these places.
 */
import { BinaryReader, BinaryWriter, EMPTY_BLOCK, ValueKind } from "./binary.ts";
import { fuelOf, Op, operandsOf, PrefixedOp, resultsOf, skipImmediates } from "./instructions.ts";

/** The instructions of a check, which count like all others. */
const CHECK_FUEL = 10;
/** Fuel of what takes longer than an instruction does. */
const HOST_CALL_FUEL = 1_000;
const MEMORY_GROW_FUEL = 10_000;
/** A byte that the host is given takes 1; bytes that are copied or filled within memory, 8 together. */
const BULK_SHIFT = 3;

/** Bytes of a frame on an engine's stack beside its values: return address, frame pointer, what the engine keeps. */
const FRAME_BYTES = 128;
const VALUE_BYTES = 8;
/** A frame of a function that calls nothing is the last one: only a large one is counted. */
const UNCOUNTED_BYTES = 4_096;

const NAN_F32 = [Op.F32Const, 0x00, 0x00, 0xc0, 0x7f];
const NAN_F64 = [Op.F64Const, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x7f];

/** Fuel of a run whose host could not give it the memory that it may have. */
export const HOST_OUT_OF_MEMORY = -(2 ** 62);

export interface FunctionType {
  readonly parameters: readonly number[];
  readonly results: readonly number[];
}

/** The parts of the program that a body refers to. */
export interface ProgramContext {
  readonly types: readonly FunctionType[];
  /** Types of all functions, imported ones first. */
  readonly functions: readonly FunctionType[];
  readonly imports: readonly {
    /** The fuel of each unit of the last operand, which is 1 for bytes that the host reads; 0: the operand costs nothing. */
    readonly unitFuel: number;
    /** Whether it ends the run. */
    readonly ends: boolean;
  }[];
  /** Globals: the fuel that is left (i64), and the bytes of stack (i32). */
  readonly fuel: number;
  readonly stack: number;
  /** Most pages of the memory; null: there is none. */
  readonly maximumPages: number | null;
}

/** Replaces the code from `at` to `until`. */
interface Edit {
  readonly at: number;
  readonly until: number;
  readonly write: (code: BinaryWriter) => void;
}

interface Block {
  /** Operands below it. */
  readonly height: number;
  readonly operands: number;
  readonly results: number;
  /** Of a loop: the fuel of one round. Shared by what is in it and in no inner loop. */
  readonly part: { fuel: number };
  unreachable: boolean;
}

/** The body of a function, without its size, with all that meters it. */
export function meteredBody(body: Uint8Array, type: FunctionType, context: ProgramContext): Uint8Array {
  const reader = new BinaryReader(body);
  const groups = reader.unsigned();
  const groupsAt = reader.at;
  let locals = type.parameters.length;
  for (let left = groups; left > 0; left--) {
    locals += reader.unsigned();
    reader.byte();
  }
  const codeAt = reader.at;
  const own = new OwnLocals(locals);
  const fuel = new Fuel(context, own);
  const { taken, highest, calls, loops, edits, returns } = new BodyScan(reader, type, context, own, fuel).scan();

  // Parameters may be both in the frame of the caller and in that of the function.
  const frame = FRAME_BYTES + VALUE_BYTES * (type.parameters.length + locals + own.count + highest);
  const counted = calls || frame > UNCOUNTED_BYTES;
  fuel.kept = loops;
  // Something is done when it is left: at one place.
  const wrapped = counted || fuel.kept;
  const all = wrapped ? [...edits, ...returns].toSorted((a, b) => a.at - b.at) : edits;
  const left = counted ? own.index(ValueKind.I32, "stack") : null;

  const code = new BinaryWriter();
  code.unsigned(groups + own.count).bytes(body.subarray(groupsAt, codeAt));
  for (const kind of own.kinds) code.unsigned(1).byte(kind);
  fuel.readAgain(code);
  fuel.take(code, taken + CHECK_FUEL + locals);
  if (left !== null) {
    code.byte(Op.GlobalGet).unsigned(context.stack).byte(Op.I32Const).signed(frame);
    code.byte(Op.I32Sub, Op.LocalTee).unsigned(left).byte(Op.GlobalSet).unsigned(context.stack);
    code.byte(Op.LocalGet).unsigned(left).byte(Op.I32Const, 0, Op.I32LtS, Op.If, EMPTY_BLOCK, Op.Unreachable, Op.End);
  }
  if (wrapped) code.byte(Op.Block, type.results[0] ?? EMPTY_BLOCK);
  let at = codeAt;
  for (const edit of all) {
    code.bytes(body.subarray(at, edit.at));
    edit.write(code);
    at = edit.until;
  }
  // The last byte ends the body.
  code.bytes(body.subarray(at));
  if (counted) {
    code.byte(Op.GlobalGet).unsigned(context.stack).byte(Op.I32Const).signed(frame);
    code.byte(Op.I32Add, Op.GlobalSet).unsigned(context.stack);
  }
  fuel.writeBack(code);
  if (wrapped) code.byte(Op.End);
  return code.finish();
}

/**
 * The fuel that is left, within one function. It is a global. A function with loops keeps it in a local of its own, so
 * that a round costs nothing that can be measured. It writes the local back wherever others may look: before it calls,
 * and when it is left.
 */
class Fuel {
  /** Whether it is kept in the local: known when the whole function was looked at, before anything is written. */
  kept = false;
  readonly #global: number;
  readonly #local: number;

  constructor({ fuel }: ProgramContext, own: OwnLocals) {
    this.#global = fuel;
    this.#local = own.index(ValueKind.I64, "fuel");
  }

  /** Takes some, and traps if there is not enough. */
  take(code: BinaryWriter, fuel: number): void {
    this.#get(code);
    code.byte(Op.I64Const).signed(fuel).byte(Op.I64Sub);
    this.#keep(code);
  }

  /** For a number of bytes in a local that are copied or filled. */
  takeForBytes(code: BinaryWriter, bytes: number): void {
    this.#get(code);
    code.byte(Op.LocalGet).unsigned(bytes).byte(Op.I64ExtendI32U, Op.I64Const, BULK_SHIFT, Op.I64ShrU, Op.I64Sub);
    this.#keep(code);
  }

  /** For a number of units in a local. */
  takeForUnits(code: BinaryWriter, units: number, unitFuel: number): void {
    this.#get(code);
    code.byte(Op.LocalGet).unsigned(units).byte(Op.I64ExtendI32U);
    if (unitFuel > 1) code.byte(Op.I64Const).signed(unitFuel).byte(Op.I64Mul);
    code.byte(Op.I64Sub);
    this.#keep(code);
  }

  writeBack(code: BinaryWriter): void {
    if (this.kept) code.byte(Op.LocalGet).unsigned(this.#local).byte(Op.GlobalSet).unsigned(this.#global);
  }

  readAgain(code: BinaryWriter): void {
    if (this.kept) code.byte(Op.GlobalGet).unsigned(this.#global).byte(Op.LocalSet).unsigned(this.#local);
  }

  #get(code: BinaryWriter): void {
    if (this.kept) code.byte(Op.LocalGet).unsigned(this.#local);
    else code.byte(Op.GlobalGet).unsigned(this.#global);
  }

  #keep(code: BinaryWriter): void {
    code.byte(Op.LocalTee).unsigned(this.#local);
    if (!this.kept) code.byte(Op.GlobalSet).unsigned(this.#global).byte(Op.LocalGet).unsigned(this.#local);
    code.byte(Op.I64Const, 0, Op.I64LtS, Op.If, EMPTY_BLOCK);
    this.writeBack(code);
    code.byte(Op.Unreachable, Op.End);
  }
}

/** The locals that are added to a function. */
class OwnLocals {
  readonly kinds: number[] = [];
  readonly #first: number;
  readonly #indices = new Map<string, number>();

  constructor(first: number) {
    this.#first = first;
  }

  get count(): number {
    return this.kinds.length;
  }

  index(kind: number, name: string): number {
    let index = this.#indices.get(name);
    if (index === undefined) {
      index = this.#first + this.kinds.length;
      this.kinds.push(kind);
      this.#indices.set(name, index);
    }
    return index;
  }
}

class BodyScan {
  readonly #reader: BinaryReader;
  readonly #context: ProgramContext;
  readonly #own: OwnLocals;
  readonly #fuel: Fuel;
  readonly #edits: Edit[] = [];
  readonly #returns: Edit[] = [];
  readonly #blocks: Block[];
  #height = 0;
  #highest = 0;
  #calls = false;
  #loops = false;

  constructor(reader: BinaryReader, type: FunctionType, context: ProgramContext, own: OwnLocals, fuel: Fuel) {
    this.#reader = reader;
    this.#context = context;
    this.#own = own;
    this.#fuel = fuel;
    const results = type.results.length;
    this.#blocks = [{ height: 0, operands: 0, results, part: { fuel: 0 }, unreachable: false }];
  }

  scan(): {
    /** Fuel of the instructions outside of loops. */
    readonly taken: number;
    /** Most operands at once. */
    readonly highest: number;
    readonly calls: boolean;
    readonly loops: boolean;
    readonly edits: readonly Edit[];
    /** Only for a function that does something when it is left. */
    readonly returns: readonly Edit[];
  } {
    const reader = this.#reader;
    const { part } = this.#blocks[0]!;
    let before: number = Op.Nop;
    while (this.#blocks.length > 0) {
      const at = reader.at;
      const op = reader.byte();
      this.#top.part.fuel += fuelOf(op);
      this.#instruction(op, at, before);
      before = op;
    }
    if (reader.at !== reader.bytes.length) throw new Error("code behind the end of a function");
    return {
      taken: part.fuel,
      highest: this.#highest,
      calls: this.#calls,
      loops: this.#loops,
      edits: this.#edits,
      returns: this.#returns,
    };
  }

  get #top(): Block {
    return this.#blocks.at(-1)!;
  }

  #instruction(op: number, at: number, before: number): void {
    const reader = this.#reader;
    const { types, functions, imports } = this.#context;
    switch (op) {
      case Op.Unreachable:
        return this.#leave();
      case Op.Block:
      case Op.Loop:
      case Op.If:
        return this.#enter(op);
      case Op.Else: {
        const { height, operands } = this.#top;
        this.#top.unreachable = false;
        this.#height = height + operands;
        return;
      }
      case Op.End: {
        const { height, results } = this.#blocks.pop()!;
        this.#height = height;
        return this.#push(results);
      }
      case Op.Br:
        reader.skipNumber();
        return this.#leave();
      case Op.BrIf:
        reader.skipNumber();
        return this.#pop(1);
      case Op.BrTable:
        for (let targets = reader.unsigned(); targets >= 0; targets--) reader.skipNumber();
        return this.#leave();
      case Op.Return: {
        const depth = this.#blocks.length - 1;
        this.#returns.push({ at, until: reader.at, write: (code) => code.byte(Op.Br).unsigned(depth) });
        return this.#leave();
      }
      case Op.Call: {
        const index = reader.unsigned();
        const imported = imports[index];
        if (imported !== undefined) this.#hostCall(imported, at);
        return this.#call(functions[index]!, at, imported);
      }
      case Op.CallIndirect: {
        const type = types[reader.unsigned()]!;
        if (reader.unsigned() !== 0) throw new Error("a call through another table");
        this.#pop(1);
        return this.#call(type, at);
      }
      case Op.Prefixed:
        return this.#prefixed(at);
      case Op.MemoryGrow:
        skipImmediates(op, reader);
        return this.#memoryGrow(at);
      case Op.F32Store:
      case Op.I32ReinterpretF32:
      case Op.F32CopySign:
        if (op !== Op.F32Store || !isKnown(before)) this.#canonical(ValueKind.F32, at);
        break;
      case Op.F64Store:
      case Op.I64ReinterpretF64:
      case Op.F64CopySign:
        if (op !== Op.F64Store || !isKnown(before)) this.#canonical(ValueKind.F64, at);
        break;
    }
    skipImmediates(op, reader);
    this.#pop(operandsOf(op));
    this.#push(resultsOf(op));
  }

  #enter(op: number): void {
    const { operands, results } = this.#blockType();
    if (op === Op.If) this.#pop(1);
    const part = op === Op.Loop ? { fuel: CHECK_FUEL } : this.#top.part;
    this.#blocks.push({ height: this.#height - operands, operands, results, part, unreachable: false });
    const { at } = this.#reader;
    if (op !== Op.Loop) return;
    this.#loops = true;
    this.#insert(at, (code) => this.#fuel.take(code, part.fuel));
  }

  #blockType(): { readonly operands: number; readonly results: number } {
    const byte = this.#reader.bytes[this.#reader.at]!;
    if (byte < EMPTY_BLOCK || byte >= 0x80) {
      const { parameters, results } = this.#context.types[this.#reader.unsigned()]!;
      return { operands: parameters.length, results: results.length };
    }
    this.#reader.byte();
    return { operands: 0, results: byte === EMPTY_BLOCK ? 0 : 1 };
  }

  #call({ parameters, results }: FunctionType, at: number, imported?: ProgramContext["imports"][number]): void {
    this.#insert(at, (code) => this.#fuel.writeBack(code));
    // The host takes none.
    if (imported === undefined) this.#insert(this.#reader.at, (code) => this.#fuel.readAgain(code));
    if (imported?.ends !== true) this.#calls = true;
    // Values that do not fit into registers are on the stack a second time.
    this.#highest = Math.max(this.#highest, this.#height + parameters.length);
    this.#pop(parameters.length);
    this.#push(results.length);
  }

  /** Where it is made, and not where its function is entered: most are on paths that are hardly ever taken. */
  #hostCall({ unitFuel, ends }: ProgramContext["imports"][number], at: number): void {
    if (ends) return;
    const units = unitFuel > 0 ? this.#own.index(ValueKind.I32, "bytes") : null;
    this.#insert(at, (code) => {
      this.#fuel.take(code, HOST_CALL_FUEL);
      if (units === null) return;
      code.byte(Op.LocalTee).unsigned(units);
      this.#fuel.takeForUnits(code, units, unitFuel);
    });
  }

  #prefixed(at: number): void {
    const op = this.#reader.unsigned();
    // A saturating conversion leaves one operand for the one it takes.
    if (op <= PrefixedOp.LastSaturating) return;
    if (op !== PrefixedOp.MemoryCopy && op !== PrefixedOp.MemoryFill) throw new Error(`unknown instruction 0xfc ${op}`);
    this.#reader.skip(op === PrefixedOp.MemoryCopy ? 2 : 1);
    const bytes = this.#own.index(ValueKind.I32, "bytes");
    this.#insert(at, (code) => {
      code.byte(Op.LocalTee).unsigned(bytes);
      this.#fuel.takeForBytes(code, bytes);
    });
    this.#pop(3);
  }

  /** Fails where the maximum is met, by itself; and if the host lacks the memory, the run has no outcome. */
  #memoryGrow(at: number): void {
    const { maximumPages, fuel } = this.#context;
    if (maximumPages === null) throw new Error("there is no memory to grow");
    const pages = this.#own.index(ValueKind.I32, "bytes");
    const until = this.#reader.at;
    this.#edits.push({
      at,
      until,
      write: (code) => {
        this.#fuel.take(code, MEMORY_GROW_FUEL);
        code.byte(Op.LocalTee).unsigned(pages);
        code.byte(Op.I32Const).signed(maximumPages).byte(Op.MemorySize, 0, Op.I32Sub, Op.I32GtU);
        code.byte(Op.If, ValueKind.I32, Op.I32Const).signed(-1).byte(Op.Else);
        code.byte(Op.LocalGet).unsigned(pages).byte(Op.MemoryGrow, 0, Op.LocalTee).unsigned(pages);
        code.byte(Op.I32Const).signed(-1).byte(Op.I32Eq, Op.If, EMPTY_BLOCK);
        code.byte(Op.I64Const).signed(HOST_OUT_OF_MEMORY).byte(Op.GlobalSet).unsigned(fuel).byte(Op.Unreachable);
        code.byte(Op.End, Op.LocalGet).unsigned(pages).byte(Op.End);
      },
    });
  }

  /** The float on top, if it is not a number, gets the bits that all of them have. */
  #canonical(kind: number, at: number): void {
    const value = this.#own.index(kind, `float ${kind}`);
    const [nan, equal] = kind === ValueKind.F32 ? [NAN_F32, Op.F32Eq] : [NAN_F64, Op.F64Eq];
    this.#insert(at, (code) => {
      code
        .byte(Op.LocalTee)
        .unsigned(value)
        .byte(...nan)
        .byte(Op.LocalGet)
        .unsigned(value);
      code.byte(Op.LocalGet).unsigned(value).byte(equal, Op.Select);
    });
  }

  #insert(at: number, write: Edit["write"]): void {
    this.#edits.push({ at, until: at, write });
  }

  #pop(count: number): void {
    const { height, unreachable } = this.#top;
    this.#height -= count;
    if (this.#height >= height) return;
    if (!unreachable) throw new Error("operands are missing");
    this.#height = height;
  }

  #push(count: number): void {
    this.#height += count;
    this.#highest = Math.max(this.#highest, this.#height);
  }

  /** The rest of the block is not reached. */
  #leave(): void {
    this.#height = this.#top.height;
    this.#top.unreachable = true;
  }
}

/** Whether the instruction leaves a float whose bits the specification says. */
function isKnown(op: number): boolean {
  switch (op) {
    case Op.F32Load:
    case Op.F64Load:
    case Op.F32Const:
    case Op.F64Const:
      return true;
    default:
      return (
        (op >= Op.F32ConvertFirst && op <= Op.F32ConvertLast) || (op >= Op.F64ConvertFirst && op <= Op.F64ConvertLast)
      );
  }
}
