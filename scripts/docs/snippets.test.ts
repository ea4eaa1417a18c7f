/** All code of the pages for users is compiled or run by a test, or the page gives the reason why not. */
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { resolveConfig } from "../../packages/app/src/config/config.ts";
import { radicalProgram } from "../../packages/cli/src/program.ts";
import { readProgramLine } from "../../packages/command-line/src/index.ts";
import { allPages, readPage } from "./pages.ts";
import { commandsOf, type Snippet, snippetsOf } from "./snippets.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Applications that tests build and call. */
const TESTED = ["docs/examples/*", "templates/*", "packages/cli/e2e/fixtures/own-worker"];
/** Pages about Radical itself. */
const NOT_FOR_USERS = /^(?:internals|decisions|diagnostics)\/|^evaluation\.md$/;

const snippets = allPages()
  .filter((page) => !NOT_FOR_USERS.test(page))
  .flatMap((page) => snippetsOf(page, readPage(page)));

const testedFiles = TESTED.flatMap((folder) =>
  globSync(`${folder}/{*.ts,{handlers,src,tests}/**/*.ts}`, { cwd: ROOT }),
).map((file) => readFileSync(path.join(ROOT, file), "utf8"));

const scriptsOf = (folder: string): Readonly<Record<string, string>> =>
  (JSON.parse(readFileSync(path.join(ROOT, folder, "package.json"), "utf8")) as { scripts: Record<string, string> })
    .scripts;
const scriptsHere = scriptsOf(".");
const scriptsOfApplication = scriptsOf("templates/minimal");

/** How a test reaches the code, or null. */
function coverOf({ place, language, text, file }: Snippet): string | null {
  // `packages/analyzer/src/sdk-examples.test.ts` builds each with the rest of a program.
  if (place.startsWith("sdk.md:")) return "examples";
  if (file !== null) return TESTED.some((folder) => path.matchesGlob(file, `${folder}/**`)) ? "file" : null;
  if (language === "sh") return "commands";
  if (testedFiles.some((code) => code.includes(text))) return "file";
  // `packages/analyzer/src/documents.test.ts` builds these.
  if (language === "ts" && /from "@radical\/sdk"|^export function /m.test(text)) return "handlers";
  return configOf(text) === null ? null : "configuration";
}

