/**
 * Handlers whose runs have left their read/write set, by module. It is certain of each: f^rw said the set and f left it on
 * the same current values. Such a handler costs latency, never a wrong answer; somebody should hear of it.
 */
import type { ModuleHash, SetLeft } from "@radical/protocol";

export class SetsLeft {
  readonly #times = new Map<ModuleHash, Map<string, number>>();

  /** How often it has happened to the handler, this time included. */
  add(module: ModuleHash, handler: string): number {
    let handlers = this.#times.get(module);
    if (handlers === undefined) this.#times.set(module, (handlers = new Map<string, number>()));
    const times = (handlers.get(handler) ?? 0) + 1;
    handlers.set(handler, times);
    return times;
  }

  /** The module was removed. */
  forget(module: ModuleHash): void {
    this.#times.delete(module);
  }

  get list(): readonly SetLeft[] {
    return Array.from(this.#times, ([module, handlers]) =>
      Array.from(handlers, ([handler, times]) => ({ module, handler, times })),
    ).flat();
  }
}
