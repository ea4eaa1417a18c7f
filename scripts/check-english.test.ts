/** The check of English finds the mistakes that it is there for, and nothing in sentences that are right. */
import { describe, expect, test } from "vitest";
import { findingsOf, problemsOf } from "./check-english.mjs";

function found(file: string, text: string): readonly string[] {
  return findingsOf(file, text).map(({ line, words }) => `${line}: ${words}`);
}

const TWENTY_FIVE = `One ${"word ".repeat(23)}here.`;
const TWENTY_SIX = `One ${"word ".repeat(24)}here.`;

describe("Markdown", () => {
  test.each([
    ["a name that is no such thing", 'write "is not a", or "has no"', "A task is no promise."],
    ["an opening without a name", "begin with the name of the thing", "Whoever asks is answered."],
    ["a passive without an actor", "say who tells whom what", "A location is told of changes."],
    ["a sentence of 26 words", "it has 26 words; make sentences of at most 25", TWENTY_SIX],
  ])("%s", (_, words, text) => {
    expect(found("a.md", `# What\n\nA sentence.\n${text}`)).toEqual([`3: ${words}`]);
  });

  test("an item, a cell and a quotation are sentences of their own", () => {
    expect(
      found("a.md", `* ${TWENTY_FIVE}\n* ${TWENTY_FIVE}\n\n| ${TWENTY_FIVE} | ${TWENTY_SIX} |\n| --- | --- |\n`),
    ).toEqual(["4: it has 26 words; make sentences of at most 25"]);
  });

  test.each([
    ["a question", "What does it cost?"],
    ["code and quoted words", 'A message says "it is no file", and `is no file` too.'],
    ["a block of code", "```\nWhat is no sentence.\n```"],
    ["a link counts as its words", `[${"word ".repeat(10)}](https://example.com/a-b-c) ends here.`],
    ["a list of code", `${"`a_code`, ".repeat(26)}\`b\`.`],
    ["no longer", "A leader is no longer needed, and its version is no newer."],
    ["a thing that does not exist", "There is no record."],
    ["a cell with a list in parts", `| ${TWENTY_FIVE.slice(0, -1)}; ${TWENTY_FIVE} |`],
    ["a sentence that begins with a variable", `${TWENTY_FIVE} *f* ends here.`],
    ["a sentence of 25 words", TWENTY_FIVE],
  ])("nothing: %s", (_, text) => {
    expect(found("a.md", text)).toEqual([]);
  });
});

describe("comments", () => {
  test("are read with their lines joined, and have no openings that need the line above", () => {
    const source = `/** Of the same, a number. */\nexport const a = 1;\n// Else it\n// is no number.\nexport const b = "What is no comment.";\n`;
    expect(found("a.ts", `/** A text. */\n${source.replace("Of the same", "Of these")}`)).toEqual([
      "2: say it so that the line above is not needed",
      '4: write "is not a", or "has no"',
      "4: say it so that the line above is not needed",
    ]);
  });

  test("nothing: rulers, diagrams, directives and anchors of variants", () => {
    const source = `// ── What is here ${"─".repeat(101)}\n  // ── \`a?.b\` ${"─".repeat(105)}\n// oxlint-disable-next-line a -- what is no reason\n// variant: what-is-no-sentence\n/**\n * A picture:\n *\n *    what ─── is no ──→ sentence\n */\n`;
    expect(found("a.ts", source)).toEqual([]);
  });
});

describe("section rules", () => {
  const words = "write a section rule as `// ── Name ──`, with a capital, to column 120";

  test.each([
    ["of another sign", `// ${"-".repeat(110)} Names`],
    ["without a name", `// ${"─".repeat(117)}`],
    ["with a small letter", `// ── names ${"─".repeat(108)}`],
    ["that end earlier", `  // ── Names ${"─".repeat(105)}`],
  ])("%s", (_, line) => {
    expect(found("a.ts", `const a = 1;\n${line}\n`)).toEqual([`2: ${words}`]);
  });
});

