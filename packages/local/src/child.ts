/** A process of a deployment on this machine, which tells of itself in lines of JSON. It ends with its standard input. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";

export type Line = Readonly<Record<string, unknown>>;

export interface ChildOptions {
  /** The path of its main module. */
  readonly main: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** The command that runs it, with its options. Default: none. */
  readonly under?: readonly string[];
  /** Options of Node for it, besides those of this process. Default: none. */
  readonly nodeOptions?: readonly string[];
  /** Where standard error goes. `lines`: it is read like standard output; `shown`: it is this process's own. */
  readonly errors: "lines" | "shown";
  /** Called with each line of JSON. */
  readonly onLine?: (line: Line, stream: "stdout" | "stderr") => void;
}

/** In a checkout the packages run from their sources; published, from what was compiled. */
export const MODULE_ENDING: string = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

const STOP_TIMEOUT_MS = 5_000;
/** Characters that are kept of its other lines. */
const WORDS_KEPT = 4_000;

/** The signal or the exit code. A process that could not be started has ended with its error. */
export type Ended = NodeJS.Signals | number | Error;

export class Child {
  /** How it has ended. A process of its own may still hold its output. */
  readonly ended: Promise<Ended>;
  /** The same, behind its last line. */
  readonly closed: Promise<Ended>;
  readonly #process: ChildProcess;
  /** The first line of each event. */
  readonly #told = new Map<string, Line>();
  readonly #awaited = new Map<string, PromiseWithResolvers<Line>>();
  #words = "";
  #hasEnded = false;

  constructor({ main, args, environment, under = [], nodeOptions = [], errors, onLine }: ChildOptions) {
    const [program, ...rest] = [...under, process.execPath, ...process.execArgv, ...nodeOptions, main, ...args];
    this.#process = spawn(program!, rest, {
      stdio: ["pipe", "pipe", errors === "lines" ? "pipe" : "inherit"],
      env: environment,
      // Ctrl-C reaches the whole group of a terminal, but a process ends when it is told to.
      detached: true,
    });
    // A process that has ended does not read what is written to it.
    this.#process.stdin!.on("error", () => undefined);
    this.ended = this.#until("exit");
    this.closed = this.#until("close");
    const take = (text: string, stream: "stdout" | "stderr"): void => {
      const line = parseLine(text);
      if (line === null) this.#words = `${this.#words}${text}\n`.slice(-WORDS_KEPT);
      else this.#take(line, () => onLine?.(line, stream));
    };
    createInterface(this.#process.stdout!).on("line", (text) => take(text, "stdout"));
    if (this.#process.stderr !== null) createInterface(this.#process.stderr).on("line", (text) => take(text, "stderr"));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The end of what it wrote that is not a line of JSON: what Node itself says when a process breaks. */
  get words(): string {
    return this.#words;
  }

  /** Resolves with its first line of this event, told already or later. */
  told(event: string): Promise<Line> {
    const known = this.#told.get(event);
    if (known !== undefined) return Promise.resolve(known);
    let awaited = this.#awaited.get(event);
    if (awaited === undefined) this.#awaited.set(event, (awaited = Promise.withResolvers()));
    return awaited.promise;
  }

  /** The same, or null if it ends before. */
  toldBeforeEnd(event: string): Promise<Line | null> {
    return Promise.race([this.told(event), this.ended.then(() => null)]);
  }

  /** Its line `listening`. Throws if it ends before. */
  async listening(): Promise<Line> {
    const line = await this.toldBeforeEnd("listening");
    if (line !== null) return line;
    const how = await this.closed;
    const words = how instanceof Error ? how.message : `it ended with ${typeof how === "number" ? `code ${how}` : how}`;
    throw new Error(`${words}\n${this.#words}`.trimEnd());
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** SIGKILL, by its pid. False: it had ended before. */
  async kill(): Promise<boolean> {
    if (!this.#hasEnded) this.#process.kill("SIGKILL");
    return (await this.ended) === "SIGKILL";
  }

  /** SIGTERM, and SIGKILL if that does not end it. */
  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), STOP_TIMEOUT_MS);
    this.#process.kill("SIGTERM");
    await this.ended;
    clearTimeout(timer);
  }

  /** Ends its standard input, and waits until it has answered what is under way. */
  async leave(): Promise<void> {
    this.#process.stdin!.end();
    await this.ended;
  }

  #take(line: Line, tell: () => void): void {
    const event = line["event"];
    if (typeof event === "string" && !this.#told.has(event)) {
      this.#told.set(event, line);
      this.#awaited.get(event)?.resolve(line);
      this.#awaited.delete(event);
    }
    tell();
  }

  async #until(event: "exit" | "close"): Promise<Ended> {
    try {
      const [code, signal] = (await once(this.#process, event)) as [number | null, NodeJS.Signals | null];
      return signal ?? code ?? 0;
    } catch (error) {
      return error as Error;
    } finally {
      this.#hasEnded = true;
    }
  }
}

function parseLine(text: string): Line | null {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? (line as Line) : null;
  } catch {
    return null;
  }
}
