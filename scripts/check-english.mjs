/**
 * The rule for English of CONTRIBUTING.md, as far as a program can see it: words, openings and the length of a sentence,
 * in Markdown, in the comments of sources, and in the texts that people see (`check-english-shown.mjs`). Section rules in sources
 * have one form.
 *
 * Every file is held to the rule, but those of `english-debts.json`, which are older: there each has the number of its
 * findings, which may only sink. `pnpm english --write` writes the numbers that are true now.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";
import { shownTextsOf } from "./check-english-shown.mjs";

/** @typedef {import("./check-english-shown.mjs").ShownText} ShownText */

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const DEBTS = "scripts/english-debts.json";

/** Most words of a sentence. An item of a list is a sentence of its own. A cell of a table is one too, and a semicolon ends it there. */
const MOST_WORDS = 25;

/** Texts that are not ours, or that code writes, or that show what is wrong. */
const LEFT_OUT =
  /(^|\/)(node_modules|dist|golden|fixtures|\.toolchain)\/|^benchmarks\/|^docs\/pictures\/|CHANGELOG|LICENSE|check-english|^packages\/sdk\/editor\//;

/**
 * @typedef {object} Passage
 * @property {number} line 1-based, of its first line
 * @property {string} text one paragraph, item or cell
 * @property {boolean} isComment
 */

/**
 * @typedef {object} Finding
 * @property {number} line
 * @property {string} sentence
 * @property {string} words what is wrong, and what to write
 */

/** @type {readonly { readonly pattern: RegExp, readonly words: string, readonly onlyComments?: true }[]} */
const RULES = [
  {
    pattern:
      /(?<!\bthere )\b(is|are|was|were|be) no (?!longer\b|more\b|later\b|less\b|other\b|newer\b|older\b|earlier\b|greater\b|larger\b|smaller\b|better\b)/i,
    words: 'write "is not a", or "has no"',
  },
  { pattern: /\bfor ever\b/i, words: 'write "forever"' },
  { pattern: /\bin the midst\b/i, words: 'write "in the middle"' },
  { pattern: /\bsuch as (is|are)\b/i, words: "name the thing" },
  { pattern: /\b(is|are|was|were|be|being|been) told of\b/i, words: "say who tells whom what" },
  { pattern: /\bin vain\b/i, words: 'write "without effect"' },
  { pattern: /\bat the most\b/i, words: 'write "at most"' },
  { pattern: /\bso it is with\b/i, words: "say it of the thing by its name" },
  { pattern: /\bwhat (it|there) is\b[.:]?$/i, words: "name the thing" },
  {
    pattern: /^(What|Who|Whoever|Whatever|Whose|Whom|Whichever)\b(?!.*\?$)/,
    words: "begin with the name of the thing",
  },
  {
    pattern: /^(Of (what|which|whom|these|those|it|them)|The same[,.]?( for| of|$)|Else\b)/,
    words: "say it so that the line above is not needed",
    onlyComments: true,
  },
];

/** The number of words. A list of code counts as one. @param {string} sentence */
function wordsOf(sentence) {
  return sentence
    .replaceAll(/`[^`]*`(?:, `[^`]*`)*/g, "code")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** @param {string} text @returns {string[]} */
function sentencesOf(text) {
  const plain = text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\{@link ([^}]*)\}/g, "$1")
    .replaceAll(/https?:\/\/\S+/g, "link")
    .replaceAll(/\*\*|__/g, "")
    .replaceAll(/<[^>\s][^>]*>/g, " ");
  return plain
    .split(/(?<=[.!?][)"”`*_]*)\s+(?=[("“`*_]*(?:[\p{Lu}\p{N}`]|(?<=\*)\p{L}))/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}

