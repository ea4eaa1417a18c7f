/**
 * The reference of the SDK: all that handlers import, from the typings that editors show and their doc comments.
 * The tests of the package compare these typings with the code.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { type Comment, parseSync } from "oxc-parser";

const TYPINGS = path.resolve(import.meta.dirname, "../../packages/sdk/editor/index.d.ts");

interface Member {
  /** `new Table<T>(name: string)`, `get(key: string): T | null`. */
  readonly signature: string;
  /** Its doc comment as Markdown. */
  readonly words: string;
}

interface SdkExport {
  readonly name: string;
  /** Its doc comment as Markdown. */
  readonly words: string;
  /** The functions of a name, or the members of a class. */
  readonly members: readonly Member[];
}

/** `summary` is a table of all exports; names with commas are a section for each. Throws for a name that the SDK lacks. */
export function sdkPart(argument: string): string {
  const exports = sdkExports();
  if (argument === "summary")
    return tableOf(
      ["import", "meaning"],
      exports.map(({ name, words, members }) => [
        `[\`${name}\`](sdk.md#${name.toLowerCase()})`,
        [firstSentenceOf(words), ...methodsOf(members)].join(" "),
      ]),
    );
  return argument
    .split(", ")
    .map((name) => {
      const found = exports.find((one) => one.name === name);
      if (found === undefined) throw new Error(`the SDK has no export "${name}"`);
      return sectionOf(found);
    })
    .join("\n\n");
}

/** All exports of the SDK, in the order of its typings. */
export function sdkExports(): readonly SdkExport[] {
  const source = readFileSync(TYPINGS, "utf8");
  const { program, comments } = parseSync(TYPINGS, source);
  const found = new Map<string, SdkExport>();
  const add = (name: string, words: string, members: readonly Member[]): void => {
    const before = found.get(name);
    found.set(name, { name, words: before?.words ?? words, members: [...(before?.members ?? []), ...members] });
  };
  const wordsAt = (start: number): string => markdownOf(commentBefore(source, comments, start));
  const functionAt = (start: number, end: number): Member => ({
    signature: source
      .slice(start, end)
      .replace(/^(?:export )?(?:declare )?function /, "")
      .replace(/;$/, ""),
    words: wordsAt(start),
  });
  for (const statement of program.body) {
    if (statement.type !== "ExportNamedDeclaration") continue;
    const { declaration, start, end } = statement;
    const words = wordsAt(start);
    switch (declaration?.type) {
      case "TSTypeAliasDeclaration":
        add(declaration.id.name, words, []);
        break;
      case "TSDeclareFunction":
        add(declaration.id?.name ?? "", words, [functionAt(start, end)]);
        break;
      case "ClassDeclaration": {
        const { id, typeParameters, body } = declaration;
        const name = id?.name ?? "";
        const types = typeParameters ? source.slice(typeParameters.start, typeParameters.end) : "";
        const members = body.body.flatMap((member): readonly Member[] => {
          if ("accessibility" in member && member.accessibility === "private") return [];
          const signature = source
            .slice(member.start, member.end)
            .replace(/^constructor/, `new ${name}${types}`)
            .replace(/;$/, "");
          return [{ signature, words: wordsAt(member.start) }];
        });
        add(name, words, members);
        break;
      }
      case "TSModuleDeclaration": {
        if (declaration.id.type !== "Identifier" || declaration.body?.type !== "TSModuleBlock") break;
        const { name } = declaration.id;
        const members = declaration.body.body.map((member) => functionAt(member.start, member.end));
        add(
          name,
          words,
          members.map(({ signature, words: of }) => ({ signature: `${name}.${signature}`, words: of })),
        );
        break;
      }
      default:
        throw new Error(`${TYPINGS} has a declaration of another kind at ${start}`);
    }
  }
  return [...found.values()];
}

/** Exports that only workflows can call begin so. */
const FOR_WORKFLOWS = /^Only in (?:workflows|a workflow itself): /;

/** Members that no handler can call begin so. */
const FOR_SETS = /^Only in read\/write-set functions(?:, those with the tag `[^`]*`)?: /;

function sectionOf({ name, words, members }: SdkExport): string {
  const listOf = (shown: readonly Member[]): string =>
    shown.map(({ signature, words: of }) => `* \`${signature}\`\\\n  ${plainOf(of.replace(FOR_SETS, ""))}`).join("\n");
  const [forSets, forHandlers] = [
    members.filter(({ words: of }) => FOR_SETS.test(of)),
    members.filter(({ words: of }) => !FOR_SETS.test(of)),
  ];
  const [first] = forHandlers;
  const own = first !== undefined && first.words === words ? forHandlers.slice(1) : forHandlers;
  return [
    `### ${name}`,
    ...(own === forHandlers || first === undefined ? [] : [`\`${first.signature}\``]),
    words,
    ...(own.length === 0 ? [] : [listOf(own)]),
    ...(forSets.length === 0 ? [] : ["In a given set only:", listOf(forSets)]),
  ].join("\n\n");
}

/** The doc comment that ends just before a place; empty if there is none. */
function commentBefore(source: string, comments: readonly Comment[], start: number): string {
  const found = comments.findLast(({ end }) => end <= start);
  if (found === undefined || !found.value.startsWith("*") || source.slice(found.end, start).trim() !== "") return "";
  return found.value
    .slice(1)
    .replaceAll(/\n\s*\* ?/g, "\n")
    .trim();
}

/** Paragraphs on a line each. Code, which a comment indents, gets a fence. */
function markdownOf(comment: string): string {
  return comment
    .replaceAll(/\{@link (\w+)\}/g, "`$1`")
    .replaceAll(/(?:^ {4}.*\n?|^\n(?= {4}))+/gm, (code) => `\n<code>${code.replaceAll(/^ {4}/gm, "").trim()}</code>\n`)
    .split(/(<code>[^]*?<\/code>)/)
    .map((part) => {
      const [, code] = /^<code>([^]*)<\/code>$/.exec(part) ?? [];
      return code === undefined ? part.trim().replaceAll(/(?<!\n)\n(?!\n)/g, " ") : `\`\`\`ts\n${code}\n\`\`\``;
    })
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The sentences of a member, without examples. */
function plainOf(words: string): string {
  const text = words.split("\n\n")[0] ?? "";
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/:$/, ".");
}

/** The names of methods that handlers call, in a sentence. */
function methodsOf(members: readonly Member[]): readonly string[] {
  const names = members.flatMap(({ signature, words }) =>
    FOR_SETS.test(words) ? [] : (/^(?:log\.)?[a-z]\w*(?=[(<])/.exec(signature)?.slice(0, 1) ?? []),
  );
  const once = [...new Set(names)];
  return once.length < 2 ? [] : [`${once.map((name) => `\`${name}\``).join(", ")}.`];
}

function firstSentenceOf(words: string): string {
  const [first = ""] = plainOf(words.replace(FOR_WORKFLOWS, "")).split("\n\n");
  const sentence = /^.*?[.:](?= |$)/.exec(first)?.[0].replace(/:$/, ".") ?? first;
  return FOR_WORKFLOWS.test(words) ? `${sentence} In workflows only.` : sentence;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}
