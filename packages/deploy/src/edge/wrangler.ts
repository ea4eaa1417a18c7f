/**
 * The real wrangler, of the version that this package depends on, as a child process: what it uploads is what
 * Cloudflare's own tool uploads. It is asked nothing by terminal, tells nothing to anybody else, and what it has done
 * is read from the file that it writes for programs.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { CommandError } from "@radical/app/command-error";

export interface Wrangler {
  readonly version: string;
  /** Standard output. Throws a CommandError with its words if it fails. */
  run(args: readonly string[], options?: RunOptions): Promise<WranglerRun>;
}

export interface RunOptions {
  /** Working directory. Default: the project. */
  readonly cwd?: string;
  /** For its standard input. */
  readonly input?: string;
  /** Whether its output goes to this terminal as it comes. */
  readonly isShown?: boolean;
}

export interface WranglerRun {
  readonly stdout: string;
  /** What it says of its work to programs, in order. */
  readonly output: readonly WranglerOutput[];
}

/** A line of its output file. */
export type WranglerOutput = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface WranglerOptions {
  readonly project: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Aborted: the child is ended. */
  readonly signal?: AbortSignal;
}

/** Longest end of its words that an error shows. */
const WORDS_SHOWN = 4_000;
/** An upload of 10 MB on a slow line takes minutes. */
const LIMIT_MS = 10 * 60_000;

const { version, bin } = createRequire(import.meta.url)("wrangler/package.json") as {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
};
const MAIN = join(dirname(createRequire(import.meta.url).resolve("wrangler/package.json")), bin["wrangler"] ?? "");

export function createWrangler({ project, environment = process.env, signal }: WranglerOptions): Wrangler {
  return {
    version,
    run: async (args, { cwd = project, input, isShown = false } = {}) => {
      const folder = await mkdtemp(join(tmpdir(), "radical-wrangler-"));
      const outputFile = join(folder, "output.ndjson");
      try {
        const { code, stdout, words } = await launch(args, {
          cwd,
          input,
          isShown,
          signal,
          environment: { ...environment, ...QUIET, WRANGLER_OUTPUT_FILE_PATH: outputFile },
        });
        const output = linesOf(await readFile(outputFile, "utf8").catch(() => ""));
        if (code === 0) return { stdout, output };
        throw new CommandError(
          "wrangler_failed",
          `wrangler ${args.slice(0, 2).join(" ")} failed:\n${indent(words)}`,
          "See wrangler's words above. Then run the same command again.",
        );
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** It asks nothing, tells nothing, and looks for nothing that is not of this project. */
const QUIET = {
  CI: "1",
  NO_COLOR: "1",
  FORCE_COLOR: "0",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_WRITE_LOGS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
} as const;

interface Launch {
  readonly cwd: string;
  readonly input: string | undefined;
  readonly isShown: boolean;
  readonly signal: AbortSignal | undefined;
  readonly environment: NodeJS.ProcessEnv;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  /** The end of all that it wrote. */
  readonly words: string;
}

function launch(args: readonly string[], { cwd, input, isShown, signal, environment }: Launch): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: environment,
      stdio: ["pipe", "pipe", "pipe"],
      timeout: LIMIT_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    let [stdout, words] = ["", ""];
    const take = (chunk: string): void => {
      words = (words + chunk).slice(-4 * WORDS_SHOWN);
      if (isShown) process.stderr.write(chunk);
    };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
      take(chunk);
    });
    child.stderr.setEncoding("utf8").on("data", take);
    child.stdin.on("error", () => undefined);
    child.stdin.end(input ?? "");
    child.once("error", (error) => {
      reject(new CommandError("wrangler_failed", `wrangler: ${error.message}`, "Run the same command again."));
    });
    child.once("close", (code) => {
      const plain = stripVTControlCharacters(words).trim();
      resolve({ code, stdout, words: plain.slice(-WORDS_SHOWN) });
    });
  });
}

function linesOf(text: string): readonly WranglerOutput[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as WranglerOutput);
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}