/** The source of a configuration: a whole one, or fields of one. */
function configOf(text: string): string | null {
  if (/^import \{ defineConfig \} from "@radical\/cli";$/m.test(text)) return text.replace(/^import .*$/m, "");
  if (/^(?:\/\/ .*\n)?export default defineConfig\(/.test(text)) return text;
  return /^(?:cache|deploy|assets|limits|dev): \{/.test(text) ? `export default { name: "app", ${text} };` : null;
}

/** The reason why a command can't be run as it stands, or null. */
function problemOf([tool = "", first = "", ...rest]: readonly string[]): string | null {
  const radical = (words: readonly string[]): string | null =>
    readProgramLine(radicalProgram(), [...words]).kind === "run" || words.includes("--help")
      ? null
      : `radical ${words.join(" ")}`;
  const script = (scripts: Readonly<Record<string, string>>, name: string): string | null =>
    name in scripts ? null : `there is no script "${name}"`;
  switch (tool) {
    case "radical":
      return radical([first, ...rest]);
    case "npx":
      return first === "radical"
        ? radical(rest)
        : ["wrangler", "vite", "radical-lvi-server"].includes(first)
          ? null
          : first;
    case "npm":
      if (["create", "install", "ci", "login"].includes(first)) return null;
      return script(scriptsOfApplication, first === "run" ? (rest[0] ?? "") : first);
    case "pnpm":
      return script(scriptsHere, first === "run" ? (rest[0] ?? "") : first);
    case "node":
      // A build makes what is in dist.
      return existsSync(path.join(ROOT, first.replace("/dist/", "/src/").replace(/\.js$/, ".ts"))) ? null : first;
    case "curl":
      return [first, ...rest].some((word) =>
        /^"?(?:http:\/\/)?localhost:8787\/(?:api\/[\w/]+|__radical\/(?:faults|build|time)|cdn-cgi\/handler\/scheduled\?\S+")$/.test(
          word,
        ),
      )
        ? null
        : "curl";
    default:
      return TOOLS.has(tool) ? null : tool;
  }
}

/** Programs of the machine that the pages use. */
const TOOLS = new Set(["cd", "rm", "wait", "echo", "openssl", "sudo", "printf", "docker", "code", "aws"]);

test("all code is compiled or run, or the page says why not", () => {
  expect(snippets.length).toBeGreaterThan(80);
  const open = snippets.filter((snippet) => snippet.reason === null && coverOf(snippet) === null);
  expect(open.map(({ place }) => place)).toEqual([]);
  // A reason where none is needed would hide code that stops being tested.
  const needless = snippets.filter(
    (snippet) => snippet.reason !== null && snippet.language !== "sh" && coverOf(snippet) !== null,
  );
  expect(needless.map(({ place }) => place)).toEqual([]);
});

test("each command of the pages is there, with its options", () => {
  const commands = snippets.filter(({ language, reason }) => language === "sh" && reason === null);
  const problems = commands.flatMap(({ place, text }) =>
    commandsOf(text).flatMap((words) => {
      const problem = problemOf(words);
      return problem === null ? [] : [`${place}: ${problem}`];
    }),
  );
  expect(problems).toEqual([]);
});

test("each configuration of the pages is one", async () => {
  const configs = snippets.flatMap((snippet) => {
    const source = coverOf(snippet) === "configuration" ? configOf(snippet.text) : null;
    return source === null ? [] : [source];
  });
  expect(configs.length).toBeGreaterThan(3);
  for (const source of configs) {
    const code = `const defineConfig = (config) => config;\n${source}`;
    const { default: config } = (await import(
      /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`
    )) as {
      readonly default: unknown;
    };
    expect(resolveConfig(config, "radical.config.ts").name).not.toBe("");
  }
});

describe("the check", () => {
  const page =
    "# A\n\n<!-- not run: why -->\n\n```sh\nx\n```\n\n```ts\ny\n```\n\n<!-- from: code a/b.ts#c -->\n\n```ts\nz\n```\n\n<!-- end -->\n\n```text\nno\n```\n";

  test("finds code with its file and its reason, which counts for one piece", () => {
    expect(snippetsOf("a.md", page)).toEqual([
      { place: "a.md:5", language: "sh", text: "x\n", file: null, reason: "why" },
      { place: "a.md:9", language: "ts", text: "y\n", file: null, reason: null },
      { place: "a.md:15", language: "ts", text: "z\n", file: "a/b.ts", reason: null },
    ]);
  });

  test("reads commands", () => {
    expect(commandsOf("A=1 npx radical dev # here\nx 'a b' | y && z\n# all\n")).toEqual([
      ["npx", "radical", "dev"],
      ["x", "'a b'"],
      ["y"],
      ["z"],
    ]);
  });

  test.each([
    "npx radical depoly",
    "npx radical build --jsn",
    "npm run chekc",
    "pnpm bench:nothing",
    "node scripts/nothing.mjs",
    "curl localhost:8787/nothing",
    "frobnicate",
  ])("finds that %s is not there", (command) => {
    expect(commandsOf(command).map((words) => problemOf(words))).not.toContain(null);
  });

  test("takes code for tested only where a test reaches it", () => {
    const of = (language: string, text: string, file: string | null = null): string | null =>
      coverOf({ place: "", language, text, file, reason: null });
    expect(of("ts", "const client = createClient();\n")).toBeNull();
    expect(of("ts", "x", "packages/cli/src/main.ts")).toBeNull();
    expect(of("ts", "x", "docs/examples/tickets/src/jobs.ts")).toBe("file");
    expect(of("ts", 'cache: { kind: "kv" }\n')).toBe("configuration");
  });
});
