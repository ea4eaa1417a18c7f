/**
 * Tags, by which a developer directs the analyzer in the doc comment of a function or a table. An editor for TypeScript would not let
 * decorators stand there.
 *
 *     /** @readwrite homepage *\/    the function is the read/write-set function of handler `homepage`
 *     /** @nearstorage *\/           the handler runs near storage by choice
 *     /** @speculative *\/           clients may see a result of the handler before its confirmation
 *     /** @refuse union *\/          the slice of the handler does without these transformations
 *     /** @workflow *\/             the handler is a workflow: it runs steps, and touches no table
 *     /** @wrapping *\/              integers of the function wrap around where a result does not fit
 *     /** @service keyWindow=25m *\/ the function is a service, which the application's Worker has
 *     /** @private *\/               nothing of the table is ever at a location
 *     /** @audited *\/               the primary compares each followup that writes to the table with a run of its own
 *
 * `task-tags.ts` has those for tasks: `@retry`, `@limit`, `@cron`, `@every`.
 */
import { DEFAULT_KEY_WINDOW_MS, type ServiceRules, type TaskLimit } from "@radical/protocol";
import { isCutByStep } from "../check/steps.ts";
import { scan, type ScannedToken } from "../check/scanner.ts";
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type Fix, type SourceFile, type Span } from "../diagnostics/diagnostic.ts";
import { TRANSFORMATIONS, type TransformationKind } from "../front.ts";
import type { NamedPlace } from "../parse/handlers.ts";
import { readService } from "./service-tags.ts";
import { readCron, readEvery, readLimit, readRetry, type WrittenSchedule } from "./task-tags.ts";

export type Tag =
  | { readonly kind: "readwrite"; readonly handler: string; readonly span: Span }
  | { readonly kind: "nearstorage"; readonly span: Span }
  | { readonly kind: "speculative"; readonly span: Span }
  | { readonly kind: "workflow"; readonly span: Span }
  | { readonly kind: "wrapping"; readonly span: Span }
  | { readonly kind: "private"; readonly span: Span }
  | { readonly kind: "audited"; readonly span: Span }
  | { readonly kind: "service"; readonly rules: ServiceRules; readonly span: Span }
  | { readonly kind: "retry"; readonly attempts: number; readonly span: Span }
  | { readonly kind: "limit"; readonly limit: TaskLimit; readonly span: Span }
  | { readonly kind: "cron" | "every"; readonly schedule: WrittenSchedule; readonly span: Span }
  | { readonly kind: "refuse"; readonly transformations: readonly TransformationKind[]; readonly span: Span };

/** A function or table with tags in its doc comment. */
export interface TaggedFunction {
  readonly file: string;
  readonly name: string;
  /** Place of its name. */
  readonly span: Span;
  readonly tags: readonly Tag[];
}

export interface Tags {
  readonly functions: readonly TaggedFunction[];
  readonly diagnostics: readonly Diagnostic[];
}

const ACCEPTED =
  "Write one of the tags `@readwrite <handler>`, `@nearstorage`, `@speculative`, `@workflow`, `@wrapping`, `@service`, `@internal`, `@retry 5`, `@limit 10 100/s`, `@cron 0 3 * * *`, `@every 5m` and `@refuse union|dropped-guard|widening|all` before a function, and `@private` and `@audited` before a table.";

const SCHEDULED =
  "Write for example `@cron 0 3 * * *`, `@cron 30 8 * * MON-FRI Europe/Berlin` or `@every 5m`, and behind it perhaps `catchUp=0` and `overlap=skip`.";

/** A tag, or a word that was meant to be one. */
const TAG =
  /(?<=^[ \t]*\/?\*{0,2}[ \t]*)@((?:near[-_]?storage|read[-_]?write|refuse|speculat(?:ive|e|ion)|workflow|wrap(?:ping|around)?|service|intern(?:al)?|retr(?:y|ies)|limit|cron|every|private|audit(?:ed)?)s?\b)([^\n]*)/gim;

/** The beginning of a tag, perhaps in a comment behind code. */
const MAY_HAVE_TAGS =
  /@(?:near|read|refuse|speculat|workflow|wrap|service|intern|retr|limit|cron|every|private|audit)/i;

