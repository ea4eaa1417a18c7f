/**
 * The code that the build adds to the developer's. Each record class gets its encoding and decoding. Each handler gets a
 * wrapper that reads the arguments, calls it and hands over the result. The entry file exports the wrappers.
 *
 * The code enters as grafts (see `parse/graft.ts`). Its names are `__radical…`, which the developer's may not be.
 */
import type { as } from "../parse/assemblyscript.ts";
import { isBlobClass } from "../parse/blobs.ts";
import { CODEC_LIBRARY, SDK_LIBRARY } from "../parse/compile.ts";
import { GENERATED_SUFFIX, type Graft } from "../parse/graft.ts";
import { exportedName } from "../parse/objects.ts";
import {
  RESERVED_PREFIX,
  type HandlerParameter,
  type HandlerSchema,
  type RecordField,
  type RecordSchema,
  type Schema,
  type TableSchema,
} from "../schema/schema.ts";
import { partsOfTuple } from "../parse/tuples.ts";
import { BLOB_HANDLERS, type ValueType } from "@radical/protocol";

/** Path of the generated entry file. */
export const ENTRY_FILE = `entry${GENERATED_SUFFIX}`;

/** The parts of the SDK's codec that generated code uses, under names that are not the developer's. */
const CODEC_NAMES = [
  "Reader",
  "UnknownFields",
  "Writer",
  "decodeValue",
  "encodeValue",
  "readArguments",
  "respond",
  "setField",
  "zeroValue",
] as const;
const CODEC_IMPORT = `import { ${CODEC_NAMES.map((name) => `${name} as ${RESERVED_PREFIX}_${name}`).join(", ")} } from "${CODEC_LIBRARY.slice("~lib/".length)}";`;

/** The functions that programs with Blobs use. */
const BLOBS_IMPORT = (names: readonly string[]): string =>
  `import { ${names.map((name) => `${name} as ${RESERVED_PREFIX}_${name}`).join(", ")} } from "${SDK_LIBRARY.slice("~lib/".length)}/blobs";`;

const REWRITING_IMPORT = `import { keysOf as ${RESERVED_PREFIX}_keysOf, rewriteItems as ${RESERVED_PREFIX}_rewriteItems } from "${SDK_LIBRARY.slice("~lib/".length)}/rewrite";`;

/** The field of a record's object for what its class does not know. */
const UNKNOWN_FIELDS = `${RESERVED_PREFIX}UnknownFields`;

/** Bits of one word that keeps which keys of a map were seen. */
const WORD_BITS = 64;

export interface GeneratedCode {
  readonly entry: string;
  readonly grafts: readonly Graft[];
}

/** An entry file that only makes the handler files part of the program. */
export function loadingEntry(handlerFiles: readonly string[]): string {
  return handlerFiles.map((file) => `import ${JSON.stringify(importPath(ENTRY_FILE, file))};\n`).join("");
}

export interface GenerateOptions {
  /** Whether the program hands over results and stores items, which read/write-set functions do not. */
  readonly writes: boolean;
  /** The handlers of the application that are given Blobs. */
  readonly withBlobs: ReadonlySet<string>;
}

/** The code for the handlers and records of a program. */
export function generateCode(schema: Schema, { writes, withBlobs }: GenerateOptions): GeneratedCode {
  return new Generator(schema, writes).generate(withBlobs);
}

/** The code that stores the items of a table anew: the handlers `keys` and `rewrite`. */
export function generateRewriting(schema: Schema, table: TableSchema): GeneratedCode {
  return new Generator(schema, true).generateRewriting(table);
}

class Generator {
  readonly #schema: Schema;
  readonly #writes: boolean;
  readonly #records: ReadonlyMap<as.Class, { readonly record: RecordSchema; readonly alias: string }>;
  readonly #files = new Map<string, GeneratedFile>();

