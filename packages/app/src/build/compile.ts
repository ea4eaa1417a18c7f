/**
 * Runs the analyzer in a place of its own, with the files of the SDK and of AssemblyScript's library that it compiles
 * against. Only that place loads the compiler, which takes a second.
 */
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
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
import { type CompilerPlace, threadPlace } from "./compiler-place.ts";

/**
 * The things that have a text with code frames: diagnostics, also the reasons of the handlers that are recorded, and
 * explanations.
 */
export type Framed = Diagnostic | Transformation | Explanation;

export type Frames = ReadonlyMap<Framed, string>;

interface WithFrames {
  readonly frames: Frames;
}

export type AnalysisReport = Analysis & WithFrames;

export type Compilation = BuildResult & WithFrames;

/** The first message to the compiler. */
export interface CompilerLibrary extends Pick<BuildInput, "sdk" | "stdlib"> {
  /** Whether the frames have ANSI colours. */
  readonly colours: boolean;
  readonly isKept: boolean;
}

export interface CompilerOptions {
  readonly colours: boolean;
  /** Default false; whether it makes builds as long as the process lives, so that the later ones count. */
  readonly isKept?: boolean;
  /** Default: a thread. */
  readonly place?: () => CompilerPlace;
}

export type CompileQuestion = Pick<
  BuildInput,
  "sources" | "handlerFiles" | "optimize" | "explain" | "emitIr" | "modules" | "log" | "rewritten"
>;

/** A question to the compiler: for an application, or for a program of `radical data`. */
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

export async function startCompiler({
  colours,
  isKept = false,
  place: placeOf = threadPlace,
}: CompilerOptions): Promise<Compiler> {
  const place = placeOf();
  let waiting: {
    readonly answer: (answer: CompileAnswer) => void;
    readonly reject: (reason: unknown) => void;
  } | null = null;
  let ended: Error | null = null;
  place.onAnswer((answer) => waiting?.answer(answer));
  place.onEnd((reason) => {
    ended ??= reason;
    waiting?.reject(ended);
  });

  const ask = async <Kind extends CompileAnswer["kind"]>(
    question: ThreadQuestion,
    kind: Kind,
    onAnalyzed?: (analysis: AnalysisReport) => void,
  ): Promise<CompileAnswer & { kind: Kind }> => {
    if (ended !== null) throw ended;
    // It ends with its process; only a question waits for it.
    place.hold(true);
    try {
      return await new Promise((resolve, reject) => {
        const answer = (given: CompileAnswer): void => {
          if (given.kind === kind) resolve(given as CompileAnswer & { kind: Kind });
          else if (given.kind === "analyzed") onAnalyzed?.(given.analysis);
          else if (given.kind === "crashed") reject(crashed(given.stack));
        };
        waiting = { answer, reject };
        place.post(question);
      });
    } finally {
      waiting = null;
      place.hold(false);
    }
  };

  // The compiler is loaded meanwhile.
  const [sdk, stdlib] = await Promise.all([
    readTree(packageFolder("@radical/sdk", "assembly")),
    readTree(
      import.meta.url.endsWith(".js")
        ? fileURLToPath(new URL("../compiler/std", import.meta.url))
        : packageFolder("assemblyscript", "std/assembly"),
    ),
  ]);
  const library: CompilerLibrary = { sdk: [...sdk].map(([path, text]) => ({ path, text })), stdlib, colours, isKept };
  place.post(library);

  return {
    compile: async (question, onAnalyzed) => (await ask(question, "compiled", onAnalyzed)).compilation,
    dataProgram: async (program) => (await ask(program, "data-program")).wasm,
    close: () => place.end(),
  };
}

function crashed(stack: string): CommandError {
  return new CommandError(
    "compiler_crashed",
    `The compiler failed: ${stack}`,
    "This is a fault of Radical: please report it with your handlers.",
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
