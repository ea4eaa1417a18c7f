/**
 * Where the compiler runs. A thread is up sooner. A process gives back all of its memory when it ends. A thread does
 * not: V8 and the allocator keep most of it for the process that had the thread.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { CompileAnswer, CompilerLibrary, ThreadQuestion } from "./compile.ts";

export interface CompilerPlace {
  post(message: CompilerLibrary | ThreadQuestion): void;
  /** Whether this process waits for it; at first it does not. */
  hold(isHeld: boolean): void;
  onAnswer(take: (answer: CompileAnswer) => void): void;
  /** It has ended, asked or not. */
  onEnd(take: (reason: Error) => void): void;
  end(): Promise<void>;
}

const MODULE = new URL(`./compile.worker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);

export function threadPlace(): CompilerPlace {
  const thread = new Worker(MODULE);
  thread.unref();
  return {
    post: (message) => thread.postMessage(message),
    hold: (isHeld) => (isHeld ? thread.ref() : thread.unref()),
    onAnswer: (take) => thread.on("message", take),
    onEnd: (take) => {
      thread.on("error", take);
      thread.on("exit", () => take(new Error("the compiler's thread has ended")));
    },
    end: async () => {
      await thread.terminate();
    },
  };
}

export function processPlace(): CompilerPlace {
  const child = fork(fileURLToPath(MODULE), {
    // As between threads: maps and bytes stay what they are.
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // Ctrl-C reaches the whole group of a terminal, but it ends when it is told to.
    detached: true,
  });
  const hold = (isHeld: boolean): void => {
    for (const one of [child, child.channel]) {
      if (isHeld) one?.ref();
      else one?.unref();
    }
  };
  hold(false);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  return {
    post: (message) => child.send(message),
    hold,
    onAnswer: (take) => child.on("message", (answer) => take(answer as CompileAnswer)),
    onEnd: (take) => {
      child.on("error", take);
      child.on("exit", (code, signal) =>
        take(new Error(`the compiler's process has ended (${signal ?? `exit code ${code}`})`)),
      );
    },
    end: async () => {
      // It has nothing that is lost: whoever waits for an answer is told.
      child.kill("SIGKILL");
      hold(true);
      await ended;
    },
  };
}