  constructor(schema: Schema, writes: boolean) {
    this.#schema = schema;
    this.#writes = writes;
    this.#records = new Map(
      schema.records.map((record, index) => [record.class, { record, alias: `${RESERVED_PREFIX}_r${index}` }]),
    );
  }

  generate(withBlobs: ReadonlySet<string>): GeneratedCode {
    const entry = new GeneratedFile(ENTRY_FILE);
    const look = withBlobs.size === 0 ? null : this.#writes ? "checkBlobs" : "touchBlobs";
    if (look !== null) entry.statement(BLOBS_IMPORT([look]));
    this.#schema.handlers.forEach((handler, index) => {
      const first = look !== null && withBlobs.has(handler.name) ? `  ${RESERVED_PREFIX}_${look}();\n` : "";
      this.#addHandler(entry, handler, index, first);
    });
    if (this.#writes && this.#schema.records.some((record) => isBlobClass(record.class))) addBlobHandlers(entry);
    return this.#withRecords(entry);
  }

  generateRewriting({ name, type, resolved, file }: TableSchema): GeneratedCode {
    const entry = new GeneratedFile(ENTRY_FILE);
    entry.load(file);
    const [keys, rewrite] = [`${RESERVED_PREFIX}_keys`, `${RESERVED_PREFIX}_rewrite`];
    const table = JSON.stringify(name);
    entry.statement(
      `${REWRITING_IMPORT}\n` +
        `function ${keys}(): void {\n  ${RESERVED_PREFIX}_keysOf(${table});\n}\n` +
        `function ${rewrite}(): void {\n  ${RESERVED_PREFIX}_rewriteItems<${this.#type(entry, resolved, type)}>(${table});\n}\n` +
        `export { ${keys} as keys, ${rewrite} as rewrite };`,
    );
    return this.#withRecords(entry);
  }

  #withRecords(entry: GeneratedFile): GeneratedCode {
    for (const { record, alias } of this.#records.values()) this.#addRecord(record, alias);
    return {
      entry: entry.text(),
      grafts: Array.from(this.#files.values(), (file) => ({ file: file.path, text: file.text() })),
    };
  }

  #file(path: string): GeneratedFile {
    let file = this.#files.get(path);
    if (file === undefined) this.#files.set(path, (file = new GeneratedFile(path)));
    return file;
  }

  /** A type as the generated part of `file` writes it; records of other files are imported. */
  #type(file: GeneratedFile, type: as.Type, value: ValueType): string {
    switch (value.kind) {
      case "nullable":
        return `${this.#type(file, type.nonNullableType, value.inner)} | null`;
      case "array":
        return `Array<${this.#type(file, type.getClass()!.typeArguments![0]!, value.element)}>`;
      case "tuple": {
        const parts = value.elements.map((part, index) => this.#type(file, partsOfTuple(type)![index]!, part));
        return `[${parts.join(", ")}]`;
      }
      case "map":
        return `${type.getClass()!.prototype.name}<string, ${this.#type(file, type.getClass()!.typeArguments![1]!, value.value)}>`;
      case "record": {
        const { record, alias } = this.#records.get(type.getClass()!)!;
        if (record.file === file.path) return record.identifier;
        file.import(alias, record.file);
        return alias;
      }
      default:
        return value.kind;
    }
  }

  #addRecord(record: RecordSchema, alias: string): void {
    const file = this.#file(record.file);
    file.statement(`export { ${record.identifier} as ${alias} };`);
    const { fields } = record;
    const types = fields.map((field) => this.#fieldType(file, field));
    const words = wordCount(fields.length);
    const fill = `__radicalFill${alias.slice(RESERVED_PREFIX.length)}`;

    const size = fields.length;
    if (this.#writes) this.#addUnknownFields(record.class);

    const optional = fields.flatMap(({ name, absent }, index) => (absent ? [{ name, index }] : []));
    const encoded = fields.map((field, index) => {
      const value = `this.${field.name}`;
      const pair =
        `writer.text(${JSON.stringify(field.name)});\n` +
        `      ${RESERVED_PREFIX}_encodeValue<${types[index]}>(writer, ${value});`;
      const path = JSON.stringify(`${record.name}.${field.name}`);
      const checked = `${this.#textChecks(field, value, "writer", path)}${pair}`;
      return field.absent ? `    if (${value} !== null) {\n      ${checked}\n    }\n` : `    ${checked}\n`;
    });
    const counted =
      `    let size = ${size};\n` + optional.map(({ name }) => `    if (this.${name} === null) size--;\n`).join("");
    const leftOut =
      optional.length === 0
        ? "null"
        : `[${optional.map(({ name, index }) => `this.${name} === null ? ${index} : i32.MAX_VALUE`).join(", ")}]`;
    const encode = this.#writes
      ? `    const before = writer.length;\n${counted}    writer.map(size);\n${encoded.join("")}` +
        `    const unknown = this.${UNKNOWN_FIELDS};\n` +
        `    if (unknown !== null && writer.stores) unknown.insert(writer, before, size, ${leftOut});\n`
      : `${counted}    writer.map(size);\n${encoded.join("")}`;
    const decoded = fields.flatMap((field, index) => {
      const read =
        `        ${this.#assignment(record, field, types[index]!, `${RESERVED_PREFIX}_decodeValue<${types[index]}>(reader)`)}\n` +
        `        ${this.#textChecks(field, `this.${field.name}`, "reader", '""')}\n` +
        `        ${markSeen(index)}\n`;
      // A value under the name that the field has comes first.
      const former = field.was.map(
        (name) =>
          `if (reader.keyIs(${JSON.stringify(name)})) {\n        if (${isSeen(index)}) reader.skip();\n        else {\n${read}        }\n      } else `,
      );
      return [`if (reader.keyIs(${JSON.stringify(field.name)})) {\n${read}      } else `, ...former];
    });
    const otherwise = this.#writes
      ? `reader.unknown(changetype<usize>(this), offsetof<${record.identifier}>("${UNKNOWN_FIELDS}"), ${seenUpTo(words)});`
      : "reader.skip();";
    const filled = fields.map((field, index) => {
      const value =
        field.initializer === null
          ? `${RESERVED_PREFIX}_zeroValue<${types[index]}>()`
          : `this.${this.#initializer(field)}()`;
      return `    if (!${isSeen(index)}) ${this.#assignment(record, field, types[index]!, value)}\n`;
    });
    file.member(
      record.identifier,
      `  __radicalEncode(writer: ${RESERVED_PREFIX}_Writer): void {\n${encode}  }\n` +
        `  __radicalDecode(reader: ${RESERVED_PREFIX}_Reader): void {\n${declareSeen(words)}` +
        `    for (let pairs = reader.map(); pairs > 0; pairs--) {\n      reader.key();\n      ${decoded.join("")}${otherwise}\n    }\n` +
        `    this.${fill}(${seenWords(words).join(", ")});\n  }\n` +
        `  __radicalInitialize(): void {\n    this.${fill}(${seenWords(words)
          .map(() => "0")
          .join(", ")});\n  }\n` +
        `  ${fill}(${seenWords(words)
          .map((word) => `${word}: u64`)
          .join(", ")}): void {\n${filled.join("")}  }\n`,
    );
  }

  /** The type of a field in its object: an optional one is null there. */
  #fieldType(file: GeneratedFile, { type, resolved, absent }: RecordField | HandlerParameter): string {
    return absent === true
      ? `${this.#type(file, resolved.nonNullableType, type)} | null`
      : this.#type(file, resolved, type);
  }

  #textChecks({ type, absent }: RecordField, value: string, by: "reader" | "writer", path: string): string {
    return textChecks(absent ? { kind: "nullable", inner: type } : type, value, by, path, 0);
  }

  /** Adds the field for what a record's class does not know. The class and those that it extends have it once. */
  #addUnknownFields(record: as.Class): void {
    let owner = record;
    while (owner.base !== null && !owner.base.prototype.declaration.range.source.isLibrary) owner = owner.base;
    this.#file(owner.prototype.declaration.range.source.normalizedPath).member(
      owner.prototype.name,
      `  ${UNKNOWN_FIELDS}: ${RESERVED_PREFIX}_UnknownFields | null;\n`,
    );
  }

  #assignment(record: RecordSchema, field: RecordField, type: string, value: string): string {
    if (!field.readonly) return `this.${field.name} = ${value};`;
    return `${RESERVED_PREFIX}_setField<${type}>(changetype<usize>(this), offsetof<${record.identifier}>("${field.name}"), ${value});`;
  }

  /** The method that evaluates a field's initializer, in the class that declares the field, where its names are. */
  #initializer(field: RecordField): string {
    const name = `__radicalInitial_${field.name}`;
    const { owner } = field;
    const file = this.#file(owner.prototype.declaration.range.source.normalizedPath);
    const type = this.#fieldType(file, field);
    file.member(owner.prototype.name, `  ${name}(): ${type} {\n    return ${field.initializer};\n  }\n`);
    return name;
  }

  /** `first`: a statement before all others. */
  #addHandler(entry: GeneratedFile, handler: HandlerSchema, index: number, first: string): void {
    const name = handler.calledAs ?? `${RESERVED_PREFIX}_f${index}`;
    if (handler.calledAs === null) entry.import(exportedName(handler.name), handler.exportedBy, name);
    else entry.load(handler.exportedBy);
    const { parameters } = handler;
    const words = wordCount(parameters.length);
    const types = parameters.map((parameter) => this.#fieldType(entry, parameter));
    const declared = parameters.map(
      (parameter, i) =>
        `  let p${i}: ${types[i]} = ${parameter.absent === true ? "null" : placeholder(parameter.type, types[i]!)};\n`,
    );
    const decoded = parameters.map(
      (parameter, i) =>
        `if (reader.keyIs(${JSON.stringify(parameter.name)})) {\n      p${i} = ${RESERVED_PREFIX}_decodeValue<${types[i]}>(reader);\n      ${markSeen(i)}\n    } else `,
    );
    const filled = parameters.flatMap((parameter, i) => {
      if (parameter.defaultText !== null) {
        return [`  if (!${isSeen(i)}) p${i} = ${this.#defaultOf(entry, handler, parameter, index, i)};\n`];
      }
      return parameter.optional
        ? []
        : [`  if (!${isSeen(i)}) throw new Error("missing argument ${parameter.name}");\n`];
    });
    const call = `${name}(${parameters.map((_, i) => `p${i}`).join(", ")})`;
    let answer = `  ${call};\n`;
    if (this.#writes) {
      const writer = `  const writer = new ${RESERVED_PREFIX}_Writer();\n`;
      answer =
        handler.resultType === null
          ? `${answer}${writer}  writer.null();\n`
          : `  const result = ${call};\n${writer}  ${textChecks(handler.resultType, "result", "writer", '""', 0)}\n  ${RESERVED_PREFIX}_encodeValue<${this.#type(entry, handler.result, handler.resultType)}>(writer, result);\n`;
      answer += `  ${RESERVED_PREFIX}_respond(writer);\n`;
    }
    entry.statement(
      `function ${RESERVED_PREFIX}_h${index}(): void {\n${first}` +
        `  const reader = ${RESERVED_PREFIX}_readArguments();\n${declareSeen(words)}${declared.join("")}` +
        `  for (let pairs = reader.map(); pairs > 0; pairs--) {\n    reader.key();\n    ${decoded.join("")}reader.skip();\n  }\n` +
        `  reader.end();\n${filled.join("")}${answer}}\nexport { ${RESERVED_PREFIX}_h${index} as ${exportedName(handler.name)} };`,
    );
  }

  /** A call of the function that evaluates a parameter's default where it was written: it may use what stands before it. */
  #defaultOf(
    entry: GeneratedFile,
    handler: HandlerSchema,
    parameter: HandlerParameter,
    index: number,
    position: number,
  ): string {
    const file = this.#file(handler.declaredIn);
    const name = `${RESERVED_PREFIX}_d${index}_${position}`;
    const before = handler.parameters.slice(0, position);
    const signature = before.map((other) => `${other.name}: ${this.#fieldType(file, other)}`).join(", ");
    const type = this.#fieldType(file, parameter);
    file.statement(`export function ${name}(${signature}): ${type} {\n  return ${parameter.defaultText};\n}`);
    entry.import(name, handler.declaredIn);
    return `${name}(${before.map((_, i) => `p${i}`).join(", ")})`;
  }
}

