/** The thread that compiles: the compiler is synchronous and busy for up to a second. */
import { parentPort } from "node:worker_threads";
import { type Diagnostic, buildApplication, renderDiagnostic } from "@radical/analyzer";
import type { CompileAnswer, CompileQuestion } from "./compile.ts";

const port = parentPort;
if (port === null) throw new Error("this module runs in a thread of its own");

port.on("message", ({ input, colours }: CompileQuestion) => {
  buildApplication(input).then(
    (result) => {
      const reasons = result.handlers.flatMap(({ plan }) => (plan.kind === "recorded" ? [plan.reason] : []));
      const frames = new Map<Diagnostic, string>();
      for (const diagnostic of [...result.diagnostics, ...reasons]) {
        frames.set(
          diagnostic,
          renderDiagnostic(diagnostic, input.sources, { color: colours, more: (code) => `radical explain ${code}` }),
        );
      }
      port.postMessage({ kind: "compiled", compilation: { ...result, frames } } satisfies CompileAnswer);
    },
    (error: unknown) => {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      port.postMessage({ kind: "crashed", stack } satisfies CompileAnswer);
    },
  );
});
