/** The file that a recording goes to, a whole line at a time: what is there stays there, whatever happens. */
import { closeSync, fchmodSync, fstatSync, openSync, writeFileSync } from "node:fs";
import { CommandError, messageOf } from "@radical/app/command-error";
import { terminalText } from "@radical/protocol";
import { type Recorded, recordToLine } from "./record-line.ts";
import type { RecordingSeal } from "./sealed-recording.ts";

const OWNER_ONLY = 0o600;

/** Each method throws a CommandError if the file can't be written. */
export class RecordingFile {
  readonly #output: string;
  readonly #file: number;
  readonly #isStandardOutput: boolean;
  readonly #seal: RecordingSeal | null;
  #hasFailed = false;

  /** `output`: its name; `-` is standard output. `seal`: null for a file that anybody can read who has it. */
  constructor(output: string, seal: RecordingSeal | null) {
    this.#output = output;
    this.#isStandardOutput = output === "-";
    this.#file = this.#isStandardOutput ? process.stdout.fd : this.#written(() => opened(output));
    this.#seal = seal;
    if (seal !== null) this.#write(seal.head);
  }

  write(recorded: Recorded): void {
    // The same JSON, on a terminal too.
    const line = terminalText(recordToLine(recorded));
    this.#write(this.#seal === null ? line : this.#seal.record(line));
  }

  close(): void {
    try {
      if (this.#seal !== null && !this.#hasFailed) this.#write(this.#seal.end());
    } finally {
      if (!this.#isStandardOutput) closeSync(this.#file);
    }
  }

  #write(line: string): void {
    this.#written(() => writeFileSync(this.#file, `${line}\n`));
  }

  #written<T>(write: () => T): T {
    try {
      return write();
    } catch (error) {
      this.#hasFailed = true;
      // A reader of the output that has seen enough is not an error.
      if (this.#isStandardOutput && (error as NodeJS.ErrnoException).code === "EPIPE") process.exit();
      const place = this.#isStandardOutput ? "Standard output" : this.#output;
      throw new CommandError(
        "file_not_written",
        `${place} can't be written: ${messageOf(error)}.`,
        "Make room, or name another file with --output. The whole lines so far are kept.",
      );
    }
  }
}

/** Its owner's alone, also if it was there. A pipe or a device stays as it is. */
function opened(output: string): number {
  const file = openSync(output, "w", OWNER_ONLY);
  if (fstatSync(file).isFile()) fchmodSync(file, OWNER_ONLY);
  return file;
}
