/**
 * The handlers' types as TypeScript sees them on the JSON side: shared text of `handlers.d.ts` and `client.ts`.
 *
 * Numbers of every kind are `number`. A 64-bit integer may be sent as a `bigint` too. In a result `JSON.parse` rounds one
 * beyond 2^53, so a handler that must keep all digits returns a string.
 */
import {
  type Field,
  type HandlerManifest,
  isBlobRecord,
  type Manifest,
  type NamedType,
  type Parameter,
  type RecordType,
  type ValueType,
} from "@radical/protocol";

/** Which way a value goes: fields with an initializer may be left out on the way in only. */
type Direction = "arguments" | "result";

export interface GeneratedTypes {
  /** The interface `Services`; null: there are none. */
  readonly services: string | null;
  /** Interfaces of all records and named types that handlers take or return, then `Handlers`. */
  readonly text: string;
  readonly argumentsOf: (handler: HandlerManifest) => string;
  readonly resultOf: (handler: HandlerManifest) => string;
}

/** Names that the generated text itself uses, so that types of the application can't have them there. */
export const RESERVED: ReadonlySet<string> = new Set(
  (
    "AbortController AbortSignal Answered Arguments Array AsyncGenerator AsyncIterable AsyncIterableIterator ArrayBuffer Blob BlobOptions CallError CallOptions Called Calls Client ClientOptions Context CorsOptions Date Error ErrorFields " +
    "HANDLERS HandlerName Handlers Headers JSON LIVE Live LimitOptions LiveEvent LiveOptions Math NonNullable Number Object Pick Promise PutOptions READ_ONLY Radical RateLimiter RadicalClientError RadicalOptions Readonly Refused ServiceContext Services Record Request RequestInit " +
    "Response SILENT_MS SPECULATIVE STALE_MS Set Speculation SpeculationEvent String Symbol TextDecoder TypeError Uint8Array URL URLSearchParams abortCode addressOf any blobsOf bigint boolean callHandler callable createClient " +
    "createRadical crypto errorOf eventsOf fetch jsonOf lastOf linesOf liveResults location never newKey null number object openLive originOf putBlob queryOf setTimeout speculate string symbol undefined " +
    "WORKFLOW_WAIT_SECONDS Workflow WorkflowOptions WorkflowState Working postWorkflow runWorkflow startWorkflow tried unknown void wait wholeOf workflowOf"
  ).split(" "),
);

