/** The fields of `radical.config.ts`: names, types and defaults from their schema, words from its comments. */
import { readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { z } from "zod";
import { configSchema } from "../../packages/app/src/config/schema.ts";

const FOLDER = new URL("../../packages/app/src/config/", import.meta.url);
const FILES = ["blobs-schema.ts", "deploy-schema.ts", "schema.ts"];
const WHOLE = "configSchema";
/** Stands for a name that the developer chooses. */
const ANY_NAME = "<name>";

export interface Field {
  /** `dev.locations`. */
  readonly path: string;
  /** As a cell of a table shows it: `"kv" | "memory"`. */
  readonly type: string;
  readonly words: string;
  /** The schema's value for a field that is not given; undefined if it has none. */
  readonly byDefault: unknown;
}

export function configPart(): string {
  const rows = configFields().map(({ path, type, words }) => `| \`${path}\` | ${type} | ${words} |`);
  return ["| field | type | |", "| --- | --- | --- |", ...rows].join("\n");
}

/** All fields, those of fields included. */
export function configFields(): readonly Field[] {
  const words = wordsByPath();
  const below = (schema: Schema, above: string): readonly Field[] =>
    Object.entries(propertiesOf(schema)).flatMap(([name, field]): readonly Field[] => {
      const path = above + name;
      const own = { path, type: cell(field), words: words.get(path) ?? "", byDefault: field.default };
      return [...(name === ANY_NAME ? [] : [own]), ...below(field, `${path}.`)];
    });
  return below(z.toJSONSchema(configSchema, { io: "input" }), "");
}

// ── Types and defaults, from the schema ──────────────────────────────────────────────────────────────────────────────

type Schema = z.core.JSONSchema.BaseSchema;
type Properties = Readonly<Record<string, Schema>>;

/** The fields of the object, or of the objects, that the schema allows. */
function propertiesOf({ properties, additionalProperties, anyOf, oneOf }: Schema): Properties {
  if (properties !== undefined) return properties as Properties;
  if (typeof additionalProperties === "object") return { [ANY_NAME]: additionalProperties };
  const all = [...(anyOf ?? []), ...(oneOf ?? [])].flatMap((one) => Object.entries(propertiesOf(one)));
  // Of several objects each has its own kind; any other field is the same in all.
  const merged = [...Map.groupBy(all, ([name]) => name)].map(
    ([name, found]) => [name, { ...found[0]?.[1], ...kindsOf(found) }] as const,
  );
  return Object.fromEntries(merged);
}

function kindsOf(found: readonly (readonly [name: string, field: Schema])[]): Schema {
  const kinds = found.flatMap(([, { const: kind }]) => (kind === undefined ? [] : [kind]));
  return kinds.length < 2 ? {} : { enum: kinds };
}

function cell(field: Schema): string {
  return `\`${[...new Set(typesOf(field))].join(" | ")}\``.replaceAll("|", "\\|");
}

function typesOf(field: Schema): readonly string[] {
  const { type, enum: words, anyOf, oneOf, items, prefixItems, additionalProperties } = field;
  const joined = (of: unknown): string => typesOf(of as Schema).join(" | ");
  if (words !== undefined) return words.map((word) => JSON.stringify(word));
  if (anyOf !== undefined || oneOf !== undefined)
    return [...(anyOf ?? []), ...(oneOf ?? [])].flatMap((one) => typesOf(one));
  if (prefixItems !== undefined) return [`[${prefixItems.map(joined).join(", ")}]`];
  if (type === "array") return [`${joined(items)}[]`];
  if (typeof additionalProperties === "object") return [`{ ${ANY_NAME}: ${joined(additionalProperties)} }`];
  return [type === "integer" ? "number" : String(type)];
}

// ── Words, from the comments ─────────────────────────────────────────────────────────────────────────────────────────

/** Of the nodes of a syntax tree, the parts that a schema is written with. */
type Node =
  | { readonly type: "Identifier"; readonly name: string }
  | { readonly type: "MemberExpression"; readonly object: Node }
  | { readonly type: "ArrayExpression"; readonly elements: readonly Node[] }
  | { readonly type: "CallExpression"; readonly callee: Node; readonly arguments: readonly Node[] }
  | {
      readonly type: "ObjectExpression";
      readonly properties: readonly { readonly key: Node; readonly value: Node; readonly start: number }[];
    };

function wordsByPath(): ReadonlyMap<string, string> {
  const text = FILES.map((file) => readFileSync(new URL(file, FOLDER), "utf8")).join("\n");
  const { program, comments } = parseSync("schema.ts", text);
  const constants = new Map<string, Node>();
  for (const statement of program.body) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declaration?.type !== "VariableDeclaration") continue;
    for (const { id, init } of declaration.declarations)
      if (id.type === "Identifier" && init !== null) constants.set(id.name, init as Node);
  }
  const wordsBefore = (start: number): string => {
    const comment = comments.findLast(({ end }) => end <= start && text.slice(end, start).trim() === "");
    return (comment?.value ?? "")
      .split("\n")
      .map((line) => line.replace(/^\s*\*+ ?/, ""))
      .join(" ")
      .trim()
      .replace(/ See docs\/([\w/-]+)\.md(?:, "[^"]*")?\./g, " See [here]($1.md).")
      .replace(/: docs\/([\w/-]+)\.md\./g, ": [here]($1.md).");
  };
  const words = new Map<string, string>();
  /** Takes the comments of the objects that an expression makes schemas of. */
  const take = (node: Node | undefined, above: string): void => {
    switch (node?.type) {
      case "Identifier":
        return take(constants.get(node.name), above);
      case "MemberExpression":
        return take(node.object, above);
      case "ArrayExpression":
        return node.elements.forEach((element) => take(element, above));
      case "CallExpression": {
        take(node.callee, above);
        // `z.record(keys, values)`
        const [keys, values] = node.arguments;
        const isRecord =
          "property" in node.callee && (node.callee.property as { readonly name?: string }).name === "record";
        return isRecord ? take(values, `${above}${ANY_NAME}.`) : [keys, values].forEach((each) => take(each, above));
      }
      case "ObjectExpression":
        for (const { key, value, start } of node.properties) {
          if (key?.type !== "Identifier") continue;
          const path = above + key.name;
          if (!words.has(path)) words.set(path, wordsBefore(start));
          take(value, `${path}.`);
        }
        return undefined;
      default:
        return undefined;
    }
  };
  take(constants.get(WHOLE), "");
  return words;
}
