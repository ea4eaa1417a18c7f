/**
 * The parts of the test suite that the short tier leaves out or draws from. `npm test` draws by the hash of the commit.
 * It has the whole part when something that the part depends on has changed.
 *
 * *Changed* means: other than the last commit that this clone shares with its upstream, in a commit since, in the
 * working tree, or new. A clone without an upstream has no such commit, and everything runs. The full tier always has
 * all there is, so a dependency that nobody noted here is missed for as long as CI takes.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import path from "node:path";
import { drawn, type ShortTier } from "../packages/command-line/src/short-tier.ts";

export type Part =
  /** Test files that run only when their inputs have changed. */
  | {
      readonly kind: "files";
      readonly name: string;
      readonly files: readonly string[];
      readonly inputs: readonly string[];
    }
  /** Test files of which one is drawn. */
  | {
      readonly kind: "one-of";
      readonly name: string;
      readonly files: readonly string[];
      readonly inputs: readonly string[];
    }
  /** Cases inside of a test file, which draws some of them by the name of the part. */
  | { readonly kind: "cases"; readonly name: string; readonly file: string; readonly inputs: readonly string[] };

const ANALYZER = ["packages/{analyzer,sdk,wasm-host,protocol,variants}/{src,assembly,e2e}/**"];
const DEPLOYMENT = [
  "packages/{deploy,app,admin}/src/**",
  "packages/cli/src/commands/**",
  "packages/cli/e2e/{cloudflare,primary}/**",
];
const STORAGE = [
  "packages/lvi-server/src/{storage,core}/**",
  "packages/lvi-server/src/*.ts",
  "packages/lvi-server/e2e/**",
];
const CORES = [
  "packages/*/src/core/**",
  "packages/{simulation,history,variants,protocol}/src/**",
  "packages/{lvi-server,runtime}/src/*.ts",
];

