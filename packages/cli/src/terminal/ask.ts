/** A question to a person at the terminal, on stderr. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CommandError } from "@radical/app/command-error";

/** `isHidden`: what is typed is not shown. Ctrl-D answers nothing. Throws a CommandError for Ctrl-C. */
export async function ask(question: string, { isHidden = false } = {}): Promise<string> {
  if (isHidden) process.stderr.write(question);
  const output = isHidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("SIGINT", () =>
        reject(new CommandError("stopped", "The command was told to stop.", "Run the same command again.")),
      );
      lines.once("close", () => resolve(""));
      lines.question(isHidden ? "" : question).then(resolve, reject);
    });
  } finally {
    lines.close();
    process.stderr.write(isHidden ? "\n" : "");
  }
}
