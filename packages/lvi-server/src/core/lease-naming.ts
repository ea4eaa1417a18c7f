/**
 * The stored leadership names the time of read leases. A server that takes over early knows that the leader is dead, and waits
 * for that time. So the name is durable before the first lease leaves. It is stored when the first lease is wanted: after the end
 * of a leader that has leased nothing, nobody waits.
 *
 * The named time never gets shorter under one leader. A shorter one could arrive in storage late, after the name of a longer one.
 */
import { type Fact, NO_FACTS, type OperationId } from "./events.ts";

/** `after`: the facts for a line that leases. */
type State = { readonly after: readonly Fact[] } & (
  | { readonly kind: "unnamed"; readonly nextAtMs: number }
  | { readonly kind: "under-way"; readonly operation: OperationId }
  | { readonly kind: "named" }
);

const NEVER: readonly Fact[] = [{ kind: "passed", atMs: Infinity }];

export class LeaseNaming {
  readonly #ask: () => OperationId;
  readonly #retryMs: number;
  #state: State;

  /** `ask` has storage name the time. `isNamed`: it names one that is as long already. */
  constructor(ask: () => OperationId, retryMs: number, isNamed: boolean) {
    this.#ask = ask;
    this.#retryMs = retryMs;
    this.#state = isNamed ? { kind: "named", after: NO_FACTS } : { kind: "unnamed", after: NEVER, nextAtMs: -Infinity };
  }

  get isUnderWay(): boolean {
    return this.#state.kind === "under-way";
  }

  get after(): readonly Fact[] {
    return this.#state.after;
  }

  /** Whether storage names the time. If it does not, it is asked to. */
  isNamed(nowMs: number): boolean {
    const state = this.#state;
    if (state.kind === "unnamed" && nowMs >= state.nextAtMs) {
      const operation = this.#ask();
      this.#state = { kind: "under-way", operation, after: [{ kind: "operation", operation }] };
    }
    return state.kind === "named";
  }

  named(operation: OperationId): void {
    if (!this.#isOf(operation)) throw new Error(`Storage answered operation ${operation}, which names no read leases`);
    this.#state = { kind: "named", after: this.#state.after };
  }

  /** False: the operation is another one. It may have been carried out all the same. */
  failed(operation: OperationId, nowMs: number): boolean {
    if (!this.#isOf(operation)) return false;
    this.#state = { kind: "unnamed", after: NEVER, nextAtMs: nowMs + this.#retryMs };
    return true;
  }

  #isOf(operation: OperationId): boolean {
    return this.#state.kind === "under-way" && this.#state.operation === operation;
  }
}