describe("diagnostics", () => {
  const file = "packages/analyzer/src/check/forms.ts";

  test("their words are whole sentences, wherever they are made", () => {
    const source = [
      'const A = { message: "there is no JSON", help: "Use a record." };',
      "const B = { message: `the ${a} is wrong.`, help: isA ? `Write ${a}.` : 'write b' };",
      'const C = { help: (text: string) => "Who asks is answered.", message: "A task is no promise." };',
    ].join("\n");
    const form = "begin with a capital, and end with a full stop";
    expect(found(file, source)).toEqual([
      "3: begin with the name of the thing",
      '3: write "is not a", or "has no"',
      `1: ${form}`,
      `2: ${form}`,
      `2: ${form}`,
    ]);
  });

  test("nothing: other properties, other files, and sentences that begin or end with a computed part", () => {
    expect(found(file, "const a = { title: 'a', message: `${what} is wrong.`, help: `Write it: ${more}` };")).toEqual(
      [],
    );
    expect(found("packages/cli/src/a.ts", "const a = { message: 'a' };")).toEqual([]);
    expect(found("packages/analyzer/src/check/a.test.ts", "const a = { message: 'a' };")).toEqual([]);
  });
});

describe("the help of commands", () => {
  const file = "packages/cli/src/commands/keep.ts";

  test.each([
    ["an amount without its number", "name the number", "print at most so many items"],
    ["a way without its description", "say how", "only items whose keys begin so"],
    ["a time without its name", "name the time", "a write waits so long for a location"],
    ["an order without its giver", "say by whom, and how", "its tables stay unless told"],
    ["a pointer to another text", "name the thing", "go on where a list has ended, as that says"],
    ["a question in place of names", "name the things that are shown", "show how the primary does: rates, times"],
    ["a person without a name", "name the thing", "servers tell whoever asks them"],
    ["an opening without a name", "begin with the name of the thing", "What it does not name stays"],
    ["the sign of a sentence", "end a phrase without a full stop", "keep the items."],
  ])("of an option: %s", (_, words, text) => {
    expect(found(file, `const A = {\n  kind: "text", words: "${text}" };`)).toEqual([`2: ${words}`]);
  });

  test("of an exit code, an example, and a part that is chosen", () => {
    const source = [
      "export const command = {",
      "  exitCodes: ['it was done so', \"it failed\"],",
      '  examples: [["radical keep"], ["radical keep users", "what is told."]],',
      '  words: isA ? "keep so many items" : `keep ${names}`, options: {},',
      "};",
    ].join("\n");
    expect(found(file, source)).toEqual(["4: name the number", "2: say how", "3: end a phrase without a full stop"]);
  });

  test("its notes have sentences in paragraphs, and tables beside them", () => {
    const table = `  ${"word ".repeat(30)}`;
    const notes = (text: string): string => `const A = { notes: \`${text}\` };`;
    expect(found(file, notes(`It keeps items:\n${table}\n\n${TWENTY_FIVE}\n--all keeps every item.`))).toEqual([]);
    expect(found(file, notes(`It keeps items:\n${table}\n${TWENTY_SIX} Whoever asks gets them.`))).toEqual([
      "1: it has 26 words; make sentences of at most 25",
      "1: begin with the name of the thing",
      "1: name the thing",
    ]);
    expect(found(file, notes("it keeps items"))).toEqual(["1: begin with a capital, and end with a full stop"]);
    expect(found("packages/create-radical-app/src/main.ts", "const HELP = `Make it.\n\nit asks so often`;")).toEqual([
      "1: name the number",
      "1: begin with a capital, and end with a full stop",
    ]);
  });

  test("nothing: other words, other files, and phrases that are right", () => {
    const right = "print at most this number of items, so that they fit; - reads standard input (default: …)";
    expect(found(file, `const A = { kind: "text", words: "${right}" };`)).toEqual([]);
    expect(found(file, 'const A = { words: "so many" };')).toEqual([]);
    expect(found("packages/cli/src/commands/keep.test.ts", 'const A = { kind: "text", words: "so many" };')).toEqual(
      [],
    );
    expect(found("packages/bench/src/keep.ts", 'const A = { kind: "text", words: "so many" };')).toEqual([]);
  });
});