/** Paths are globs from the root of the repository. A part's own test files are inputs of it, and need no mention. */
export const PARTS: readonly Part[] = [
  {
    kind: "files",
    name: "deployment at Cloudflare",
    files: ["packages/cli/e2e/deploy.e2e.test.ts"],
    inputs: [...DEPLOYMENT, "packages/cli/src/operate/**", "packages/runtime/src/**"],
  },
  {
    kind: "files",
    name: "deployment at AWS",
    files: ["packages/cli/e2e/deploy-aws.e2e.test.ts", "packages/cli/e2e/primary/*.e2e.test.ts"],
    inputs: [
      ...DEPLOYMENT,
      "packages/cli/src/operate/**",
      "packages/lvi-server/src/{storage/dynamo/**,options.ts,main.ts}",
    ],
  },
  {
    kind: "files",
    name: "bindings in radical dev",
    files: ["packages/cli/e2e/bindings.e2e.test.ts"],
    inputs: [
      "packages/{app,local}/src/**",
      "packages/cli/src/dev/**",
      "packages/cli/src/testing.ts",
      "packages/runtime/src/worker.ts",
    ],
  },
  {
    kind: "files",
    name: "packed packages",
    files: ["scripts/e2e/packed-app.e2e.test.ts"],
    inputs: [
      "packages/*/package.json",
      "packages/*/scripts/**",
      "packages/create-radical-app/**",
      "packages/sdk/**",
      "packages/cli/src/{commands,dev,lsp,terminal}/**",
      "packages/{app,local}/src/**",
      "packages/vscode/src/**",
      "scripts/{pack,packed-app,registry,dev-process,copy-templates,copy-diagnostics}.ts",
      "templates/**",
      "docs/{quickstart,deploy,how-to/upgrade}.md",
    ],
  },
  {
    kind: "files",
    name: "the release before",
    files: ["packages/cli/e2e/releases/*.e2e.test.ts"],
    inputs: [
      "packages/cli/e2e/releases/**",
      "packages/{protocol,wasm-host}/src/**",
      "packages/{lvi-server,runtime}/src/http/**",
      "packages/lvi-server/src/storage/**",
    ],
  },
  {
    kind: "files",
    name: "DynamoDB",
    files: ["packages/lvi-server/e2e/dynamodb/*.e2e.test.ts"],
    inputs: ["packages/lvi-server/src/{storage,core}/**", "packages/lvi-server/e2e/**"],
  },
  {
    kind: "files",
    name: "benchmarks",
    files: ["packages/cli/e2e/bench.e2e.test.ts", "packages/lvi-server/e2e/bench/bench.e2e.test.ts"],
    inputs: [
      "packages/{bench,local}/src/**",
      "packages/cli/e2e/bench/**",
      "packages/lvi-server/e2e/bench/**",
      "docs/examples/booking/**",
    ],
  },
  {
    kind: "files",
    name: "lines of handlers",
    files: ["packages/cli/e2e/log.e2e.test.ts"],
    inputs: [
      "packages/cli/src/{dev,operate,replay,terminal}/**",
      "packages/local/src/**",
      "packages/{runtime,lvi-server,wasm-host}/src/*.ts",
      "packages/sdk/assembly/**",
    ],
  },
  {
    kind: "files",
    name: "rewriting of tables",
    files: ["packages/cli/e2e/rewrite.e2e.test.ts", "packages/cli/e2e/rewrite-storages.e2e.test.ts"],
    inputs: [
      "packages/cli/src/data/**",
      "packages/app/src/data/**",
      "packages/analyzer/src/{codegen,modules}/**",
      "packages/lvi-server/src/{core,execution}/**",
      "packages/sdk/assembly/**",
    ],
  },
  {
    kind: "files",
    name: "checks of indexes",
    files: ["packages/cli/e2e/data-check.e2e.test.ts"],
    inputs: [
      "packages/cli/src/data/**",
      "packages/admin/src/**",
      "packages/app/src/data/**",
      "packages/lvi-server/src/{core,storage}/**",
      "packages/protocol/src/index-entry.ts",
      "packages/sdk/assembly/check.ts",
    ],
  },
  {
    kind: "files",
    name: "live queries of real processes",
    files: ["packages/cli/e2e/live.e2e.test.ts"],
    inputs: [
      "packages/cli/e2e/live/**",
      "packages/cli/src/dev/**",
      "packages/{app,local}/src/**",
      "packages/{runtime,lvi-server}/src/**",
    ],
  },
  {
    kind: "files",
    name: "the analyzer at length",
    files: [
      "packages/analyzer/e2e/differential.e2e.test.ts",
      "packages/analyzer/src/parse/syntax-trees.test.ts",
      "packages/analyzer/src/slice/unions.test.ts",
      "packages/analyzer/src/arithmetic.test.ts",
      "packages/analyzer/src/check/forms.test.ts",
      "packages/analyzer/src/diagnostics/pages.test.ts",
    ],
    inputs: [...ANALYZER, "docs/diagnostics/**"],
  },
  {
    kind: "one-of",
    name: "random programs",
    files: ["packages/analyzer/src/testing/random-programs-*.test.ts"],
    inputs: ANALYZER,
  },
  { kind: "one-of", name: "templates", files: ["templates/*/tests/*.test.ts"], inputs: ["templates/**"] },
  {
    kind: "cases",
    name: "pages of the templates",
    file: "scripts/e2e/pages.e2e.test.ts",
    inputs: ["templates/**", "packages/app/src/build/**"],
  },
  {
    kind: "cases",
    name: "rules of the analyzer",
    file: "packages/analyzer/src/testing/mutation.test.ts",
    inputs: ANALYZER,
  },
  {
    kind: "cases",
    name: "the simulation",
    file: "packages/simulation/src/simulation.test.ts",
    inputs: CORES,
  },
  {
    kind: "cases",
    name: "failpoints",
    file: "packages/cli/e2e/crash/crash.e2e.test.ts",
    inputs: ["packages/cli/e2e/crash/**"],
  },
  {
    kind: "cases",
    name: "outages",
    file: "packages/cli/e2e/crash/outages.e2e.test.ts",
    inputs: ["packages/cli/e2e/crash/**"],
  },
  {
    kind: "cases",
    name: "garbled bytes",
    file: "packages/cli/e2e/crash/garbled.e2e.test.ts",
    inputs: ["packages/cli/e2e/crash/**", "packages/protocol/src/messages/**"],
  },
  {
    kind: "cases",
    name: "charges and refunds",
    file: "packages/cli/e2e/crash/checkout.e2e.test.ts",
    inputs: ["packages/cli/e2e/crash/**", "packages/cli/e2e/fixtures/checkout/**"],
  },
  {
    kind: "files",
    name: "held leases",
    files: ["packages/cli/e2e/held-leases.e2e.test.ts"],
    inputs: [...STORAGE, "packages/runtime/src/core/**"],
  },
  { kind: "cases", name: "server processes", file: "packages/lvi-server/e2e/process.e2e.test.ts", inputs: STORAGE },
  {
    kind: "files",
    name: "the drill of a restore",
    files: ["packages/cli/e2e/restore.e2e.test.ts"],
    inputs: [...STORAGE, "packages/cli/src/data/**", "packages/runtime/src/core/**"],
  },
  {
    kind: "files",
    name: "workflows of a server process",
    files: ["packages/lvi-server/e2e/workflows.e2e.test.ts"],
    inputs: [...STORAGE, "packages/lvi-server/src/{execution,http}/**", "packages/wasm-host/src/**"],
  },
  {
    kind: "files",
    name: "workflows over builds",
    files: ["packages/cli/e2e/workflow-builds.e2e.test.ts"],
    inputs: [
      "packages/cli/src/dev/**",
      "packages/lvi-server/src/{core,execution,storage}/**",
      "packages/{local,wasm-host}/src/**",
    ],
  },
  {
    kind: "files",
    name: "records of effects",
    files: ["packages/cli/e2e/record-effects.e2e.test.ts"],
    inputs: [
      "packages/cli/src/{replay,operate,commands}/**",
      "packages/lvi-server/src/*.ts",
      "packages/lvi-server/src/core/**",
      "packages/wasm-host/src/**",
    ],
  },
  {
    kind: "files",
    name: "services of a deployment",
    files: ["packages/cli/e2e/deploy-services.e2e.test.ts"],
    inputs: [...DEPLOYMENT, "packages/runtime/src/**", "packages/lvi-server/src/*.ts"],
  },
  { kind: "files", name: "owed work", files: ["packages/lvi-server/e2e/owed-work.e2e.test.ts"], inputs: STORAGE },
  {
    kind: "cases",
    name: "storages of a takeover",
    file: "packages/lvi-server/e2e/takeover.e2e.test.ts",
    inputs: STORAGE,
  },
  {
    kind: "cases",
    name: "a location",
    file: "packages/runtime/e2e/execution.e2e.test.ts",
    inputs: ["packages/{runtime,wasm-host,protocol}/src/**", "packages/runtime/e2e/**"],
  },
  {
    kind: "cases",
    name: "operation",
    file: "packages/cli/e2e/operate.e2e.test.ts",
    inputs: ["packages/cli/src/{operate,replay,dev,commands}/**", "packages/{admin,local}/src/**"],
  },
  {
    kind: "cases",
    name: "radical dev",
    file: "packages/cli/e2e/dev.e2e.test.ts",
    inputs: ["packages/cli/src/{dev,commands,data}/**", "packages/{app,local}/src/**"],
  },
];