/** `hasValues`: an enum is an object too, with its values by name. `hasServices`: with the types of services, for those who write them. */
export function generateTypes(whole: Manifest, { hasValues = false, hasServices = false } = {}): GeneratedTypes {
  const { services: declared = {}, ...others } = whole;
  const manifest: Manifest = hasServices ? whole : others;
  const incomplete = differingRecords(manifest);
  const isRecord = (name: string): boolean => Object.hasOwn(manifest.records, name);
  const safeName = (name: string): string => (RESERVED.has(name) || isRecord(name) ? `${name}Type` : name);
  const recordName = (name: string, direction: Direction): string => {
    const safe = RESERVED.has(name) ? `${name}Record` : name;
    return direction === "arguments" && incomplete.has(name) ? `${safe}Input` : safe;
  };

  const typeOf = (type: ValueType, direction: Direction): string => {
    switch (type.kind) {
      case "bool":
        return "boolean";
      case "string":
        if (type.oneOf === undefined) return "string";
        return type.named === undefined ? unionOf(type.oneOf) : safeName(type.named);
      case "i64":
      case "u64":
        return direction === "arguments" ? "number | bigint" : "number";
      case "array": {
        const element = typeOf(type.element, direction);
        return `readonly ${element.includes(" ") ? `(${element})` : element}[]`;
      }
      case "tuple":
        return `readonly [${type.elements.map((element) => typeOf(element, direction)).join(", ")}]`;
      case "map":
        return `Readonly<Record<string, ${typeOf(type.value, direction)}>>`;
      case "nullable":
        return `${typeOf(type.inner, direction)} | null`;
      case "record":
        return recordName(type.name, direction);
      case "f32":
      case "f64":
        return "number";
      default:
        return type.named === undefined ? "number" : safeName(type.named);
    }
  };

  const fieldsOf = (fields: readonly Parameter[], direction: Direction, indent: string): string =>
    fields
      .map((field) => {
        const mark = field.absent === true || (direction === "arguments" && field.optional) ? "?" : "";
        const comment = field.description === undefined ? "" : docComment([field.description], indent);
        return `${comment}${indent}readonly ${propertyName(field.name)}${mark}: ${typeOf(field.type, direction)};\n`;
      })
      .join("");

  const interfaceOf = (record: RecordType, direction: Direction): string =>
    (record.description === undefined ? "" : docComment([record.description], "")) +
    `export interface ${recordName(record.name, direction)} {\n${fieldsOf(record.fields, direction, "  ")}}\n`;

  const argumentsOf = (handler: HandlerManifest): string =>
    handler.parameters.length === 0
      ? "Record<string, never>"
      : `{\n${fieldsOf(handler.parameters, "arguments", "      ")}    }`;
  const resultOf = (handler: HandlerManifest): string =>
    handler.result === null ? "null" : typeOf(handler.result, "result");

  const used = usedTypes(manifest);
  const interfaces = Object.values(manifest.records)
    .filter(({ name }) => used.arguments.has(name) || used.result.has(name))
    .flatMap((record) => {
      const plain = used.result.has(record.name) || !incomplete.has(record.name) ? [interfaceOf(record, "result")] : [];
      const input =
        used.arguments.has(record.name) && incomplete.has(record.name) ? [interfaceOf(record, "arguments")] : [];
      return [...plain, ...input];
    });
  const namedTypes = Object.entries(manifest.named ?? {})
    .filter(([name]) => used.named.has(name))
    .map(([name, type]) => namedTypeOf(safeName(name), type, hasValues));
  const handlers = Object.entries(manifest.handlers).map(
    ([name, handler]) =>
      docComment([...descriptionOf(handler), `${handler.file}:${handler.line}`], "  ") +
      `  readonly ${propertyName(name)}: {\n` +
      `    readonly arguments: ${argumentsOf(handler)};\n` +
      `    readonly result: ${resultOf(handler)};\n` +
      `    /** Codes with which the handler may abort. */\n` +
      `    readonly aborts: ${abortsOf(handler)};\n` +
      `  };\n`,
  );
  // Arguments come from handlers as results do, and results go to them as arguments.
  const services = Object.entries(declared).map(
    ([name, { parameters, result, description, file, line }]) =>
      docComment([...(description === undefined ? [] : [description]), `${file}:${line}`], "  ") +
      `  readonly ${propertyName(name)}: (\n` +
      `    args: ${parameters.length === 0 ? "Record<string, never>" : `{\n${fieldsOf(parameters, "result", "      ")}    }`},\n` +
      `    context: ServiceContext<Bindings>,\n` +
      `  ) => ${result === null ? "unknown" : awaitable(typeOf(result, "arguments"))};\n`,
  );
  return {
    text: [
      ...namedTypes,
      ...interfaces,
      `/** What every handler takes and returns. */\nexport interface Handlers {\n${handlers.join("")}}\n`,
    ].join("\n"),
    services: hasServices && services.length > 0 ? servicesOf(services) : null,
    argumentsOf,
    resultOf,
  };
}

function servicesOf(services: readonly string[]): string {
  return `/** The services that the sources declare. This Worker has them. */
export interface Services<Bindings = unknown> {
${services.join("")}}
`;
}

function awaitable(type: string): string {
  return `${type} | Promise<${type}>`;
}

