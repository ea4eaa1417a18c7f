/** The thread that compiles: the compiler is synchronous and busy for up to a second. */
import { parentPort } from "node:worker_threads";
import { type BuildInput, buildApplication } from "@radical/analyzer";
import type { CompileAnswer } from "./compile.ts";

const port = parentPort;
if (port === null) throw new Error("this module runs in a thread of its own");

port.on("message", (input: BuildInput) => {
  buildApplication(input).then(
    (result) => port.postMessage({ kind: "compiled", result } satisfies CompileAnswer),
    (error: unknown) => {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      port.postMessage({ kind: "crashed", stack } satisfies CompileAnswer);
    },
  );
});