/** The hidden handlers by which locations put and collect blobs. */
function addBlobHandlers(entry: GeneratedFile): void {
  const exported = BLOB_HANDLERS.map((handler) => {
    const name = handler.slice(handler.indexOf(".") + 1);
    return { name, as: exportedName(handler) };
  });
  entry.statement(
    `${BLOBS_IMPORT(exported.map(({ name }) => name))}\n` +
      `export { ${exported.map(({ name, as }) => `${RESERVED_PREFIX}_${name} as ${as}`).join(", ")} };`,
  );
}

/** The generated part of one file. */
class GeneratedFile {
  readonly path: string;
  readonly #imports = new Map<string, string>();
  readonly #statements: string[] = [];
  readonly #members = new Map<string, Set<string>>();

  constructor(path: string) {
    this.path = path;
  }

  import(name: string, from: string, as: string = name): void {
    const names = name === as ? name : `${name} as ${as}`;
    this.#imports.set(as, `import { ${names} } from ${JSON.stringify(importPath(this.path, from))};`);
  }

  /** Makes a file part of the program. */
  load(path: string): void {
    this.#imports.set(path, `import ${JSON.stringify(importPath(this.path, path))};`);
  }

  statement(text: string): void {
    this.#statements.push(text);
  }

  /** Adds members to a class of the file, once. */
  member(className: string, text: string): void {
    let members = this.#members.get(className);
    if (members === undefined) this.#members.set(className, (members = new Set()));
    members.add(text);
  }