describe("errors", () => {
  const file = "packages/runtime/src/keep.ts";
  const form = "begin with a capital, and end with a full stop";

  test.each([
    ["of a command", 'new CommandError("a_code", "it failed", "Run it again.")'],
    ["of a location", 'new RadicalError("a_code", "It failed.", `send ${less}`, cause)'],
    ["as an answer", 'errorBody("a_code", `it failed: ${cause}.`, "Run it again.")'],
    ["as an object", 'give({ code: "a_code", message: "It failed", hint: "Run it again." })'],
    ["as a sum", 'new ScaffoldError("it failed: " + cause, HINT)'],
    ["of two", 'new CloudflareError(429, null, isA ? "It failed." : "too often", "Run it again.")'],
  ])("%s", (_, expression) => {
    expect(found(file, `\nthrow ${expression};`)).toEqual([`2: ${form}`]);
  });

  test("in a constant, in a class of errors, and through the functions that make them", () => {
    const source = [
      'const HINT = "run it again";',
      "class Busy extends RadicalError {",
      '  constructor(message: string) { super("busy", message, "try it later"); }',
      "}",
      "function wrong(text: string) { return inner(text); }",
      'function inner(text: string) { return new CommandError("usage", text, HINT); }',
      'throw wrong("the option is wrong");',
      'throw new Busy("too much at once");',
    ].join("\n");
    expect(found(file, source)).toEqual([`3: ${form}`, `1: ${form}`, `7: ${form}`, `8: ${form}`]);
  });

  test.each([
    ["of an argument", "protocol/src/keep.ts", 'new Problem("a_code", "a", "it is missing", `Add ${it}.`)'],
    ["of storage", "lvi-server/src/keep.ts", 'new StorageError("none", `${it} is corrupt`)'],
    ["of keys", "lvi-server/src/keep.ts", 'new KeysError("there is no key.")'],
    ["of a registry of images", "deploy/src/keep.ts", 'new RegistryError("it has no image", true)'],
    ["as the answer of a service", "runtime/src/keep.ts", '{ kind: "failed", code: "a_code", message: "it failed" }'],
    ["in the log of a server", "lvi-server/src/keep.ts", 'this.#log.warn("an_event", { reason: "it failed" })'],
    ["in the log of a location", "runtime/src/keep.ts", 'consoleLog({ event: "an_event", message: "it failed" })'],
    ["as a warning of a location", "runtime/src/keep.ts", 'warn("an_event", `${it} failed`)'],
  ])("%s", (_, name, expression) => {
    expect(found(`packages/${name}`, `\nthrow (${expression});`)).toEqual([`2: ${form}`]);
  });

  test("through methods and constants that are functions, also from within other functions", () => {
    const source = [
      "class Core {",
      "  #refuse(id: Id, message: string) { this.reply(() => ({ kind: 'refused', code: 'busy', message })); }",
      "  tell(reason: string) { this.#log.error('an_event', { reason }); }",
      '  step() { this.#refuse(id, "storage is away"); other.tell("no text"); this.tell("it ended"); }',
      "}",
      'const wrong = (words: string) => new CommandError("a_code", words, "Mend it.");',
      'throw wrong("it is wrong");',
    ].join("\n");
    expect(found(file, source)).toEqual([`4: ${form}`, `4: ${form}`, `7: ${form}`]);
  });

  test("are held to the words and the length of sentences", () => {
    const error = (text: string): string => `new CommandError("a", "${text}", "Run it again.")`;
    expect(found(file, error("The text is no number."))).toEqual(['1: write "is not a", or "has no"']);
    expect(found(file, error("What was fetched is another file."))).toEqual(["1: begin with the name of the thing"]);
    expect(found(file, error(TWENTY_SIX))).toEqual(["1: it has 26 words; make sentences of at most 25"]);
  });

  test("nothing: codes, commands at the end, computed parts, and errors of programs", () => {
    const right = [
      'new CommandError("a_code", `${name} failed: ${cause}`, "Install it: npm install wrangler")',
      'new CommandError("a_code", "--port names a port.", "wrangler shows it. radical dev takes any other one.")',
      'new CommandError("a_code", message, hint, { exitCode: 2 })',
      'context.addIssue({ code: "custom", message: "a list of names" })',
      'log.warn("shedding", { reason: "event_loop" })',
      'log.warn("an_event", { handler: "it failed" })',
      'new Error("the answer lacks a field")',
      'log("it", "is", "started")',
    ].join(";\n");
    expect(found(file, right)).toEqual([]);
    expect(found("packages/analyzer/src/testing/a.ts", 'new CommandError("a", "it failed", "so")')).toEqual([]);
  });
});