/** The sentence with a word in place of code and of quotations. @param {string} sentence */
function visibleOf(sentence) {
  return sentence.replaceAll(/`[^`]*`/g, "code").replaceAll(/["“][^"”]*["”]/g, "words");
}

/** @param {Passage} passage @returns {Finding[]} */
function findingsIn({ line, text, isComment }) {
  /** @type {Finding[]} */
  const found = [];
  for (const sentence of sentencesOf(text)) {
    const visible = visibleOf(sentence);
    for (const { pattern, words, onlyComments } of RULES) {
      if ((onlyComments === undefined || isComment) && pattern.test(visible)) found.push({ line, sentence, words });
    }
    const length = wordsOf(sentence);
    if (length > MOST_WORDS)
      found.push({ line, sentence, words: `it has ${length} words; make sentences of at most ${MOST_WORDS}` });
  }
  return found;
}

/**
 * Paragraphs, items and cells of Markdown; without code, headings and parts that are made from the code.
 * @param {string} text @param {number} [first] @param {boolean} [isComment] @returns {Passage[]}
 */
function passagesOf(text, first = 1, isComment = false) {
  /** @type {Passage[]} */
  const passages = [];
  /** @type {{ line: number, lines: string[] } | null} */
  let open = null;
  const close = () => {
    if (open !== null) passages.push({ line: open.line, text: open.lines.join(" "), isComment });
    open = null;
  };
  let isCode = false;
  let isMade = false;
  for (const [index, whole] of text.split("\n").entries()) {
    const line = whole.trim();
    const at = first + index;
    if (/^(```|~~~)/.test(line)) {
      isCode = !isCode;
      close();
    } else if (/^<!-- (begin|made)\b/i.test(line)) {
      isMade = true;
      close();
    } else if (/^<!-- end\b/i.test(line)) isMade = false;
    else if (
      isCode ||
      isMade ||
      line === "" ||
      /^(#|<!--|---|\|?\s*:?-+:?\s*\|)/.test(line) ||
      isDrawing(whole, isComment)
    )
      close();
    else if (line.startsWith("|")) {
      close();
      for (const cell of line.split(/(?<!\\)\|/))
        for (const part of cell.split(/;(?=\s)/))
          if (part.trim() !== "") passages.push({ line: at, text: part.trim(), isComment });
    } else {
      const item = /^([-*+]|\d+\.|>|:::\s*\w*)\s+/.exec(line);
      if (item !== null) close();
      if (line.startsWith(":::")) continue;
      open ??= { line: at, lines: [] };
      open.lines.push(item === null ? line : line.slice(item[0].length));
    }
  }
  close();
  return passages;
}

/** A diagram, a table by columns or an example within a comment. @param {string} line @param {boolean} isComment */
function isDrawing(line, isComment) {
  return isComment && (/^ {3}/.test(line) || /[─│┬├└┌┐┘▶]/.test(line) || line.trim().startsWith("@"));
}

/** Neighbouring line comments are one. @param {string} file @param {string} source @returns {Passage[]} */
function commentsOf(file, source) {
  const { comments } = parseSync(file, source, { sourceType: "module" });
  /** @param {number} offset */
  const lineAt = (offset) => source.slice(0, offset).split("\n").length;
  /** @type {{ line: number, last: number, text: string }[]} */
  const merged = [];
  for (const { type, value, start, end } of comments) {
    const line = lineAt(start);
    const isWhole = /^\s*$/.test(source.slice(source.lastIndexOf("\n", start - 1) + 1, start));
    const before = merged.at(-1);
    if (type === "Line") {
      if (/^\s*(oxlint|eslint|variant:|@ts-|prettier|oxfmt|[─-]{2})/.test(value) || /[─]{3}/.test(value)) continue;
      if (before !== undefined && isWhole && before.last === line - 1 && before.text.startsWith("//")) {
        before.text += `\n${value.replace(/^ /, "")}`;
        before.last = line;
      } else merged.push({ line, last: isWhole ? line : -1, text: `//${value}` });
    } else {
      const text = value.replace(/^\*/, "").replaceAll(/\n\s*\* ?/g, "\n");
      merged.push({ line, last: lineAt(end), text });
    }
  }
  return merged.flatMap(({ line, text }) => passagesOf(text.replace(/^\/\/ ?/, ""), line, true));
}

