/**
 * Makes a compiled program end at the same point everywhere. The program itself counts, checks and traps, so its bytes do
 * the same at the edge and at the primary, in every engine.
 *
 * - **Fuel.** Each function takes fuel when it is entered, each loop when a round begins. It is the fuel of the
 *   instructions up to the next such place, so never less than what is executed. Calls of the host, and what grows,
 *   copies or fills memory, take more.
 * - **Stack.** Each function that calls others takes the bytes of its frame when it is entered and gives them back when it
 *   is left. The bytes that an engine really takes differ with compiler tier and caller, and are fewer.
 * - **Memory.** Growing beyond the maximum fails by the program's own comparison. If the host can't give what the maximum
 *   allows, that is not an outcome of the program, and it says so.
 * - **NaN.** Arithmetic leaves "not a number" with bits that differ between machines. They are made the same where they
 *   can be seen: when a float is stored, its bits are taken, or its sign is copied.
 * - **Imports.** Functions of the host's table and nothing else.
 *
 * Exports are added for the host: `METER_EXPORTS`. The first one also sets every global that can change to its
 * initial value, so that an instance can run again.
 */
import {
  ASSEMBLYSCRIPT_ABORT,
  HOST_FUNCTIONS,
  HOST_NAMESPACE,
  METER_EXPORTS,
  type HostFunction,
} from "@radical/protocol";
import { BinaryReader, BinaryWriter, ExternalKind, MAGIC, Section, sectionsOf, ValueKind } from "./binary.ts";
import { meteredBody, type FunctionType, type ProgramContext } from "./function-body.ts";
import { Op, skipImmediates } from "./instructions.ts";

/** Order of sections (WebAssembly specification, section 5.5.2). */
const ORDER = [
  Section.Type,
  Section.Import,
  Section.Function,
  Section.Table,
  Section.Memory,
  Section.Global,
  Section.Export,
  Section.Element,
  Section.DataCount,
  Section.Code,
  Section.Data,
] as const;

interface Global {
  readonly mutable: boolean;
  /** The expression of its initial value, without its end. */
  readonly initial: Uint8Array;
}

/** The program, metered. Throws for one that is none of the handlers' language, which is a fault of the build. */
export function metered(wasm: Uint8Array): Uint8Array {
  const sections = sectionsOf(wasm);
  // It would run before the host has given it fuel.
  if (sections.has(Section.Start)) throw new Error("the program has a start function");
  const contentOf = (id: number): BinaryReader => new BinaryReader(sections.get(id) ?? Uint8Array.of(0));

  const types = vector(contentOf(Section.Type), functionType);
  const imports = vector(contentOf(Section.Import), importedFunction);
  const declared = vector(contentOf(Section.Function), (reader) => reader.unsigned());
  const globals = vector(contentOf(Section.Global), global);
  const functions = [...imports.map(({ type }) => type), ...declared].map((type) => types[type]!);
  checkElements(contentOf(Section.Element), imports.length);
  const context: ProgramContext = {
    types,
    functions,
    imports,
    fuel: globals.length,
    stack: globals.length + 1,
    maximumPages: maximumPages(sections),
  };
  const bodies = vector(contentOf(Section.Code), (reader) => {
    const size = reader.unsigned();
    reader.skip(size);
    return reader.bytes.subarray(reader.at - size, reader.at);
  });
  if (bodies.length !== declared.length) throw new Error("functions without code");

  const { F64, I32, I64 } = ValueKind;
  const added = [
    {
      name: METER_EXPORTS.begin,
      type: { parameters: [F64, I32], results: [] },
      body: (code: BinaryWriter) => {
        globals.forEach(({ mutable, initial }, index) => {
          if (mutable) code.bytes(initial).byte(Op.GlobalSet).unsigned(index);
        });
        code.byte(Op.LocalGet, 0, Op.I64TruncF64S, Op.GlobalSet).unsigned(context.fuel);
        code.byte(Op.LocalGet, 1, Op.GlobalSet).unsigned(context.stack);
      },
    },
    {
      name: METER_EXPORTS.fuel,
      type: { parameters: [], results: [F64] },
      body: (code: BinaryWriter) => code.byte(Op.GlobalGet).unsigned(context.fuel).byte(Op.F64ConvertI64S),
    },
    {
      name: METER_EXPORTS.stack,
      type: { parameters: [], results: [I32] },
      body: (code: BinaryWriter) => code.byte(Op.GlobalGet).unsigned(context.stack),
    },
  ];

  const parts = new Map<number, (content: BinaryWriter) => void>();
  const extend = (id: number, count: number, write: (content: BinaryWriter) => void): void => {
    parts.set(id, (content) => {
      const reader = contentOf(id);
      content.unsigned(reader.unsigned() + count).bytes(reader.bytes.subarray(reader.at));
      write(content);
    });
  };
  extend(Section.Type, added.length, (content) => {
    for (const { type } of added)
      content.byte(0x60, type.parameters.length, ...type.parameters, type.results.length, ...type.results);
  });
  extend(Section.Function, added.length, (content) => {
    added.forEach((_, index) => content.unsigned(types.length + index));
  });
  extend(Section.Global, 2, (content) => {
    // Without a host that gives it fuel, nothing runs.
    content.byte(I64, 1, Op.I64Const, 0, Op.End, I32, 1, Op.I32Const, 0, Op.End);
  });
  extend(Section.Export, added.length, (content) => {
    added.forEach(({ name }, index) =>
      content
        .text(name)
        .byte(ExternalKind.Function)
        .unsigned(functions.length + index),
    );
  });
  parts.set(Section.Code, (content) => {
    content.unsigned(bodies.length + added.length);
    bodies.forEach((body, index) => {
      const rewritten = meteredBody(body, functions[imports.length + index]!, context);
      content.unsigned(rewritten.length).bytes(rewritten);
    });
    for (const { body } of added)
      content.sized((code) => {
        code.byte(0);
        body(code);
        code.byte(Op.End);
      });
  });

  const result = new BinaryWriter().bytes(MAGIC);
  for (const id of ORDER) {
    const write = parts.get(id);
    const content = sections.get(id);
    if (write !== undefined) result.byte(id).sized(write);
    else if (content !== undefined) result.byte(id).unsigned(content.length).bytes(content);
  }
  return result.finish();
}

