/**
 * Writes `openapi.json`: the application's HTTP interface as an OpenAPI 3.1 document, for clients in other languages,
 * gateways and documentation. It says what `docs/http.md` says, of these handlers.
 */
import {
  API_PATH,
  BLOBS_PATH,
  type HandlerManifest,
  hasBlobs,
  INTEGER_RANGES,
  type Manifest,
  type NamedType,
  OBJECT_ID,
  objectMethod,
  type Parameter,
  type RecordType,
  takesGet,
  type ValueType,
  withRoutes,
  WORKFLOW_STATES,
} from "@radical/protocol";
import { descriptionOf, differingRecords, usedTypes } from "./typescript-types.ts";

type Schema = Readonly<Record<string, unknown>>;
type Direction = "arguments" | "result";

export function generateOpenApi(whole: Manifest): string {
  const manifest = withRoutes(whole);
  const differing = differingRecords(manifest);
  const nameOf = (record: string, direction: Direction): string =>
    direction === "arguments" && differing.has(record) ? `${record}.Input` : record;

  /** Records have their names before them. */
  const namedName = (name: string): string => (Object.hasOwn(manifest.records, name) ? `${name}.Type` : name);

  const schemaOf = (type: ValueType, direction: Direction): Schema => {
    switch (type.kind) {
      case "bool":
        return { type: "boolean" };
      case "string":
        if (type.named !== undefined) return { $ref: `#/components/schemas/${namedName(type.named)}` };
        return { type: "string", ...(type.oneOf === undefined ? {} : { enum: type.oneOf }) };
      case "f32":
      case "f64":
        // JSON has no NaN and no infinities: they are null.
        return { type: direction === "result" ? ["number", "null"] : "number", format: FLOAT_FORMATS[type.kind] };
      case "i64":
      case "u64": {
        const number = { type: "integer", format: FORMATS[type.kind] };
        const digits = { type: "string", pattern: type.kind === "u64" ? "^\\d{1,20}$" : "^-?\\d{1,19}$" };
        return direction === "result" ? number : { oneOf: [number, digits] };
      }
      case "array":
        return { type: "array", items: schemaOf(type.element, direction) };
      case "tuple": {
        const { length } = type.elements;
        const prefixItems = type.elements.map((element) => schemaOf(element, direction));
        return { type: "array", prefixItems, minItems: length, maxItems: length };
      }
      case "map":
        return { type: "object", additionalProperties: schemaOf(type.value, direction) };
      case "nullable":
        return { anyOf: [schemaOf(type.inner, direction), { type: "null" }] };
      case "record":
        return { $ref: `#/components/schemas/${nameOf(type.name, direction)}` };
      default: {
        if (type.named !== undefined) return { $ref: `#/components/schemas/${namedName(type.named)}` };
        const [minimum, maximum] = INTEGER_RANGES[type.kind];
        return { type: "integer", minimum: Number(minimum), maximum: Number(maximum) };
      }
    }
  };

  const objectOf = (fields: readonly Parameter[], direction: Direction, description?: string): Schema => ({
    type: "object",
    ...(description === undefined ? {} : { description }),
    properties: Object.fromEntries(
      fields.map((field) => [
        field.name,
        // As forms are made of the schema.
        { ...schemaOf(field.type, direction), ...(field.secret ? { format: "password" } : {}), ...describedBy(field) },
      ]),
    ),
    required: fields
      .filter(({ optional, absent }) => absent !== true && (direction === "result" || !optional))
      .map(({ name }) => name),
    ...(direction === "arguments" ? { additionalProperties: false } : {}),
  });

  const { services: _services, ...others } = manifest;
  const used = usedTypes(others);
  const schemas = Object.values(manifest.records).flatMap((record: RecordType): [name: string, schema: Schema][] => {
    const isWhole = used.result.has(record.name) || (used.arguments.has(record.name) && !differing.has(record.name));
    const isInput = used.arguments.has(record.name) && differing.has(record.name);
    return [
      ...(isWhole ? [[record.name, objectOf(record.fields, "result", record.description)] as [string, Schema]] : []),
      ...(isInput
        ? [
            [nameOf(record.name, "arguments"), objectOf(record.fields, "arguments", record.description)] as [
              string,
              Schema,
            ],
          ]
        : []),
    ];
  });

  const named = Object.entries(manifest.named ?? {})
    .filter(([name]) => used.named.has(name))
    .map(([name, type]) => [namedName(name), namedSchema(type)] as const);

  const queryParameter = ({ name, type, optional, ...field }: Parameter): Schema => {
    const common = { name, in: "query", required: !optional && type.kind !== "nullable", ...describedBy(field) };
    const plain = type.kind === "nullable" ? type.inner : type;
    const isText = isScalar(plain) || (plain.kind === "array" && isScalar(plain.element));
    const schema = schemaOf(plain, "arguments");
    // A list is given by repeating its name.
    return isText ? { ...common, schema } : { ...common, content: { "application/json": { schema } } };
  };

  /** The parameters that are not in the path. */
  const argumentsOf = (name: string, { parameters }: HandlerManifest): readonly Parameter[] =>
    objectMethod(name) === null ? parameters : parameters.filter((parameter) => parameter.name !== OBJECT_ID);

  const pathParameters = (name: string): readonly Schema[] => {
    const called = objectMethod(name);
    if (called === null) return [];
    const description = `The object of class ${called.className}.`;
    return [{ name: OBJECT_ID, in: "path", required: true, description, schema: { type: "string", minLength: 1 } }];
  };

  const operationOf = (name: string, handler: HandlerManifest, method: "get" | "post"): Schema => ({
    operationId: method === "post" ? name : `${name}.get`,
    summary: summaryOf(name, handler),
    description: [
      ...descriptionOf(handler),
      ...abortWords(handler),
      `${handler.file}:${handler.line}${handler.readOnly ? "; reads only" : ""}`,
    ].join("\n\n"),
    parameters: [
      ...pathParameters(name),
      { $ref: "#/components/parameters/IdempotencyKey" },
      ...(isEarly(handler, method) ? [{ $ref: "#/components/parameters/Prefer" }] : []),
      ...(handler.plan === "workflow" ? [{ $ref: "#/components/parameters/Wait" }] : []),
      ...(method === "get" ? argumentsOf(name, handler).map(queryParameter) : []),
    ],
    ...(method === "get"
      ? {}
      : {
          requestBody: {
            required: argumentsOf(name, handler).some(({ optional }) => !optional),
            content: { "application/json": { schema: objectOf(argumentsOf(name, handler), "arguments") } },
          },
        }),
    responses: {
      "200": {
        description: "The handler's result.",
        headers: { "x-radical-execution": { $ref: "#/components/headers/Execution" } },
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: { result: handler.result === null ? { type: "null" } : schemaOf(handler.result, "result") },
              required: ["result"],
            },
          },
          ...(isEarly(handler, method) ? STREAM : {}),
          ...(method === "get" ? EVENTS : {}),
        },
      },
      ...(handler.plan === "workflow" ? WORKING : {}),
      "503": { $ref: "#/components/responses/Later" },
      default: errorResponse(handler),
    },
  });

  /** The path of a workflow that was started. */
  const workflowPaths = (name: string, handler: HandlerManifest): Readonly<Record<string, unknown>> => {
    if (handler.plan !== "workflow") return {};
    const { responses } = operationOf(name, handler, "post");
    const parameters = [
      { name: "id", in: "path", required: true, description: "Its execution id.", schema: EXECUTION_ID },
      { $ref: "#/components/parameters/Wait" },
    ];
    const common = { parameters, responses };
    return {
      [`${pathOf(name)}/{id}`]: {
        get: { operationId: `${name}.state`, summary: `The state of ${name}, or its result.`, ...common },
        delete: {
          operationId: `${name}.cancel`,
          summary: `Asks ${name} to end, and to undo what it has done.`,
          ...common,
        },
      },
    };
  };

  const document = {
    openapi: "3.1.1",
    info: { title: manifest.application, version: manifest.module.slice(0, 12) },
    servers: [{ url: "/" }],
    paths: {
      ...Object.fromEntries(
        Object.entries(manifest.handlers).flatMap(([name, handler]) => [
          [
            pathOf(name),
            {
              ...(takesGet(handler) ? { get: operationOf(name, handler, "get") } : {}),
              post: operationOf(name, handler, "post"),
            },
          ],
          ...Object.entries(workflowPaths(name, handler)),
        ]),
      ),
      ...(hasBlobs(manifest.records) ? BLOB_PATHS : {}),
    },
    components: { ...COMPONENTS, schemas: { ...ERROR_SCHEMA, ...Object.fromEntries([...named, ...schemas]) } },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function pathOf(name: string): string {
  const called = objectMethod(name);
  return called === null ? `${API_PATH}${name}` : `${API_PATH}${called.className}/{${OBJECT_ID}}/${called.method}`;
}

/** Generators of clients take the names of an enum's values from `x-enum-varnames`. */
function namedSchema(type: NamedType): Schema {
  if (type.kind === "texts") return { type: "string", enum: type.texts, ...describedBy(type) };
  const [names, values] = [Object.keys(type.values), Object.values(type.values)];
  return { type: "integer", enum: values, "x-enum-varnames": names, ...describedBy(type) };
}

function describedBy({ description }: Pick<Parameter, "description">): Schema {
  return description === undefined ? {} : { description };
}

/** The first sentence of the doc comment, else the name. */
function summaryOf(name: string, { description, readOnly }: HandlerManifest): string {
  const [paragraph = ""] = (description ?? "").split(/\n\s*\n/);
  const sentence = /^.*?[.!?](?=\s|$)/s.exec(paragraph)?.[0] ?? paragraph;
  if (sentence !== "") return sentence.replaceAll(/\s+/g, " ");
  return `${name}${readOnly ? ", which only reads" : ""}`;
}

function abortWords({ abortCodes = [] }: HandlerManifest): readonly string[] {
  return abortCodes.length === 0
    ? []
    : [`The handler may abort with ${abortCodes.map((code) => `\`${code}\``).join(", ")}.`];
}

/** An error whose code may be one of the handler's own, or one of Radical's. */
function errorResponse({ abortCodes = [] }: HandlerManifest): Schema {
  if (abortCodes.length === 0) return { $ref: "#/components/responses/Error" };
  const code = { anyOf: [{ type: "string", enum: abortCodes }, { type: "string" }] };
  const own = { type: "object", properties: { error: { type: "object", properties: { code } } } };
  return {
    ...COMPONENTS.responses.Error,
    content: { "application/json": { schema: { allOf: [{ $ref: "#/components/schemas/Radical.Error" }, own] } } },
  };
}

const BYTES = { "*/*": { schema: { type: "string", contentMediaType: "application/octet-stream" } } };
const BLOB = {
  type: "object",
  properties: {
    hash: { type: "string", pattern: "^[0-9a-f]{64}$" },
    size: { type: "integer", minimum: 0 },
    type: { type: "string" },
  },
  required: ["hash", "size", "type"],
};

const BLOB_PATHS: Schema = {
  [BLOBS_PATH]: {
    put: {
      operationId: "blobs.put",
      summary: "Puts bytes, and answers the Blob that handlers take.",
      requestBody: { required: true, content: BYTES },
      responses: {
        "200": { description: "The bytes were there.", content: { "application/json": { schema: BLOB } } },
        "201": { description: "The bytes are new.", content: { "application/json": { schema: BLOB } } },
        "503": { $ref: "#/components/responses/Later" },
        default: { $ref: "#/components/responses/Error" },
      },
    },
  },
  [`${BLOBS_PATH}/{hash}`]: {
    get: {
      operationId: "blobs.get",
      summary: "The bytes of a Blob, which never change.",
      parameters: [{ name: "hash", in: "path", required: true, schema: BLOB.properties.hash }],
      responses: {
        "200": { description: "The bytes, with the type that was put.", content: BYTES },
        "206": { description: "The part of the header `range`.", content: BYTES },
        "304": { description: "The client has the bytes." },
        default: { $ref: "#/components/responses/Error" },
      },
    },
  },
};

/** A GET that accepts events is answered with the results as they change. */
const EVENTS = {
  "text/event-stream": {
    schema: {
      type: "string",
      description: "Server-sent events. The data of each is what the same GET answers as JSON.",
    },
  },
};

/** Whether a result may be shown before its confirmation. */
function isEarly({ speculative }: HandlerManifest, method: "get" | "post"): boolean {
  return speculative === true && method === "post";
}

const FORMATS = { i64: "int64", u64: "uint64" } as const;
const FLOAT_FORMATS = { f32: "float", f64: "double" } as const;

function isScalar({ kind }: ValueType): boolean {
  return kind !== "array" && kind !== "tuple" && kind !== "map" && kind !== "record" && kind !== "nullable";
}

const ERROR_SCHEMA = {
  "Radical.Error": {
    type: "object",
    properties: {
      error: {
        type: "object",
        properties: {
          code: { type: "string", description: "For programs; permanent." },
          message: { type: "string", description: "For people." },
          hint: { type: "string", description: "What to do about it." },
        },
        required: ["code", "message", "hint"],
      },
    },
    required: ["error"],
  },
};

const ERROR_CONTENT = { "application/json": { schema: { $ref: "#/components/schemas/Radical.Error" } } };

/** OpenAPI 3.1 has no schema for a stream of lines. */
const STREAM = {
  "application/x-ndjson": {
    schema: {
      type: "string",
      description:
        "With `Prefer: speculative`. Each line is a JSON object: first perhaps `speculative` with the `result` that is not confirmed, last `confirmed` (true), `corrected` with the `result`, or `failed` with the fields of an error.",
    },
  },
};

const EXECUTION_ID = { type: "string", pattern: "^[0-9a-f]{32}$" };

/** The answer for a workflow that goes on. */
const WORKING = {
  "202": {
    description: "The workflow has not ended. GET the path in `location` for its state or its result.",
    headers: {
      location: { description: "The path of this workflow, for the same caller.", schema: { type: "string" } },
      "retry-after": { description: "In seconds.", schema: { type: "integer" } },
    },
    content: {
      "application/json": {
        schema: {
          type: "object",
          properties: { workflow: EXECUTION_ID, state: { type: "string", enum: WORKFLOW_STATES } },
          required: ["workflow", "state"],
        },
      },
    },
  },
};

const COMPONENTS = {
  parameters: {
    Wait: {
      name: "Prefer",
      in: "header",
      description:
        "`wait=10`: how many seconds the answer may wait for the end of the workflow, 60 at most. A POST waits for 10 without it, other requests don't wait.",
      schema: { type: "string", pattern: "^wait=\\d+$" },
    },
    IdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      description:
        "A UUID. A repeat with the same key by the same caller has no second effect and gets the same answer. A key has at least 16 characters if nobody is signed in.",
      schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
    },
    Prefer: {
      name: "Prefer",
      in: "header",
      description: "With `speculative` the answer is a stream, with a result before its confirmation.",
      schema: { type: "string", enum: ["speculative"] },
    },
  },
  headers: {
    Execution: {
      description: "The execution id. Sent as Idempotency-Key it repeats a request that had no key.",
      schema: { type: "string", pattern: "^execution-[0-9a-f]{32}$" },
    },
  },
  responses: {
    Error: { description: "The request was refused, or its handler failed.", content: ERROR_CONTENT },
    Later: {
      description: "Repeat the request with the same Idempotency-Key.",
      headers: { "retry-after": { description: "In seconds.", schema: { type: "integer" } } },
      content: ERROR_CONTENT,
    },
  },
};
