/** The fields of `radical.config.ts`, from the types and the comments in `packages/cli/src/config`. */
import { readFileSync } from "node:fs";
import { CACHE_KINDS } from "../../packages/protocol/src/cache-choice.ts";
import { LEAST_LEVELS } from "../../packages/protocol/src/logged-line.ts";
import { parseSync } from "oxc-parser";

const FOLDER = new URL("../../packages/cli/src/config/", import.meta.url);
const FILES = ["config.ts", "deploy-config.ts"];
const FIRST = "RadicalConfig";

export interface Field {
  /** `dev.locations`. */
  readonly path: string;
  readonly type: string;
  readonly words: string;
}

export function configPart(): string {
  const rows = configFields().map(({ path, type, words }) => `| \`${path}\` | ${type} | ${words} |`);
  return ["| field | type | |", "| --- | --- | --- |", ...rows].join("\n");
}

/** `const NAME = ["a", "b"] as const`. */
function listOf(text: string, name: string): readonly string[] {
  const [, list = ""] = new RegExp(`const ${name} = \\[(.*?)\\] as const`).exec(text) ?? [];
  return [...list.matchAll(/"(.*?)"/g)].map(([, word = ""]) => word);
}

/** All fields, those of fields included. */
export function configFields(): readonly Field[] {
  const text = FILES.map((file) => readFileSync(new URL(file, FOLDER), "utf8")).join("\n");
  const { program, comments } = parseSync("config.ts", text);
  const source = (node: { readonly start: number; readonly end: number }): string => text.slice(node.start, node.end);
  const declarations = program.body.map((statement) =>
    statement.type === "ExportNamedDeclaration" ? statement.declaration : statement,
  );
  const interfaces = new Map(
    declarations.flatMap((node) =>
      node?.type === "TSInterfaceDeclaration" ? [[node.id.name, node.body.body] as const] : [],
    ),
  );
  const lists = new Map([
    ["CacheKind", CACHE_KINDS],
    ["LeastLevel", LEAST_LEVELS],
    ["NotFound", listOf(text, "NOT_FOUND")],
  ]);
  /** With what the names of types stand for. */
  const typeWords = (type: string): string => {
    const words = type.replace(/\b[A-Z]\w+\b/g, (name) =>
      interfaces.has(name)
        ? "object"
        : (lists
            .get(name)
            ?.map((word) => `"${word}"`)
            .join(" | ") ?? name),
    );
    return `\`${words.replace(/^(?:Readonly<)?Record<string, (.*?)>+$/, "{ <name>: $1 }").replace(/^readonly /, "")}\``.replaceAll(
      "|",
      "\\|",
    );
  };
  const wordsBefore = (start: number): string => {
    const comment = comments.findLast(({ end }) => end <= start && text.slice(end, start).trim() === "");
    return (comment?.value ?? "")
      .split("\n")
      .map((line) => line.replace(/^\s*\*+ ?/, ""))
      .join(" ")
      .trim()
      .replace(/ See docs\/([\w-]+)\.md(?:, "[^"]*")?\./g, " See [here]($1.md).")
      .replace(/: docs\/([\w-]+)\.md\./g, ": [here]($1.md).");
  };
  type Member = NonNullable<ReturnType<typeof interfaces.get>>[number];
  const fieldsOf = (members: readonly Member[], above: string): readonly Field[] =>
    members.flatMap((member): readonly Field[] => {
      if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier" || member.typeAnnotation === null)
        return [];
      const path = `${above}${member.key.name}`;
      const type = member.typeAnnotation.typeAnnotation;
      const inner = /^(?:Readonly<)?Record<string, [^>]*\b(\w+)>|^(?:\w+ \| )?(\w+)$/.exec(source(type));
      const named = interfaces.get(inner?.[1] ?? inner?.[2] ?? "");
      const nested = type.type === "TSTypeLiteral" ? type.members : named;
      const shown = type.type === "TSTypeLiteral" ? "object" : typeWords(source(type));
      const own = { path, type: shown, words: wordsBefore(member.start) };
      const below = /^(?:Readonly<)?Record</.test(source(type)) ? `${path}.<name>.` : `${path}.`;
      return nested === undefined ? [own] : [own, ...fieldsOf(nested, below)];
    });
  return fieldsOf(interfaces.get(FIRST) ?? [], "");
}
