/**
 * A compiler that ends when nobody has needed it for a while, and is started again for the next question. The first question
 * after a rest waits a second more.
 */
import type { AnalysisReport, Compilation, Compiler, CompileQuestion } from "./compile.ts";
import type { DataProgram } from "@radical/analyzer";

/** After the first build: many who start an application do not edit it. */
export const FIRST_REST_MS = 10_000;
/** After each later one: somebody is at work. */
export const REST_MS = 600_000;

export interface RestingOptions {
  readonly start: () => Promise<Compiler>;
  /** Calls back once, after a time. Returns how to take that back. */
  readonly after: (ms: number, call: () => void) => () => void;
  /** It has had nothing to do for a while: `rest()` can be called. */
  readonly onIdle: () => void;
}

export class RestingCompiler implements Compiler {
  readonly #options: RestingOptions;
  #compiler: Promise<Compiler> | null = null;
  #asked = 0;
  #builds = 0;
  #hasClosed = false;
  #stopWaiting: () => void = () => undefined;

  /** It starts at once. */
  constructor(options: RestingOptions) {
    this.#options = options;
    // Its error is that of the first question.
    this.#started().catch(() => undefined);
  }

  compile(question: CompileQuestion, onAnalyzed?: (analysis: AnalysisReport) => void): Promise<Compilation> {
    this.#builds++;
    return this.#ask((compiler) => compiler.compile(question, onAnalyzed));
  }

  dataProgram(program: DataProgram): Promise<Uint8Array> {
    return this.#ask((compiler) => compiler.dataProgram(program));
  }

  /** Ends it until the next question, unless one is under way. */
  async rest(): Promise<void> {
    if (this.#asked > 0) return;
    this.#stopWaiting();
    const resting = this.#compiler;
    this.#compiler = null;
    await (await resting?.catch(() => null))?.close();
  }

  async close(): Promise<void> {
    this.#hasClosed = true;
    this.#stopWaiting();
    await (await this.#compiler?.catch(() => null))?.close();
  }

  async #ask<T>(question: (compiler: Compiler) => Promise<T>): Promise<T> {
    this.#stopWaiting();
    this.#asked++;
    const started = this.#started();
    try {
      return await question(await started);
    } catch (error) {
      // It may be broken: the next question gets another one.
      if (this.#compiler === started) this.#compiler = null;
      await (await started.catch(() => null))?.close();
      throw error;
    } finally {
      this.#asked--;
      const restMs = this.#builds <= 1 ? FIRST_REST_MS : REST_MS;
      if (this.#asked === 0 && !this.#hasClosed)
        this.#stopWaiting = this.#options.after(restMs, () => this.#options.onIdle());
    }
  }

  #started(): Promise<Compiler> {
    return (this.#compiler ??= this.#options.start());
  }
}