/**
 * Rules for the texts of commands alone. A reader sees such a text by itself.
 * @type {typeof RULES}
 */
const SHOWN_RULES = [
  { pattern: /\bso (many|much|few|often)\b(?! (that|as))/i, words: "name the number" },
  { pattern: /\bso long\b(?! (that|as))/i, words: "name the time" },
  {
    pattern: /\b(begins?|ends?|does|do|is|are|was|were|goes|stays?|asked|told|done) so\b(?=\s*([,;:.)]|$))/i,
    words: "say how",
  },
  { pattern: /\b(unless|until|if|when|as) (told|asked|said)\b/i, words: "say by whom, and how" },
  { pattern: /\bas (that|it) says\b/i, words: "name the thing" },
  { pattern: /\bhow (the )?[\w-]+ (does|do|fares)\b/i, words: "name the things that are shown" },
  { pattern: /\b(whoever|whatever|whose key|whose script)\b/i, words: "name the thing" },
];

/** Commands and addresses stand as they are typed, so a sentence may begin with their small letters. */
const COMMAND_WORDS = "radical|create-radical-app|wrangler|cloudflared|esbuild|docs\\/|--";

/**
 * The passages of a text that people see. Lines with two spaces before them are a table or a list.
 * @param {ShownText} shown @returns {Passage[]}
 */
function shownPassages({ line, text }) {
  const paragraphs = text
    .split("\n")
    .map((each) => (/^ {2}/.test(each) ? "" : each.trim()))
    .join("\n")
    .split(/\n{2,}/);
  return paragraphs
    .flatMap((paragraph) => paragraph.replaceAll("\n", " ").split(new RegExp(`(?<=[.?]) (?=(?:${COMMAND_WORDS}))`)))
    .filter((each) => each.trim() !== "")
    .map((each) => ({ line, text: each, isComment: false }));
}

/** @param {ShownText} shown @returns {Finding[]} */
function shownFindings(shown) {
  const passages = shown.form === "phrase" ? phrasesOf(shown) : shownPassages(shown);
  const own = passages.flatMap(({ line, text }) =>
    sentencesOf(text).flatMap((sentence) => {
      const visible = visibleOf(sentence);
      return SHOWN_RULES.filter(({ pattern }) => pattern.test(visible)).map(({ words }) => ({ line, sentence, words }));
    }),
  );
  return [...passages.flatMap(findingsIn), ...own];
}

/** A semicolon divides a phrase. @param {ShownText} shown @returns {Passage[]} */
function phrasesOf({ line, text }) {
  return text.split(/;(?=\s)/).map((part) => ({ line, text: part.trim(), isComment: false }));
}

/** @param {ShownText} shown @returns {Finding[]} */
function formOf({ line, text, form }) {
  const visible = text.trim();
  if (form === "phrase")
    return /[^.]\.$/.test(visible) ? [{ line, sentence: text, words: "end a phrase without a full stop" }] : [];
  const words = "begin with a capital, and end with a full stop";
  if (form === "diagnostic")
    return /^[\p{Lu}`…]/u.test(visible) && /[.…]$/.test(visible) ? [] : [{ line, sentence: text, words }];
  const begins = new RegExp(`^(?:[\\p{Lu}\\d\`"“@…]|(?:${COMMAND_WORDS}))`, "u").test(visible);
  // A command at the end has no full stop, so that it can be copied.
  const ends = /[.?…)]$/.test(visible) || COMMAND_AT_END.test(visible) || isTable(visible);
  return begins && ends ? [] : [{ line, sentence: text, words }];
}

/** `: npm install wrangler`, `: --whole`, or the JSON to send. */
const COMMAND_AT_END = /: (?:npm|npx|pnpm|radical|wrangler|[A-Z_]+=|--\w)(?:(?!\. ).)*$|\}$/;

