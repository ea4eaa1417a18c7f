/**
 * For tests: makes a failing program small. Statements, class members and whole branches are left out, expressions are
 * replaced by their parts or by constants, as long as the program still fails.
 */
import { parseSync } from "oxc-parser";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const CONSTANTS: readonly string[] = ["0", '""', "true", "false", "null"];

/** The smallest source found for which `fails` still holds; `goesOn` false ends the search. */
export function reduceSource(text: string, fails: (text: string) => boolean, goesOn: () => boolean): string {
  let current = text;
  const attempt = (edits: readonly Edit[]): boolean => {
    const candidate = apply(current, edits);
    if (candidate.length >= current.length || !goesOn() || !fails(candidate)) return false;
    current = candidate;
    return true;
  };
  for (let before = ""; before !== current && goesOn();) {
    before = current;
    removeParts(() => current, attempt);
    for (const kind of ["statement", "expression"] as const) {
      // After a success the positions behind it are others: the next edit is looked up by its number.
      for (let index = 0; goesOn();) {
        const edit = replacements(current, kind)[index];
        if (edit === undefined) break;
        if (!attempt([edit])) index++;
      }
    }
  }
  return current;
}

/** Leaves out ever smaller runs of the elements of each list, outermost lists first. */
function removeParts(source: () => string, attempt: (edits: readonly Edit[]) => boolean): void {
  for (let list = 0; ; list++) {
    const length = lists(source())[list]?.length;
    if (length === undefined) return;
    for (let size = length; size > 0; size = Math.floor(size / 2)) {
      for (let at = 0; ;) {
        const parts = lists(source())[list] ?? [];
        const run = parts.slice(at, at + size);
        const first = run[0];
        const last = run.at(-1);
        if (first === undefined || last === undefined) break;
        if (!attempt([{ start: first.start, end: last.end, text: "" }])) at += size;
      }
    }
  }
}

function apply(text: string, edits: readonly Edit[]): string {
  let result = text;
  for (const { start, end, text: replacement } of edits.toReversed())
    result = result.slice(0, start) + replacement + result.slice(end);
  return result.replaceAll(/\n\s*\n/g, "\n");
}

function parse(text: string): Node {
  return parseSync("program.ts", text, { lang: "ts" }).program;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function children(node: Node): Node[] {
  return Object.values(node).flatMap((value: unknown) =>
    isNode(value) ? [value] : Array.isArray(value) ? value.filter((element) => isNode(element)) : [],
  );
}

/** Breadth first. */
function nodes(root: Node): Node[] {
  const found = [root];
  for (let index = 0; index < found.length; index++) found.push(...children(found[index]!));
  return found;
}

/** Everything of which elements can be left out: bodies and cases. */
function lists(text: string): (readonly Node[])[] {
  return nodes(parse(text)).flatMap((node) => {
    const fields = node as unknown as Readonly<Record<string, unknown>>;
    return ["body", "cases", ...(node.type === "SwitchCase" ? ["consequent"] : [])].flatMap((name) => {
      const list = fields[name];
      return Array.isArray(list) && list.length > 0 ? [list.filter((element) => isNode(element))] : [];
    });
  });
}

function replacements(text: string, kind: "statement" | "expression"): Edit[] {
  const edits: Edit[] = [];
  for (const node of nodes(parse(text))) {
    const { type, start, end } = node;
    const replace = (replacement: string): void => void edits.push({ start, end, text: replacement });
    if (kind === "statement" && /^(If|For|While|DoWhile|Block|Switch)Statement$/.test(type)) {
      for (const child of children(node)) {
        if (child.type === "BlockStatement") replace(text.slice(child.start + 1, child.end - 1));
        else if (child.type.endsWith("Statement")) replace(text.slice(child.start, child.end));
      }
    }
    if (kind === "expression" && isReplaceable(node)) {
      for (const child of children(node))
        if (isReplaceable(child) || child.type === "Identifier") replace(text.slice(child.start, child.end));
      for (const constant of CONSTANTS) replace(constant);
    }
  }
  return edits.filter(({ start, end, text: replacement }) => replacement.length < end - start);
}

function isReplaceable({ type }: Node): boolean {
  return type.endsWith("Expression") && type !== "ArrowFunctionExpression" && type !== "FunctionExpression";
}
