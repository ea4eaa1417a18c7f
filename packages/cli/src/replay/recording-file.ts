/** The file that a recording goes to, a whole line at a time: what is there stays there, whatever happens. */
import { closeSync, openSync, writeFileSync } from "node:fs";
import { terminalText } from "@radical/protocol";
import { type Recorded, recordToLine } from "./record-line.ts";
import type { RecordingSeal } from "./sealed-recording.ts";

const OWNER_ONLY = 0o600;

export class RecordingFile {
  readonly #file: number;
  readonly #isStandardOutput: boolean;
  readonly #seal: RecordingSeal | null;
  #hasFailed = false;

  /** `output`: its name; `-` is standard output. `seal`: null for a file that anybody can read who has it. */
  constructor(output: string, seal: RecordingSeal | null) {
    this.#isStandardOutput = output === "-";
    this.#file = this.#isStandardOutput ? process.stdout.fd : openSync(output, "w", OWNER_ONLY);
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
    try {
      writeFileSync(this.#file, `${line}\n`);
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
  }
}