/** The text ends with a line of a table. @param {string} text */
function isTable(text) {
  return /^ {2}/.test(text.split("\n").at(-1) ?? "");
}

/** Columns of a section rule with its indentation. */
const RULE_WIDTH = 120;

/**
 * Lines that divide a source into sections. All have one form: `// ── Name ──…`, up to the same column.
 * @param {string} text @returns {Finding[]}
 */
function rulesOf(text) {
  return text.split("\n").flatMap((line, index) => {
    if (!/^\s*\/\/\s*([-=*~_─━═])\1/u.test(line)) return [];
    if (/^\s*\/\/ ── [\p{Lu}\d`].* ─{2,}$/u.test(line) && Array.from(line).length === RULE_WIDTH) return [];
    const words = `write a section rule as \`// ── Name ──\`, with a capital, to column ${RULE_WIDTH}`;
    return [{ line: index + 1, sentence: line.trim(), words }];
  });
}

/** @param {string} file @param {string} text @returns {Finding[]} */
export function findingsOf(file, text) {
  const passages = file.endsWith(".md") ? passagesOf(text) : commentsOf(file, text);
  const shown = file.endsWith(".ts") ? shownTextsOf(file, text) : [];
  const rules = file.endsWith(".md") ? [] : rulesOf(text);
  return [
    ...passages.flatMap((passage) => findingsIn(passage)),
    ...shown.flatMap(shownFindings),
    ...shown.flatMap(formOf),
    ...rules,
  ];
}

/**
 * @param {readonly (readonly [file: string, findings: readonly Finding[]])[]} checked
 * @param {Readonly<Record<string, number>>} debts
 * @returns {string[]} what is wrong
 */
export function problemsOf(checked, debts) {
  const problems = [];
  for (const [file, findings] of checked) {
    const debt = debts[file] ?? 0;
    if (findings.length > debt) {
      if (debt > 0)
        problems.push(
          `${file}: ${findings.length} findings, and there were ${debt}. Mend those of your change; all are:`,
        );
      for (const { line, sentence, words } of findings) problems.push(`${file}:${line}: ${words}: ${sentence}`);
    } else if (findings.length < debt)
      problems.push(
        `${file}: ${findings.length} findings, and ${DEBTS} has ${debt}. Keep what you mended: pnpm english --write`,
      );
  }
  const files = new Set(checked.map(([file]) => file));
  for (const file of Object.keys(debts))
    if (!files.has(file)) problems.push(`${file} is in ${DEBTS} and does not exist: pnpm english --write`);
  return problems;
}

/** @returns {string[]} */
function filesOf() {
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.ts", "*.mjs"],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  return listed.split("\n").filter((file) => file !== "" && !LEFT_OUT.test(file) && !file.endsWith(".d.ts"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  /** @type {[string, Finding[]][]} */
  const checked = [];
  for (const file of filesOf()) {
    try {
      checked.push([file, findingsOf(file, readFileSync(path.join(ROOT, file), "utf8"))]);
    } catch (error) {
      // A file that is deleted and still known to git.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT") throw error;
    }
  }
  if (process.argv[2] === "--write") {
    const debts = Object.fromEntries(
      checked.filter(([, { length }]) => length > 0).map(([file, { length }]) => [file, length]),
    );
    writeFileSync(path.join(ROOT, DEBTS), `${JSON.stringify(debts, null, 2)}\n`);
  } else if (process.argv[2] !== undefined) {
    for (const [file, findings] of checked)
      if (file.startsWith(process.argv[2]))
        for (const { line, sentence, words } of findings) console.log(`${file}:${line}: ${words}: ${sentence}`);
  } else {
    const debts = /** @type {Record<string, number>} */ (JSON.parse(readFileSync(path.join(ROOT, DEBTS), "utf8")));
    const problems = problemsOf(checked, debts);
    for (const problem of problems) console.error(problem);
    process.exitCode = problems.length > 0 ? 1 : 0;
  }
}
