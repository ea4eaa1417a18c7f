/** The wall clock of a server, which a test sets while it runs. That of the machine stays: it is everybody's. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The event that the server logs once its clock is set. */
export const CLOCK_SET = "clock_set";

/** Run in the server before its own code: each time that it asks for comes from here. A signal has it look at the file. */
const SHIFT = `import { readFileSync } from "node:fs";
const [real, file] = [Date.now, process.env.RADICAL_TEST_CLOCK];
const byMs = () => { try { return Number(readFileSync(file, "utf8")); } catch { return 0; } };
let by = byMs();
Date.now = () => real() + by;
globalThis.Date = new Proxy(Date, {
  construct: (date, args, target) => Reflect.construct(date, args.length === 0 ? [date.now()] : args, target),
});
process.on("SIGUSR2", () => {
  by = byMs();
  process.stderr.write(JSON.stringify({ event: "${CLOCK_SET}", byMs: by }) + "\\n");
});`;

export class ServerClock {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, "clock");
  }

  /** For each server whose clock is this one. */
  get environment(): Readonly<Record<string, string>> {
    return {
      RADICAL_TEST_CLOCK: this.#file,
      NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=data:text/javascript,${encodeURIComponent(SHIFT)}`,
    };
  }

  /** A server that starts from now on has it so. One that runs is to be sent `SIGUSR2`. */
  async set(byMs: number): Promise<void> {
    await writeFile(this.#file, String(byMs));
  }
}