/** Files that every part depends on. */
const INPUTS_OF_ALL = [
  "pnpm-lock.yaml",
  "package.json",
  "vitest.config.ts",
  "scripts/{bootstrap,child}.mjs",
  "scripts/{tier-parts,verify}.ts",
  "packages/command-line/src/short-tier.ts",
];

/** How this clone differs from what its upstream has. */
export type Changes =
  | { readonly kind: "known"; readonly base: string; readonly files: readonly string[] }
  | { readonly kind: "unknown"; readonly why: string };

export interface Selection extends ShortTier {
  /** A line for each part that does not run in full. */
  readonly words: readonly string[];
}

/** Selects for the short tier. @param root the repository's @param draw the text that draws */
export function selection(root: string, draw: string, changes: Changes, parts: readonly Part[] = PARTS): Selection {
  const whole: string[] = [];
  const leftOut: string[] = [];
  const words: string[] = [];
  for (const part of parts) {
    const files = filesOf(root, part);
    if (changes.kind === "unknown" || changes.files.some((file) => files.includes(file) || isInput(file, part))) {
      whole.push(part.name);
      continue;
    }
    switch (part.kind) {
      case "files":
        leftOut.push(...files);
        words.push(`${part.name}: nothing that it depends on has changed (${files.join(", ")})`);
        break;
      case "one-of": {
        const chosen = drawn(part.name, files, 1, { draw, whole, leftOut: [] });
        leftOut.push(...files.filter((file) => !chosen.includes(file)));
        words.push(`${part.name}: one of ${files.length} is drawn (${chosen.join(", ")})`);
        break;
      }
      case "cases":
        words.push(`${part.name}: some cases are drawn (${part.file})`);
        break;
    }
  }
  return { draw, whole, leftOut, words };
}

/** The test files of a part, from the root. */
export function filesOf(root: string, part: Part): readonly string[] {
  const patterns = part.kind === "cases" ? [part.file] : part.files;
  return globSync(patterns, { cwd: root, exclude: ["**/node_modules/**"] })
    .map((file) => file.replaceAll(path.sep, "/"))
    .toSorted();
}

function isInput(file: string, { inputs }: Part): boolean {
  return [...inputs, ...INPUTS_OF_ALL].some((pattern) => path.matchesGlob(file, pattern));
}

/** The hash of the commit; null where there is none. */
export function commitOf(root: string): string | null {
  return git(root, "rev-parse", "--verify", "HEAD");
}

/** The sources in words: the commit, and whether files differ from it. */
export function sourcesOf(root: string): string {
  const commit = commitOf(root) ?? "unknown";
  const changed = git(root, "status", "--porcelain", "--untracked-files=no") ?? "";
  return changed === "" ? commit : `${commit} with changes that are not committed`;
}

export function changesOf(root: string): Changes {
  for (const upstream of ["origin/HEAD", "@{upstream}"]) {
    const base = git(root, "merge-base", "HEAD", upstream);
    if (base === null) continue;
    const changed = git(root, "diff", "--name-only", "--no-renames", "-z", base);
    const created = git(root, "ls-files", "--others", "--exclude-standard", "-z");
    if (changed === null || created === null) continue;
    return { kind: "known", base, files: [...changed.split("\0"), ...created.split("\0")].filter(Boolean) };
  }
  return { kind: "unknown", why: "git knows no upstream of this clone to compare with" };
}

/** The output of git; null if it fails. */
function git(root: string, ...args: readonly string[]): string | null {
  const { status, stdout } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}
