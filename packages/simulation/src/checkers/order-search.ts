/**
 * The definition of strict serializability, taken literally: a search for an order in which everybody sees what is there. It
 * knows no graph, no versions and no digests, and shares no code with `packages/history`, whose verdicts it doubts.
 *
 * The order of what was stored does not matter to it. So it looks at a history as its clients could.
 */
import { contains, type ExecutionId, isSpan, spanOf, splitUnit, type UnitId } from "@radical/protocol";
import type { Operation } from "../history.ts";
import type { Applied } from "../model-storage.ts";
import { ITEMS_OF, toldBy, writerOf } from "../programs.ts";

/** Something that happened at one instant between two times. */
export interface Happening {
  readonly name: string;
  readonly from: number;
  /** Infinity: nobody was told. */
  readonly until: number;
  /** Each item with the value that was there; null: it was absent. */
  readonly saw: ReadonlyMap<string, string | null>;
  /** So many of these items were there. */
  readonly counted: readonly { readonly items: readonly string[]; readonly number: number }[];
  /** Null: the item goes. */
  readonly wrote: ReadonlyMap<string, string | null>;
}

export type Search =
  /** Names, in an order that explains everything. */
  | { readonly kind: "found"; readonly order: readonly string[] }
  /** There is none. `furthest`: most names that could be explained, in order. */
  | { readonly kind: "none"; readonly furthest: readonly string[] }
  | { readonly kind: "given up" };

/** States from which a search has found no order. Histories on a hot unit would need many times as many. */
const MOST_STATES = 1_000;

export function searchOrder(all: readonly Happening[], mostStates = MOST_STATES): Search {
  const left = new Set(all.toSorted((a, b) => a.from - b.from));
  const there = new Map<string, string>();
  const order: string[] = [];
  let furthest: readonly string[] = [];
  /** States from which no order was found. */
  const dead = new Set<string>();

  const step = (): boolean => {
    const looked: Happening[] = [];
    // A reader that sees what is there may come now: nobody else can tell.
    for (let isNews = true; isNews;) {
      isNews = false;
      for (const one of enabled(left)) {
        if (one.wrote.size > 0 || !isTrue(one, there)) continue;
        take(one, looked);
        isNews = true;
      }
    }
    if (left.size === 0) return true;
    if (order.length > furthest.length) furthest = [...order];
    const state = stateOf(left, there);
    if (!dead.has(state)) {
      for (const one of enabled(left)) {
        if (one.wrote.size === 0 || !isTrue(one, there)) continue;
        const before = new Map(Array.from(one.wrote.keys(), (item) => [item, there.get(item) ?? null]));
        put(one.wrote, there);
        left.delete(one);
        order.push(one.name);
        if (step()) return true;
        put(before, there);
        left.add(one);
        order.pop();
        if (dead.size >= mostStates) break;
      }
      dead.add(state);
    }
    for (const one of looked) left.add(one);
    order.length -= looked.length;
    return false;
  };
  const take = (one: Happening, looked: Happening[]): void => {
    left.delete(one);
    looked.push(one);
    order.push(one.name);
  };

  if (step()) return { kind: "found", order };
  return dead.size >= mostStates ? { kind: "given up" } : { kind: "none", furthest };
}

/** Those that may come next: nobody else was answered before they were asked for. */
function enabled(left: ReadonlySet<Happening>): readonly Happening[] {
  let firstAnswer = Infinity;
  for (const { until } of left) firstAnswer = Math.min(firstAnswer, until);
  return [...left].filter(({ from }) => from <= firstAnswer).toSorted((a, b) => a.until - b.until || a.from - b.from);
}

function isTrue({ saw, counted }: Happening, there: ReadonlyMap<string, string>): boolean {
  for (const [item, value] of saw) if ((there.get(item) ?? null) !== value) return false;
  return counted.every(({ items, number }) => items.filter((item) => there.has(item)).length === number);
}

function put(values: ReadonlyMap<string, string | null>, there: Map<string, string>): void {
  for (const [item, value] of values) {
    if (value === null) there.delete(item);
    else there.set(item, value);
  }
}

function stateOf(left: ReadonlySet<Happening>, there: ReadonlyMap<string, string>): string {
  const names = Array.from(left, ({ name }) => name).toSorted();
  const items = Array.from(there, ([item, value]) => `${item}=${value}`).toSorted();
  return `${names.join()}|${items.join()}`;
}

// ── Of a simulated history ───────────────────────────────────────────────────────────────────────────────────────────

/** The executions with an answer, and those whose writes are in storage. */
function happeningsOf(history: readonly Operation[], log: readonly Applied[]): readonly Happening[] {
  const applied = new Map(log.map((done) => [done.executionId, done]));
  const found = new Map<ExecutionId, Happening>();
  for (const { name, executionId, invokedAt, answeredAt, outcome: told } of history) {
    const done = applied.get(executionId);
    const outcome = told ?? done?.outcome ?? null;
    if (outcome === null) continue;
    const before = found.get(executionId);
    const saw = new Map<string, string | null>();
    const counted: { items: readonly string[]; number: number }[] = [];
    for (const [unit, value] of toldBy(outcome).seen) {
      const span = isSpan(unit) ? spanOf(unit) : null;
      if (span === null) saw.set(unit, value);
      else {
        const items = (ITEMS_OF.get(span.table) ?? []).filter((item) => contains(span, splitUnit(item).key));
        counted.push({ items, number: Number(value ?? 0) });
      }
    }
    found.set(executionId, {
      name: before?.name ?? name,
      from: Math.min(before?.from ?? Infinity, invokedAt),
      until: Math.min(before?.until ?? Infinity, answeredAt ?? Infinity),
      saw,
      counted,
      wrote: new Map((done?.writes ?? []).map(({ unit, value }): [UnitId, string | null] => [unit, writerOf(value)])),
    });
  }
  return [...found.values()];
}

/** A search that was given up says nothing. */
export function checkBySearch(
  history: readonly Operation[],
  log: readonly Applied[],
): { readonly kind: Search["kind"]; readonly problems: readonly string[] } {
  const search = searchOrder(happeningsOf(history, log));
  const { kind } = search;
  if (kind !== "none") return { kind, problems: [] };
  const furthest = search.furthest.join(" → ");
  return { kind, problems: [`no order explains what clients were told; the longest one ends with ${furthest}`] };
}
