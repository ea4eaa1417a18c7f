import { messageOf } from "@radical/app/command-error";

export type Closer = () => unknown;

/** Ends of all that was started. They are called in reverse: a sender ends before its receiver. */
export class Closers {
  readonly #closers: Closer[] = [];
  #closing: Promise<void> | null = null;

  push(closer: Closer): void {
    this.#closers.push(closer);
  }

  /**
   * Calls all that were pushed, also those that are pushed meanwhile. One that fails stops no other; all failures are thrown
   * together at the end.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#closeAll().finally(() => {
      this.#closing = null;
    }));
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(messageOf).join("; "));
  }
}
