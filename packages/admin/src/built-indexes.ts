/** Waits at the primary until the indexes of a module are built, so that no location serves a handler that could not read them. */
import { setTimeout as sleep } from "node:timers/promises";
import { type IndexFault, indexOf, type IndexStatus, terminalText } from "@radical/protocol";
import { CommandError } from "@radical/app/command-error";

const POLL_MS = 250;
/** Words about a build that lasts are told so often. */
const TELL_MS = 2_000;
/** So many faults are listed. */
const LISTED = 20;

export interface IndexWait {
  /** The names of the indexes of the module; left out: it has none. */
  readonly indexes: readonly string[] | undefined;
  /** As the primary says. */
  readonly ask: () => Promise<readonly IndexStatus[]>;
  /** Hears how far the build of an index is, in words. */
  readonly told?: (words: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Resolves when all of them are ready. A caller that stops waiting loses nothing: the primary goes on. Throws a CommandError that lists the
 * items which can't be indexed as they are.
 */
export async function untilIndexesBuilt({ indexes = [], ask, told, signal }: IndexWait): Promise<void> {
  if (indexes.length === 0) return;
  let toldAtMs = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    const named = (await ask()).filter(({ name }) => indexes.includes(name));
    const stopped = named.find(({ phase }) => phase === "stopped");
    if (stopped !== undefined) throw stoppedBy(stopped);
    const left = indexes.filter((name) => named.find((status) => status.name === name)?.phase !== "ready");
    if (left.length === 0) return;
    if (performance.now() - toldAtMs >= TELL_MS) {
      toldAtMs = performance.now();
      for (const status of named) if (status.phase !== "ready") told?.(wordsOf(status));
    }
    await sleep(POLL_MS, undefined, signal === undefined ? {} : { signal });
  }
}

/** In one line. */
function wordsOf({ name, items, waitsFor }: IndexStatus): string {
  if (waitsFor > 0) return `Index ${name}: waits for ${waitsFor} executions of builds without it`;
  return `Index ${name}: ${items.toLocaleString("en")} items done`;
}

function stoppedBy({ name, faults }: IndexStatus): CommandError {
  const { table = "", fields = [], unique = false } = indexOf(name) ?? {};
  const listed = faults.slice(0, LISTED).map((fault) => `  ${lineOf(fields, fault)}`);
  if (faults.length > LISTED) listed.push(`  and ${faults.length - LISTED} more`);
  const message = `The index ${name} can't be built: some items of ${table} can't be indexed as they are.\n${listed.join("\n")}`;
  const hint = unique
    ? `Change or delete all but one of the items of each line, and run the command again. radical data delete ${table} <key> deletes one.`
    : `Make ${fields.join(", ")} of these items shorter, and run the command again.`;
  return new CommandError("index_stopped", message, hint);
}

/** `email "ann@example.org": the keys u1, u2` */
function lineOf(fields: readonly string[], { kind, fields: values, keys, items }: IndexFault): string {
  const named = fields.map((field, at) => `${field} ${JSON.stringify((values[at] ?? "").slice(0, 80))}`).join(", ");
  const more = items > keys.length ? ` and ${items - keys.length} more` : "";
  const shown = terminalText(`${named}: the keys ${keys.join(", ")}${more}`);
  return kind === "too-long" ? `${shown}; too long for an index` : shown;
}
