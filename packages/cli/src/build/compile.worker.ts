/** The thread that compiles: the compiler is synchronous and busy for up to a second. */
import { existsSync } from "node:fs";
import { enableCompileCache, flushCompileCache, registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { Analysis, BuildInput, Explanation } from "@radical/analyzer";
import type { CompileAnswer, CompilerLibrary, Framed, Frames, ThreadQuestion } from "./compile.ts";

const port = parentPort;
if (port === null) throw new Error("this module runs in a thread of its own");

// What V8 made of the compiler's JavaScript is kept for the next process, where Node keeps such things.
enableCompileCache();

// The build made this of the Binaryen that AssemblyScript imports (scripts/split-binaryen.mjs): it loads several times
// faster. There is none where the sources run unbuilt.
const binaryen = new URL("../binaryen/index.js", import.meta.url);
if (existsSync(binaryen)) {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "binaryen" ? { url: binaryen.href, shortCircuit: true } : next(specifier, context),
  });
  // V8 compiles the WebAssembly while the modules of the analyzer are read.
  void import(binaryen.href);
}
const { buildApplication, compileDataProgram, renderDiagnostic, renderFrames } = await import("@radical/analyzer");

const { colours, ...library } = workerData as CompilerLibrary;
let isFirst = true;

port.on("message", (question: ThreadQuestion) => {
  const answer = (given: CompileAnswer): void => port.postMessage(given);
  if (question === "data-program") {
    answer({ kind: "data-program", wasm: compileDataProgram(library) });
    return;
  }
  const input: BuildInput = { ...question, ...library };
  buildApplication(input, {
    onAnalyzed: (analysis) =>
      answer({ kind: "analyzed", analysis: { ...analysis, frames: framesOf(analysis, input) } }),
  }).then(
    (result) => {
      answer({ kind: "compiled", compilation: { ...result, frames: framesOf(result, input) } });
      // By now it has run.
      if (isFirst) flushCompileCache();
      isFirst = false;
    },
    (error: unknown) => {
      answer({ kind: "crashed", stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    },
  );
});

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