  text(): string {
    const classes = Array.from(this.#members, ([name, members]) => `class ${name} {\n${[...members].join("")}}`);
    return [CODEC_IMPORT, ...this.#imports.values(), ...classes, ...this.#statements, ""].join("\n");
  }
}

/**
 * Statements that trap unless the texts in a value are those of its type. Records check their own. `by` is the name of the
 * reader or writer, and `path` an expression for the way to the value.
 */
function textChecks(type: ValueType, value: string, by: "reader" | "writer", path: string, depth: number): string {
  switch (type.kind) {
    case "string": {
      if (type.oneOf === undefined) return "";
      const isOne = type.oneOf.map((text) => `${value} == ${JSON.stringify(text)}`).join(" || ");
      const expected = type.oneOf.map((text) => JSON.stringify(text)).join(" or ");
      return `if (!(${isOne})) ${by}.refuseText(${path}, ${JSON.stringify(expected)}); `;
    }
    case "array": {
      const [list, index, element] = [`list${depth}`, `index${depth}`, `element${depth}`];
      const inner = textChecks(type.element, element, by, `${path} + "[" + ${index}.toString() + "]"`, depth + 1);
      if (inner === "") return "";
      return `{ const ${list} = ${value}; for (let ${index} = 0; ${index} < ${list}.length; ${index}++) { const ${element} = ${list}[${index}]; ${inner}} } `;
    }
    case "map": {
      const [keys, values, index, element] = [`keys${depth}`, `values${depth}`, `index${depth}`, `element${depth}`];
      const inner = textChecks(type.value, element, by, `${path} + "." + ${keys}[${index}]`, depth + 1);
      if (inner === "") return "";
      return `{ const ${keys} = ${value}.keys(); const ${values} = ${value}.values(); for (let ${index} = 0; ${index} < ${values}.length; ${index}++) { const ${element} = ${values}[${index}]; ${inner}} } `;
    }
    case "tuple": {
      const tuple = `tuple${depth}`;
      const parts = type.elements.map((part, index) =>
        textChecks(part, `${tuple}[${index}]`, by, `${path} + "[${index}]"`, depth + 1),
      );
      return parts.every((part) => part === "") ? "" : `{ const ${tuple} = ${value}; ${parts.join("")}} `;
    }
    case "nullable": {
      const some = `some${depth}`;
      const inner = textChecks(type.inner, some, by, path, depth + 1);
      return inner === "" ? "" : `{ const ${some} = ${value}; if (${some} !== null) { ${inner}} } `;
    }
    default:
      return "";
  }
}

function wordCount(keys: number): number {
  return Math.max(1, Math.ceil(keys / WORD_BITS));
}

function seenWords(words: number): string[] {
  return Array.from({ length: words }, (_, word) => `seen${word}`);
}

function declareSeen(words: number): string {
  return seenWords(words)
    .map((word) => `    let ${word}: u64 = 0;\n`)
    .join("");
}

function markSeen(index: number): string {
  return `seen${Math.floor(index / WORD_BITS)} |= (1 as u64) << ${index % WORD_BITS};`;
}

function isSeen(index: number): string {
  return `(seen${Math.floor(index / WORD_BITS)} & ((1 as u64) << ${index % WORD_BITS}))`;
}

/** How many fields there are up to the last one seen. */
function seenUpTo(words: number): string {
  return seenWords(words)
    .map((word, index) => `${(index + 1) * WORD_BITS} - (clz(${word}) as i32)`)
    .reduce((before, count, index) => `seen${index} != 0 ? ${count} : ${before}`);
}

/** A value that a variable of the type holds until it is set. */
function placeholder(type: ValueType, text: string): string {
  switch (type.kind) {
    case "bool":
      return "false";
    case "string":
    case "array":
    case "map":
    case "record":
    case "tuple":
      return `changetype<${text}>(0)`;
    case "nullable":
      return "null";
    default:
      return "0";
  }
}

/** How the file `from` imports the file `to`: relative, without extension. */
function importPath(from: string, to: string): string {
  const base = from.split("/").slice(0, -1);
  const target = to.replace(/\.ts$/, "").split("/");
  let common = 0;
  while (common < base.length && common < target.length - 1 && base[common] === target[common]) common++;
  const up = base.length - common;
  return `${up === 0 ? "./" : "../".repeat(up)}${target.slice(common).join("/")}`;
}
