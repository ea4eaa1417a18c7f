/**
 * Runs the analyzer in a thread, with the files of the SDK and of AssemblyScript's library that it compiles against.
 * Only the thread loads the compiler, which takes a second.
 */
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type {
  Analysis,
  BuildInput,
  BuildResult,
  DataProgram,
  Diagnostic,
  Explanation,
  Transformation,
} from "@radical/analyzer";
import { CommandError } from "../command-error.ts";

/** What has a text with code frames: diagnostics, also the reasons of the handlers that are recorded, and explanations. */
export type Framed = Diagnostic | Transformation | Explanation;

export type Frames = ReadonlyMap<Framed, string>;

interface WithFrames {
  readonly frames: Frames;
}

export type AnalysisReport = Analysis & WithFrames;

export type Compilation = BuildResult & WithFrames;

/** What the thread is told first. */
export interface CompilerLibrary extends Pick<BuildInput, "sdk" | "stdlib"> {
  /** Whether the frames have ANSI colours. */
  readonly colours: boolean;
  readonly isKept: boolean;
}

export interface CompilerOptions {
  readonly colours: boolean;
  /** Default false; whether it makes builds as long as the process lives, so that the later ones count. */
  readonly isKept?: boolean;
}

export type CompileQuestion = Pick<
  BuildInput,
  "sources" | "handlerFiles" | "optimize" | "explain" | "emitIr" | "modules" | "log" | "rewritten"
>;

/** What the thread is asked for: an application, or a program of `radical data`. */
export type ThreadQuestion = CompileQuestion | DataProgram;

export type CompileAnswer =
  | { readonly kind: "analyzed"; readonly analysis: AnalysisReport }
  | { readonly kind: "compiled"; readonly compilation: Compilation }
  | { readonly kind: "data-program"; readonly wasm: Uint8Array }
  | { readonly kind: "crashed"; readonly stack: string };

export interface Compiler {
  /**
   * One at a time. Problems of the sources are in the result. `onAnalyzed` is called with all that is known before
   * there is WebAssembly, unless there are errors.
   */
  compile(question: CompileQuestion, onAnalyzed?: (analysis: AnalysisReport) => void): Promise<Compilation>;
  /** A program by which `radical data` works on items. Not beside another call. */
  dataProgram(program: DataProgram): Promise<Uint8Array>;
  close(): Promise<void>;
}

export async function startCompiler({ colours, isKept = false }: CompilerOptions): Promise<Compiler> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const thread = new Worker(new URL(`./compile.worker.${extension}`, import.meta.url));
  // It ends with its process; only `compile` waits for it.
  thread.unref();
  let waiting: {
    readonly answer: (answer: CompileAnswer) => void;
    readonly reject: (reason: unknown) => void;
  } | null = null;
  let ended: Error | null = null;
  const end = (reason: Error): void => {
    ended ??= reason;
    waiting?.reject(ended);
  };
  thread.on("message", (answer: CompileAnswer) => waiting?.answer(answer));
  thread.on("error", end);
  thread.on("exit", () => end(new Error("the compiler's thread has ended")));

  const ask = async <Kind extends CompileAnswer["kind"]>(
    question: ThreadQuestion,
    kind: Kind,
    onAnalyzed?: (analysis: AnalysisReport) => void,
  ): Promise<CompileAnswer & { kind: Kind }> => {
    if (ended !== null) throw ended;
    thread.ref();
    try {
      return await new Promise((resolve, reject) => {
        const answer = (given: CompileAnswer): void => {
          if (given.kind === kind) resolve(given as CompileAnswer & { kind: Kind });
          else if (given.kind === "analyzed") onAnalyzed?.(given.analysis);
          else if (given.kind === "crashed") reject(crashed(given.stack));
        };
        waiting = { answer, reject };
        thread.postMessage(question);
      });
    } finally {
      waiting = null;
      thread.unref();
    }
  };

  // The thread loads the compiler meanwhile.
  const [sdk, stdlib] = await Promise.all([
    readTree(packageFolder("@radical/sdk", "assembly")),
    readTree(
      extension === "js"
        ? fileURLToPath(new URL("../compiler/std", import.meta.url))
        : packageFolder("assemblyscript", "std/assembly"),
    ),
  ]);
  const library: CompilerLibrary = { sdk: [...sdk].map(([path, text]) => ({ path, text })), stdlib, colours, isKept };
  thread.postMessage(library);

  return {
    compile: async (question, onAnalyzed) => (await ask(question, "compiled", onAnalyzed)).compilation,
    dataProgram: async (program) => (await ask(program, "data-program")).wasm,
    close: async () => {
      await thread.terminate();
    },
  };
}

function crashed(stack: string): CommandError {
  return new CommandError(
    "compiler_crashed",
    `the compiler failed: ${stack}`,
    "This is a fault of Radical. Please report it. with your handlers",
  );
}

function packageFolder(name: string, folder: string): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), folder);
}

/** The `.ts` files below a folder by their path within it. */
async function readTree(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        const within = path.slice(folder.length + 1).replaceAll(sep, posix.sep);
        return [within, await readFile(path, "utf8")] as const;
      }),
  );
  return new Map(files);
}