export function readTags(sources: readonly SourceFile[]): Tags {
  const functions: TaggedFunction[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const file of sources) {
    if (!MAY_HAVE_TAGS.test(file.text)) continue;
    const tokens = scan(file.text);
    tokens.forEach((token, index) => {
      const gapStart = tokens[index - 1]?.end ?? 0;
      const gap = file.text.slice(gapStart, token.start);
      for (const comment of gap.matchAll(/\/\*\*[\s\S]*?\*\//g)) {
        // Told as a form that does not parse.
        if (isCutByStep(file.text, gapStart + comment.index + comment[0].length)) continue;
        const tags = tagsIn(comment[0], gapStart + comment.index, file, diagnostics);
        if (tags.length === 0) continue;
        // Only the last comment before a declaration is its own.
        const isLast = !gap.slice(comment.index + comment[0].length).includes("/**");
        const name = isLast ? (functionAt(tokens, index) ?? memberAt(tokens, index)) : null;
        if (name === null)
          diagnostics.push(...tags.map((tag) => misplaced(tag, "does not stand before a function or a table")));
        else functions.push({ file: file.path, name: name.text, span: spanOf(file, name.start, name.end), tags });
      }
    });
  }
  return { functions, diagnostics };
}

/** The diagnostic for a tag where it means nothing. */
export function misplaced({ kind, span }: Tag, why: string): Diagnostic {
  return diagnostic("misplaced_tag", {
    message: `The tag @${kind} ${why}.`,
    primary: span,
    help:
      kind === "readwrite"
        ? "Write it in the doc comment of a function at the top of a file: `/** @readwrite homepage */`."
        : kind === "wrapping"
          ? "Write it in the doc comment of a function or method: `/** @wrapping */`."
          : kind === "service"
            ? "Write it before a function without a body, at the top of a file: `/** @service */ export declare function charge(order: string): string;`."
            : kind === "private" || kind === "audited"
              ? `Write it in the doc comment of a table: \`/** @${kind} */ const accounts = new Table<Account>("accounts");\`.`
              : `Write it in the doc comment of a handler: \`/** @${kind}${EXAMPLES.get(kind) ?? ""} */\`.`,
  });
}

/** Examples of the arguments of tags that need some. */
const EXAMPLES: ReadonlyMap<Tag["kind"], string> = new Map([
  ["refuse", " union"],
  ["retry", " 5"],
  ["limit", " 10 100/s"],
  ["cron", " 0 3 * * *"],
  ["every", " 5m"],
]);

function tagsIn(comment: string, offset: number, file: SourceFile, diagnostics: Diagnostic[]): Tag[] {
  const found: Tag[] = [];
  for (const match of comment.matchAll(TAG)) {
    const rest = match[2]!.replace(/\*\/[\s\S]*$/, "").trimEnd();
    const start = offset + match.index;
    const span = spanOf(file, start, start + 1 + match[1]!.length + rest.length);
    const words = rest.split(SCHEDULES.has(match[1]!) ? /\s+/ : /[\s,]+/).filter((word) => word !== "");
    // It is read with the documentation, for methods of objects too.
    if (match[1] === "internal") continue;
    const tag = tagOf(match[1]!, words, span);
    if (typeof tag !== "string") found.push(tag);
    // Its function is a service all the same, with a mistake.
    else if (match[1] === "service") found.push({ kind: "service", rules: DEFAULT_RULES, span });
    if (typeof tag === "string")
      diagnostics.push(
        SCHEDULES.has(match[1]!)
          ? diagnostic("invalid_schedule", { message: tag, primary: span, help: SCHEDULED })
          : diagnostic("unknown_tag", {
              message: tag,
              primary: span,
              help: ACCEPTED,
              fix: fixOf(match[1]!, span, file),
            }),
      );
  }
  return found;
}

const DEFAULT_RULES: ServiceRules = { keyWindowMs: DEFAULT_KEY_WINDOW_MS, once: false };

/** Tags behind which a comma is a part of a word. */
const SCHEDULES: ReadonlySet<string> = new Set(["cron", "every"]);

/** Spells the tag correctly. */
function fixOf(name: string, { start }: Span, file: SourceFile): Fix | undefined {
  const spelled = /^near/i.test(name)
    ? "nearstorage"
    : /^read/i.test(name)
      ? "readwrite"
      : /^spec/i.test(name)
        ? "speculative"
        : /^wrap/i.test(name)
          ? "wrapping"
          : /^work/i.test(name)
            ? "workflow"
            : /^serv/i.test(name)
              ? "service"
              : /^intern/i.test(name)
                ? "internal"
                : /^private/i.test(name)
                  ? "private"
                  : /^audit/i.test(name)
                    ? "audited"
                    : (/^(?:retry|limit|cron|every)/.exec(name.toLowerCase().replace(/^retries/, "retry"))?.[0] ??
                      "refuse");
  if (name === spelled) return undefined;
  const span = spanOf(file, start, start + 1 + name.length);
  return { title: `Write @${spelled}`, edits: [{ span, text: `@${spelled}` }] };
}

/** The tag, or the mistake in it. */
function tagOf(name: string, words: readonly string[], span: Span): Tag | string {
  switch (name) {
    case "readwrite":
      if (words.length !== 1) return "The tag @readwrite needs the name of one handler.";
      return { kind: "readwrite", handler: words[0]!, span };
    case "nearstorage":
    case "speculative":
    case "workflow":
    case "wrapping":
    case "private":
    case "audited":
      if (words.length !== 0) return `The tag @${name} has no arguments.`;
      return { kind: name, span };
    case "refuse": {
      if (words.length === 0) return "The tag @refuse needs the names of transformations.";
      const unknown = words.find((word) => word !== "all" && !TRANSFORMATIONS.some((known) => known === word));
      if (unknown !== undefined) return `The transformation ${unknown} does not exist.`;
      const transformations = TRANSFORMATIONS.filter((known) => words.includes(known) || words.includes("all"));
      return { kind: "refuse", transformations, span };
    }
    case "service": {
      const rules = readService(words);
      return typeof rules === "string" ? rules : { kind: name, rules, span };
    }
    case "retry": {
      const attempts = readRetry(words);
      return typeof attempts === "string" ? attempts : { kind: name, attempts, span };
    }
    case "limit": {
      const limit = readLimit(words);
      return typeof limit === "string" ? limit : { kind: name, limit, span };
    }
    case "cron":
    case "every": {
      const schedule = name === "cron" ? readCron(words) : readEvery(words);
      return typeof schedule === "string" ? schedule : { kind: name, schedule, span };
    }
    default:
      return `The tag @${name} does not exist.`;
  }
}

/** The name of the function whose declaration starts at a token; null if none does. */
function functionAt(tokens: readonly ScannedToken[], index: number): ScannedToken | null {
  let at = index;
  const word = (): string | undefined => tokens[at]?.text;
  for (;;) {
    if (word() === "@") at = behindDecorator(tokens, at);
    else if (word() === "export" || word() === "default" || word() === "declare") at++;
    else break;
  }
  if (word() !== "function") return null;
  const name = tokens[at + 1];
  return name?.kind === "name" ? name : null;
}

const MODIFIERS = new Set(["export", "public", "protected", "private", "static", "get", "set", "const", "let"]);

/** The name of the method, or of the constant with a function, whose declaration starts at a token; null if none does. */
function memberAt(tokens: readonly ScannedToken[], index: number): ScannedToken | null {
  let at = index;
  for (;;) {
    if (tokens[at]?.text === "@") at = behindDecorator(tokens, at);
    // A method may have the name of a modifier.
    else if (MODIFIERS.has(tokens[at]?.text ?? "") && tokens[at + 1]?.kind === "name") at++;
    else break;
  }
  const name = tokens[at];
  const next = tokens[at + 1]?.text;
  return name?.kind === "name" && (next === "(" || next === "<" || next === "=" || next === ":") ? name : null;
}

/** A function whose doc comment calls it a service. */
export interface TaggedService extends NamedPlace {
  readonly name: string;
  readonly rules: ServiceRules;
  readonly tag: Tag;
}

export function taggedServices({ functions }: Tags): readonly TaggedService[] {
  return functions.flatMap(({ file, name, span, tags }) =>
    tags.flatMap((tag) => (tag.kind === "service" ? [{ file, name, start: span.start, rules: tag.rules, tag }] : [])),
  );
}

/** Where the names of the functions begin whose integers wrap around. */
export function wrappingFunctions({ functions }: Tags): { readonly file: string; readonly start: number }[] {
  return functions
    .filter(({ tags }) => tags.some(({ kind }) => kind === "wrapping"))
    .map(({ file, span }) => ({ file, start: span.start }));
}

function behindDecorator(tokens: readonly ScannedToken[], start: number): number {
  let at = start + 2;
  if (tokens[at]?.text !== "(") return at;
  for (let depth = 0; at < tokens.length;) {
    const { text } = tokens[at++]!;
    if (text === "(") depth++;
    else if (text === ")" && --depth === 0) break;
  }
  return at;
}
