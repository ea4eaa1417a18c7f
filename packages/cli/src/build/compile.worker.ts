/** The thread that compiles: the compiler is synchronous and busy for up to a second. */
import { on } from "node:events";
import { existsSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";
import type * as analyzer from "@radical/analyzer";
import type { Analysis, BuildInput, Explanation } from "@radical/analyzer";
import type { CompileAnswer, CompilerLibrary, Framed, Frames, ThreadQuestion } from "./compile.ts";

const port = parentPort;
if (port === null) throw new Error("this module runs in a thread of its own");
// They may come while the compiler is loaded.
const messages = on(port, "message");

// What V8 made of the compiler's JavaScript is kept for the next process, where Node keeps such things.
enableCompileCache();

// The build makes these of the analyzer and its compiler (scripts/bundle-compiler.mjs): they load several times faster.
// There are none where the sources run unbuilt.
const bundle = new URL("../compiler/index.js", import.meta.url);
const isBuilt = existsSync(bundle);
// V8 compiles its WebAssembly while the analyzer is read.
if (isBuilt) void import(new URL("binaryen.js", bundle).href);
const { buildApplication, compileDataProgram, renderDiagnostic, renderFrames } = (await import(
  isBuilt ? bundle.href : "@radical/analyzer"
)) as typeof analyzer;
const [{ colours, ...library }] = (await messages.next()).value as [CompilerLibrary];
let isFirst = true;

for await (const [question] of messages) answerTo(question as ThreadQuestion);

function answerTo(question: ThreadQuestion): void {
  const answer = (given: CompileAnswer): void => port!.postMessage(given);
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
