/**
 * Whether a system did what its handlers say: all executions run again here, one after the other, each on what those before it
 * left. Every client must have got the answer that the run here gives, and what is stored in the end must be what is left here.
 */
import { type Outcome, type UnitId, valueToJson } from "@radical/protocol";
import type { HandlerModule } from "@radical/wasm-host";
import type { Executed, Placed, Versioned } from "./history.ts";
import { type Items, runOn } from "./model.ts";

/** What is wrong, in words; empty if nothing is. */
export type Problems = readonly string[];

/** `order`: places in the history, as strict serializability gives them; null: there is no order. */
export function replayVersioned(
  history: readonly Versioned[],
  order: readonly number[] | null,
  module: HandlerModule,
  initial: Items,
  final: Items,
): Problems {
  if (order === null) return ["There is no order of the executions in which each reads what those before it wrote."];
  return replay(
    order.flatMap((place) => history[place] ?? []),
    module,
    initial,
    final,
  );
}

/** `final`: null where nobody can look. */
export function replayPlaced(
  history: readonly Placed[],
  module: HandlerModule,
  initial: Items,
  final: Items | null,
): Problems {
  const byPosition = Map.groupBy(history, ({ position }) => position);
  const items = new Map(initial);
  const problems: string[] = [];
  for (const position of [...byPosition.keys()].toSorted((a, b) => a - b)) {
    const group = byPosition.get(position)!;
    // The one that wrote is the first at its position: it has made it.
    const writers = group.filter(({ wrote }) => wrote);
    if (writers.length !== (position === 0 ? 0 : 1))
      problems.push(`position ${position} has ${writers.length} executions that write, instead of one`);
    for (const executed of [...writers, ...group.filter(({ wrote }) => !wrote)]) {
      const { handler, id, wrote } = executed;
      if (writes(executed, items, module) !== wrote)
        problems.push(`${handler} ${id} ${wrote ? "wrote what it should not" : "did not write what it should"}`);
      problems.push(...runAgain(executed, items, module));
    }
  }
  return final === null ? problems : [...problems, ...differences(items, final)];
}

function writes(executed: Executed, items: Items, module: HandlerModule): boolean {
  return runOn(new Map(items), module, executed).writes.length > 0;
}

function replay(history: readonly Executed[], module: HandlerModule, initial: Items, final: Items): Problems {
  const items = new Map(initial);
  const problems = history.flatMap((executed) => runAgain(executed, items, module));
  return [...problems, ...differences(items, final)];
}

function runAgain(executed: Executed, items: Items, module: HandlerModule): Problems {
  const { outcome } = runOn(items, module, executed);
  if (executed.answer === null) return [];
  const { status, body } = executed.answer;
  const told = toldOf(status, body);
  const expected = expectedOf(outcome);
  return told === expected
    ? []
    : [`${executed.handler} ${executed.id} was answered ${told.slice(0, 120)}, not ${expected.slice(0, 120)}`];
}

/** The answer without what is only said to people. */
function toldOf(status: number, body: string): string {
  if (status === 200) return body;
  const { error } = JSON.parse(body) as { readonly error?: { readonly code: string; readonly message: string } };
  return `${status} ${error?.code} ${error?.message}`;
}

function expectedOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case "result":
      return `{"result":${valueToJson(outcome.value)}}`;
    case "abort":
      return `${outcome.status} ${outcome.code} ${outcome.message}`;
    case "trap":
      return `500 handler_trapped The handler failed: ${outcome.message}`;
  }
}

function differences(items: Items, final: Items): Problems {
  const units = new Set<UnitId>([...items.keys(), ...final.keys()]);
  return Array.from(units).flatMap((unit) => {
    const [expected, stored] = [items.get(unit), final.get(unit)];
    if (expected !== undefined && stored !== undefined && Buffer.compare(expected, stored) === 0) return [];
    return [`${unit} is ${stored === undefined ? "not stored" : "stored otherwise"}`];
  });
}
