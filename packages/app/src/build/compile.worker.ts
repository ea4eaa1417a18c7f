/** The thread or process that compiles: the compiler is synchronous and busy for up to a second. */
import { on } from "node:events";
import { enableCompileCache, flushCompileCache } from "node:module";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { parentPort } from "node:worker_threads";
import type * as analyzer from "@radical/analyzer";
import type { Analysis, BuildInput, Explanation } from "@radical/analyzer";
import type { CompileAnswer, CompilerLibrary, Framed, Frames, ThreadQuestion } from "./compile.ts";
import { scriptOf } from "./kept-code.ts";

// They may come while the compiler is loaded.
const messages = parentPort === null ? on(process, "message") : on(parentPort, "message");
// A process ends with the one that it compiles for.
process.once("disconnect", () => process.exit());

// Node keeps the code that V8 made of JavaScript for the next process.
enableCompileCache();

const { analyzer: loaded, keepCode } = await load();
const { buildApplication, compileDataProgram, renderDiagnostic, renderFrames } = loaded;
const [{ colours, isKept, ...library }] = (await messages.next()).value as [CompilerLibrary];

for await (const [question] of messages) answerTo(question as ThreadQuestion);

/**
 * The analyzer with its compiler, as one bundle. Where the sources run unbuilt, there is none and no code is kept, except
 * that end-to-end tests name one that they made of the sources.
 */
async function load(): Promise<{ readonly analyzer: typeof analyzer; readonly keepCode: () => void }> {
  const isBuilt = import.meta.url.endsWith(".js");
  const path = isBuilt ? "../compiler/analyzer.js" : process.env["RADICAL_COMPILER_OF_SOURCES"];
  if (path === undefined) return { analyzer: await import("@radical/analyzer"), keepCode: () => undefined };
  const bundle = new URL(path, import.meta.url);
  // V8 compiles its WebAssembly while the analyzer is read.
  const binaryen = import(new URL("binaryen.js", bundle).href) as Promise<{ readonly default: object }>;
  const script = scriptOf(bundle);
  const run = script.value as (binaryen: object) => typeof analyzer;
  return { analyzer: run((await binaryen).default), keepCode: script.keepCode };
}

/**
 * Whether V8 compiles the WebAssembly that runs often once more, optimized. It costs more than it brings Binaryen in a
 * single build. It is so for what the whole process compiles, so only during that build; and code that is kept fits to no
 * other flags.
 */
function optimizeWasm(isOn: boolean): void {
  for (const flag of ["wasm-tier-up", "wasm-dynamic-tiering"]) setFlagsFromString(`--${isOn ? "" : "no-"}${flag}`);
}

function answerTo(question: ThreadQuestion): void {
  const answer = (given: CompileAnswer): void => {
    if (parentPort === null) process.send!(given);
    else parentPort.postMessage(given);
  };
  if (typeof question === "string") {
    answer({ kind: "data-program", wasm: compileDataProgram(library, question) });
    return;
  }
  const input: BuildInput = { ...question, ...library };
  if (!isKept) optimizeWasm(false);
  const built = buildApplication(input, {
    onAnalyzed: (analysis) =>
      answer({ kind: "analyzed", analysis: { ...analysis, frames: framesOf(analysis, input) } }),
  }).finally(() => {
    if (!isKept) optimizeWasm(true);
  });
  built.then(
    (result) => {
      // All that a build needs has run. At once: whoever gets the answer may end this place.
      if (result.ok) keepCode();
      // It ends by a signal, at which Node keeps nothing.
      if (parentPort === null) flushCompileCache();
      answer({ kind: "compiled", compilation: { ...result, frames: framesOf(result, input) } });
    },
    (error: unknown) => {
      answer({ kind: "crashed", stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    },
  );
}

function framesOf({ handlers, diagnostics }: Analysis, { sources }: BuildInput): Frames {
  const reasons = handlers.flatMap(({ plan }) => (plan.kind === "recorded" ? [plan.reason] : []));
  return new Map<Framed, string>([
    ...[...diagnostics, ...reasons].map((found): [Framed, string] => [
      found,
      renderDiagnostic(found, sources, { color: colours, more: (code) => `radical explain ${code}` }),
    ]),
    ...handlers
      .flatMap(({ transformations }) => transformations)
      .map((made): [Framed, string] => [
        made,
        renderFrames({ primary: made.span, related: made.related }, sources, { color: colours }),
      ]),
    ...handlers
      .flatMap(({ explanations }) => explanations)
      .map((explanation): [Framed, string] => [explanation, frameOf(explanation, sources)]),
  ]);
}

/** A kept line is its source text; what else is explained, code frames. */
function frameOf({ kind, span, chain }: Explanation, sources: BuildInput["sources"]): string {
  if (kind === "line") {
    const lines = sources.find(({ path }) => path === span.file)?.text.split("\n") ?? [];
    return (lines[span.line - 1] ?? "").trim().slice(0, 100);
  }
  const related = chain.map((link) => ({ span: link.span, label: link.words }));
  return renderFrames({ primary: span, related }, sources, { color: colours });
}