function namedTypeOf(name: string, type: NamedType, hasValues: boolean): string {
  const comment = type.description === undefined ? [] : [type.description];
  if (type.kind === "texts")
    return `${comment.map((words) => docComment([words], "")).join("")}export type ${name} = ${unionOf(type.texts)};\n`;
  const values = Object.entries(type.values).map(([member, value]) => `${propertyName(member)}: ${value}`);
  if (!hasValues) {
    const numbers = [...new Set(Object.values(type.values))].join(" | ");
    return `${docComment([...comment, `\`${values.join(", ")}\``], "")}export type ${name} = ${numbers || "never"};\n`;
  }
  const object = values.length === 0 ? "{}" : `{\n${values.map((value) => `  ${value},\n`).join("")}}`;
  return `${comment.map((words) => docComment([words], "")).join("")}export const ${name} = ${object} as const;\nexport type ${name} = (typeof ${name})[keyof typeof ${name}];\n`;
}

function unionOf(texts: readonly string[]): string {
  return texts.map((text) => JSON.stringify(text)).join(" | ");
}

/** A doc comment of these paragraphs, with its line's end. */
export function docComment(paragraphs: readonly string[], indent: string): string {
  // An end of a comment within the words would be one here too.
  const lines = paragraphs.join("\n\n").replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

export function descriptionOf({ description }: HandlerManifest): readonly string[] {
  return description === undefined ? [] : [description];
}

function abortsOf({ abortCodes }: HandlerManifest): string {
  if (abortCodes === undefined) return "string";
  return abortCodes.length === 0 ? "never" : abortCodes.map((code) => JSON.stringify(code)).join(" | ");
}

export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Records that handlers take, those that they return, also inside of others, and named types in all of these. */
export function usedTypes(manifest: Manifest): {
  readonly arguments: ReadonlySet<string>;
  readonly result: ReadonlySet<string>;
  readonly named: ReadonlySet<string>;
} {
  const named = new Set<string>();
  const collect = (types: readonly ValueType[]): ReadonlySet<string> => {
    const names = new Set<string>();
    const visit = (type: ValueType): void => {
      if (type.kind === "array") visit(type.element);
      else if (type.kind === "tuple") type.elements.forEach(visit);
      else if (type.kind === "map") visit(type.value);
      else if (type.kind === "nullable") visit(type.inner);
      else if (type.kind === "record" && !names.has(type.name)) {
        names.add(type.name);
        for (const field of manifest.records[type.name]?.fields ?? []) visit(field.type);
      } else if ("named" in type && type.named !== undefined) named.add(type.named);
    };
    for (const type of types) visit(type);
    return names;
  };
  const handlers = Object.values(manifest.handlers);
  const services = Object.values(manifest.services ?? {});
  const taken = (list: readonly { readonly parameters: readonly Parameter[] }[]): readonly ValueType[] =>
    list.flatMap(({ parameters }) => parameters.map(({ type }) => type));
  const given = (list: readonly { readonly result: ValueType | null }[]): readonly ValueType[] =>
    list.flatMap(({ result }) => (result === null ? [] : [result]));
  return {
    arguments: collect([...taken(handlers), ...given(services)]),
    result: collect([...given(handlers), ...taken(services)]),
    named,
  };
}

/** Records of which the arguments' form differs: an optional or 64-bit field, in themselves or in a record inside. */
export function differingRecords(manifest: Manifest): ReadonlySet<string> {
  const found = new Set<string>();
  const differs = (type: ValueType): boolean => {
    switch (type.kind) {
      case "i64":
      case "u64":
        return true;
      case "array":
        return differs(type.element);
      case "tuple":
        return type.elements.some(differs);
      case "map":
        return differs(type.value);
      case "nullable":
        return differs(type.inner);
      case "record":
        return found.has(type.name);
      default:
        return false;
    }
  };
  // Recursive records: repeated until nothing is added.
  for (let size = -1; size !== found.size;) {
    size = found.size;
    for (const record of Object.values(manifest.records)) {
      // A client sends the Blob that it was answered.
      if (isBlobRecord(record)) continue;
      const isOther = (field: Field): boolean => (field.optional && field.absent !== true) || differs(field.type);
      if (record.fields.some(isOther)) found.add(record.name);
    }
  }
  return found;
}
