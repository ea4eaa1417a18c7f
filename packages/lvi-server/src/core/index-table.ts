/**
 * The indexes that the primary knows. One that a registered module names is built, in the order of its phases
 * (`index-state.ts`), and dropped when no module names it any more.
 *
 * An index is *kept* while it is swept, filled or ready: each commit that writes its table has the entries that go with it.
 * A module that names the index brings them itself. For a module that lacks it, the primary adds them (`kept-entries.ts`).
 */
import { type IndexDeclaration, indexOf, type IndexStatus, present } from "@radical/protocol";
import { type IndexState, UNBUILT } from "./index-state.ts";

export interface KnownIndex<Owner> {
  readonly declaration: IndexDeclaration;
  readonly state: IndexState;
  /** Executions that may still commit by the rules from before its phase has changed. No page begins before they have ended. */
  readonly before: ReadonlySet<Owner>;
}

interface Index<Owner> extends KnownIndex<Owner> {
  state: IndexState;
  before: Set<Owner>;
  isNamed: boolean;
  /** Whether storage has a state of it, so that a later server knows it although no module names it. */
  isStored: boolean;
}

const KEPT: ReadonlySet<IndexState["phase"]> = new Set(["sweeping", "filling", "ready"]);
const NONE: readonly never[] = [];

export class IndexTable<Owner> {
  readonly #indexes = new Map<string, Index<Owner>>();
  /** Those that commit by the rules of this moment, as far as they write one of the tables. */
  readonly #underWay: (tables: ReadonlySet<string>) => Iterable<Owner>;

  /** `states`: as they are stored. */
  constructor(states: ReadonlyMap<string, IndexState>, underWay: (tables: ReadonlySet<string>) => Iterable<Owner>) {
    this.#underWay = underWay;
    for (const [name, state] of states) this.#add(name, state, true).isStored = true;
  }

  /** There is none, so that nothing is to be kept. */
  get isEmpty(): boolean {
    return this.#indexes.size === 0;
  }

  get statuses(): readonly IndexStatus[] {
    return Array.from(this.#indexes.values(), ({ declaration: { name }, state, before, isNamed }): IndexStatus => {
      const { phase, items, faults } = state;
      const told = phase === "sweeping" || phase === "filling" ? "building" : phase;
      return { name, phase: isNamed ? told : "dropping", items, waitsFor: before.size, faults };
    }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * These are all that registered modules name. The others are to be dropped. One that is new, or is being dropped, is built
   * from its beginning.
   */
  name(names: ReadonlySet<string>): void {
    for (const name of names) {
      const index = this.#indexes.get(name) ?? this.#add(name, UNBUILT, true);
      index.isNamed = true;
      if (index.state.phase !== "dropping") continue;
      // The last page of the drop may be on its way to storage.
      index.isStored = false;
      this.#turnTo(index, UNBUILT);
    }
    for (const [name, index] of this.#indexes) index.isNamed = names.has(name);
  }

  /** A module was registered: what keeps an index of it from being built may have gone. */
  tryAgain(names: readonly string[]): void {
    for (const name of names) {
      const index = this.#indexes.get(name);
      if (index?.state.phase === "stopped") this.#turnTo(index, UNBUILT);
    }
  }

  /** Those that a later server would not know without a module that names them. */
  get unstored(): ReadonlySet<string> {
    return new Set([...this.#indexes].filter(([, { isStored }]) => !isStored).map(([name]) => name));
  }

  /** Adopted executions may commit by earlier rules. */
  awaitAll(): void {
    for (const index of this.#indexes.values()) this.#await(index);
  }

  /** The execution has ended. True: something may go on now. */
  ended(owner: Owner): boolean {
    let goesOn = false;
    for (const { before } of this.#indexes.values()) goesOn = (before.delete(owner) && before.size === 0) || goesOn;
    return goesOn;
  }

  /** The first of these that is not ready; null: all are. */
  unready(names: readonly string[]): KnownIndex<Owner> | null {
    for (const name of names) {
      const index = present(this.#indexes.get(name), "a registered module names indexes that are known");
      if (index.state.phase !== "ready") return index;
    }
    return null;
  }

  /** The indexes of the table that are kept, but for those that the module keeps itself. */
  keptFor(table: string, own: readonly string[]): readonly KnownIndex<Owner>[] {
    if (this.#indexes.size === 0) return NONE;
    return Array.from(this.#indexes.values()).filter(
      ({ declaration, state }) =>
        declaration.table === table && KEPT.has(state.phase) && !own.includes(declaration.name),
    );
  }

  /** An index with something to do that nobody has to be waited for; null: none. */
  next(): KnownIndex<Owner> | null {
    for (const index of this.#indexes.values()) {
      const { state, isNamed, before } = index;
      const isToDo = !isNamed || state.phase === "sweeping" || state.phase === "filling";
      // variant: index-before
      if (isToDo && before.size === 0) return index;
    }
    return null;
  }

  isNamed({ declaration }: KnownIndex<Owner>): boolean {
    return this.#indexes.get(declaration.name)?.isNamed === true;
  }

  /** A page that has begun in one state is stored with the next; null: the index is no more. */
  turned({ declaration }: KnownIndex<Owner>, from: IndexState, next: IndexState | null): void {
    const index = this.#indexes.get(declaration.name);
    // It is built anew since then, and goes by what is in memory.
    if (index?.state !== from) return;
    if (next === null) return void this.#indexes.delete(declaration.name);
    index.isStored = true;
    if (next.phase === "dropping" && index.isNamed) return this.#turnTo(index, UNBUILT);
    if (KEPT.has(from.phase) === KEPT.has(next.phase)) index.state = next;
    else this.#turnTo(index, next);
  }

  #add(name: string, state: IndexState, isNamed: boolean): Index<Owner> {
    const declaration = present(indexOf(name), "an index has the name of one");
    const index: Index<Owner> = { declaration, state, before: new Set(), isNamed, isStored: false };
    this.#indexes.set(name, index);
    this.#await(index);
    return index;
  }

  /** From now on other rules are in force. */
  #turnTo(index: Index<Owner>, state: IndexState): void {
    index.state = state;
    this.#await(index);
  }

  #await(index: Index<Owner>): void {
    const { name, table } = index.declaration;
    index.before = new Set(this.#underWay(new Set([name, table])));
  }
}