function vector<Element>(reader: BinaryReader, read: (reader: BinaryReader) => Element): Element[] {
  return Array.from({ length: reader.unsigned() }, () => read(reader));
}

function functionType(reader: BinaryReader): FunctionType {
  if (reader.byte() !== 0x60) throw new Error("a type that is not of a function");
  const kinds = (): number[] => vector(reader, () => reader.byte());
  const type = { parameters: kinds(), results: kinds() };
  if (type.results.length > 1) throw new Error("a function with several results");
  return type;
}

function importedFunction(reader: BinaryReader): ProgramContext["imports"][number] & { readonly type: number } {
  const module = reader.text();
  const name = reader.text();
  const kind = reader.byte();
  const type = reader.unsigned();
  if (kind === ExternalKind.Function) {
    if (module === ASSEMBLYSCRIPT_ABORT.module && name === ASSEMBLYSCRIPT_ABORT.name)
      return { type, unitFuel: 0, ends: true };
    if (module === HOST_NAMESPACE && Object.hasOwn(HOST_FUNCTIONS, name)) {
      const { parameters, unitFuel }: HostFunction = HOST_FUNCTIONS[name as keyof typeof HOST_FUNCTIONS];
      const takesBytes = parameters.at(-2) === "pointer" && parameters.at(-1) === "i32";
      return { type, unitFuel: unitFuel ?? (takesBytes ? 1 : 0), ends: name === "abort" || name === "overflow" };
    }
  }
  throw new Error(`the program imports ${module}.${name}, which the host does not have`);
}

function global(reader: BinaryReader): Global {
  reader.byte();
  const mutable = reader.byte() === 1;
  return { mutable, initial: constantExpression(reader) };
}

function constantExpression(reader: BinaryReader): Uint8Array {
  const start = reader.at;
  for (let op = reader.byte(); op !== Op.End; op = reader.byte()) skipImmediates(op, reader);
  return reader.bytes.subarray(start, reader.at - 1);
}

/** Function values may call functions of the program only: one of the host would be called uncounted. */
function checkElements(reader: BinaryReader, imports: number): void {
  vector(reader, () => {
    if (reader.unsigned() !== 0) throw new Error("elements of an unknown kind");
    constantExpression(reader);
    if (vector(reader, () => reader.unsigned()).some((index) => index < imports))
      throw new Error("a function of the host is a function value");
  });
}

const HAS_MAXIMUM = 1;

/** Most pages of a program's memory; null if there is none. Throws if it may grow without end. */
function maximumPages(sections: ReadonlyMap<number, Uint8Array>): number | null {
  const content = sections.get(Section.Memory);
  if (content === undefined) return null;
  const reader = new BinaryReader(content);
  if (reader.unsigned() !== 1) throw new Error("the program has several memories");
  if (reader.unsigned() !== HAS_MAXIMUM) throw new Error("the memory of the program has no maximum");
  reader.unsigned();
  return reader.unsigned();
}