describe("the plan of a deployment", () => {
  const file = "packages/deploy/src/keep.ts";

  test.each([
    [
      "a change with the sign of a sentence",
      '{ kind: "make", what: `table ${name}.`, detail: "" }',
      "end a phrase without a full stop",
    ],
    ["a reason that names nothing", 'make({ what, detail: isA ? "whoever asks" : "new" })', "name the thing"],
    ["a title", '{ title: "Upload it.", half: "edge" }', "end a phrase without a full stop"],
    [
      "what stands after a failure",
      '{ ifFailed: "nothing was changed" }',
      "begin with a capital, and end with a full stop",
    ],
  ])("%s", (_, expression, words) => {
    expect(found(file, `const a = (${expression});`)).toEqual([`1: ${words}`]);
  });

  test("through the functions that make a change", () => {
    const make = 'const make = (what: string, detail: string): Change => ({ kind: "make", what, detail });';
    expect(found(file, `${make}\nmake("table users", "whoever asks");`)).toEqual(["2: name the thing"]);
  });

  test("nothing: phrases that are right, and other objects", () => {
    const right = '{ title: "KV namespace", half: "edge", ifFailed: "It is as before." }, { what: "a.", title: "b." }';
    expect(found(file, `const a = [${right}, { what: "table users", detail: "for its items; kept" }];`)).toEqual([]);
  });
});

describe("lines of radical dev", () => {
  const source = 'const a = [`built ${n} handlers.`, "whoever asks", `${a} is no file`, "event", "a.b", `no faults`];';

  test("are phrases, wherever they stand in their file", () => {
    expect(found("packages/cli/src/dev/dev-lines.ts", source)).toEqual([
      "1: name the thing",
      '1: write "is not a", or "has no"',
      "1: end a phrase without a full stop",
    ]);
    expect(found("packages/cli/src/dev/builder.ts", source)).toEqual([]);
  });
});

describe("debts of older files", () => {
  const finding = { line: 7, sentence: "What is.", words: "begin with the name of the thing" };

  test("may sink only, and a file without one is held", () => {
    expect(problemsOf([["new.md", [finding]]], {})).toEqual(["new.md:7: begin with the name of the thing: What is."]);
    expect(problemsOf([["old.md", [finding]]], { "old.md": 1 })).toEqual([]);
    expect(problemsOf([["old.md", [finding, finding]]], { "old.md": 1 })).toHaveLength(3);
  });

  test("are written down when they have sunk, or their file has gone", () => {
    expect(problemsOf([["old.md", [finding]]], { "old.md": 2 })).toEqual([
      expect.stringContaining("pnpm english --write"),
    ]);
    expect(problemsOf([], { "old.md": 2 })).toEqual([expect.stringContaining("does not exist")]);
  });
});
