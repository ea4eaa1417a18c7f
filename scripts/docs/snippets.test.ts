/** A test compiles or runs all code of the pages for users. */
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { resolveConfig } from "../../packages/app/src/config/config.ts";
import { radicalProgram } from "../../packages/cli/src/program.ts";
import { readProgramLine } from "../../packages/command-line/src/index.ts";
import { allPages, readPage } from "./pages.ts";
import { commandsOf, type Snippet, snippetsOf } from "./snippets.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Applications that tests build and call. `scripts/templates.test.ts` checks the types of their code. */
const TESTED = ["docs/examples/*", "templates/*", "packages/cli/e2e/fixtures/own-worker"];
/** Tests that applications of users could have. */
const TESTS = "packages/cli/e2e/*.e2e.test.ts";
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
  if (file !== null)
    return [...TESTED.map((folder) => `${folder}/**`), TESTS].some((glob) => path.matchesGlob(file, glob))
      ? "file"
      : null;
  // `packages/cli/e2e/vite.e2e.test.ts` follows the page.
  if (place.startsWith("how-to/vite.md:") && language === "ts") return "vite";
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
      if (first === "install") return rest.map(unpublished).find((reason) => reason !== null) ?? null;
      if (["create", "ci", "login"].includes(first)) return null;
      return script(scriptsOfApplication, first === "run" ? (rest[0] ?? "") : first);
    case "pnpm":
      return script(scriptsHere, first === "run" ? (rest[0] ?? "") : first);
    case "node":
      // A build makes what is in dist.
      return existsSync(path.join(ROOT, first.replace("/dist/", "/src/").replace(/\.js$/, ".ts"))) ? null : first;
    case "curl":
      return [first, ...rest].some((word) =>
        /^"?(?:http:\/\/)?localhost:8787\/(?:api\/[\w/]+|jobs|__radical\/(?:faults|build|time)|cdn-cgi\/handler\/scheduled\?\S+")$/.test(
          word,
        ),
      )
        ? null
        : "curl";
    default:
      return TOOLS.has(tool) ? null : tool;
  }
}

/** The reason why npm can't install it when the packages of this repository are published, or null. */
function unpublished(word: string): string | null {
  const [, name] = /^(@radical\/[\w-]+)(?:@latest)?$/.exec(word) ?? [];
  if (name !== undefined) return PUBLISHED.has(name) ? null : `there is no package "${name}"`;
  return word.startsWith("--") || OTHERS.has(word) ? null : `nobody knows the package "${word}"`;
}

const PUBLISHED = new Set(
  globSync("packages/*/package.json", { cwd: ROOT }).flatMap((file) => {
    const { name, private: isPrivate } = JSON.parse(readFileSync(path.join(ROOT, file), "utf8")) as {
      readonly name: string;
      readonly private?: boolean;
    };
    return isPrivate === true ? [] : [name];
  }),
);
/** Packages of others that the pages install. */
const OTHERS = new Set(["vite"]);

/** Programs of the machine that the pages use. */
const TOOLS = new Set(["cd", "rm", "wait", "echo", "openssl", "sudo", "printf", "docker", "skopeo", "code", "aws"]);

test("all code is compiled or run", () => {
  expect(snippets.length).toBeGreaterThan(80);
  expect(snippets.filter((snippet) => coverOf(snippet) === null).map(({ place }) => place)).toEqual([]);
});

test("each command of the pages is there, with its options", () => {
  const commands = snippets.filter(({ language }) => language === "sh");
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
    "# A\n\n```sh\nx\n```\n\n```ts\ny\n```\n\n<!-- from: code a/b.ts#c -->\n\n```ts\nz\n```\n\n<!-- end -->\n\n```text\nno\n```\n";

  test("finds code with its file", () => {
    expect(snippetsOf("a.md", page)).toEqual([
      { place: "a.md:3", language: "sh", text: "x\n", file: null },
      { place: "a.md:7", language: "ts", text: "y\n", file: null },
      { place: "a.md:13", language: "ts", text: "z\n", file: "a/b.ts" },
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
    "npm install --save-dev @radical/depoly",
    "npm install @radical/lvi-servre@latest",
    "npm install viet",
    "pnpm bench:nothing",
    "node scripts/nothing.mjs",
    "curl localhost:8787/nothing",
    "frobnicate",
  ])("finds that %s is not there", (command) => {
    expect(commandsOf(command).map((words) => problemOf(words))).not.toContain(null);
  });

  test("takes code for tested only where a test reaches it", () => {
    const of = (language: string, text: string, file: string | null = null): string | null =>
      coverOf({ place: "", language, text, file });
    expect(of("ts", "const client = createClient();\n")).toBeNull();
    expect(of("ts", "x", "packages/cli/src/main.ts")).toBeNull();
    expect(of("ts", "x", "packages/cli/e2e/terminal.ts")).toBeNull();
    expect(of("ts", "x", "docs/examples/tickets/src/jobs.ts")).toBe("file");
    expect(of("ts", "x", "packages/cli/e2e/advance.e2e.test.ts")).toBe("file");
    expect(of("ts", 'cache: { kind: "kv" }\n')).toBe("configuration");
  });
});
