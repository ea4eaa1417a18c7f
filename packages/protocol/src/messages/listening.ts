/**
 * Listening: a location hears of what others have written without asking each time. It asks one question, and the answer goes
 * on, line by line, until either side ends it. A *hint* is a line that may be lost. It brings entries that are applied, and a cache
 * takes them only forward. A location validates all that it uses, so a lost, late or doubled hint costs time only.
 *
 * A line is JSON. A hint is a list of entries. Any other line begins with the name of its kind, and a reader skips kinds that it
 * does not know. Empty lines show that the connection lives.
 */
import { isContentHash } from "../content-hash.ts";
import { isCommitId, isUnitId } from "../ids.ts";
import { MalformedError } from "../malformed-error.ts";
import { isIntact, type Repair } from "../version.ts";
import { HINT } from "../wire-version.ts";

/** `POST` of a {@link ListeningQuestion}; the answer has {@link Line}s, and empty lines between. */
export const UPDATES_PATH = "/v1/updates";

/** The time after which the server ends an answer, and its location asks again. */
export const UPDATES_MS = 25_000;

const MAX_NAME_LENGTH = 256;

/** JSON. */
export interface ListeningQuestion {
  readonly location: string;
  /** The isolate that listens there. The answer to its earlier question ends. */
  readonly listener: string;
}

/** Throws a MalformedError. */
export function checkListeningQuestion({ location, listener }: Readonly<Record<string, unknown>>): ListeningQuestion {
  if (!isName(location) || !isName(listener)) throw new MalformedError("no location, or no listener");
  return { location, listener };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_NAME_LENGTH;
}

export interface Line {
  readonly kind: "hint";
  /** Entries as one execution wrote them. */
  readonly entries: readonly Repair[];
}

/** Values go as base 64, which each platform does in its own way. */
export interface Base64 {
  readonly encode: (bytes: Uint8Array) => string;
  /** Null: the text is not base 64. */
  readonly decode: (text: string) => Uint8Array | null;
}

/** The line, and its end. */
export function encodeLine({ entries }: Line, { encode }: Pick<Base64, "encode">): string {
  const updates = entries.map(({ unit, entry: { version, value } }) => [
    unit,
    version.commitId,
    version.hash,
    value === null ? null : encode(value),
  ]);
  return `${JSON.stringify(updates)}\n`;
}

/** Null: the kind of the line is not known here, or it is not a line. Damaged entries of a hint are left out. */
export function decodeLine(text: string, { decode }: Pick<Base64, "decode">): Line | null {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(line) || typeof line[0] === "string") return null;
  const entries: Repair[] = [];
  for (const update of line as readonly unknown[]) {
    const entry = Array.isArray(update) && update.length >= HINT.floor ? entryIn(update, decode) : null;
    if (entry !== null) entries.push(entry);
  }
  return { kind: "hint", entries };
}

function entryIn([unit, commitId, hash, text]: readonly unknown[], decode: Base64["decode"]): Repair | null {
  if (typeof unit !== "string" || !isUnitId(unit)) return null;
  if (typeof commitId !== "string" || !isCommitId(commitId)) return null;
  if (hash === null && text === null) return { unit, entry: { version: { commitId, hash }, value: null } };
  if (typeof hash !== "string" || !isContentHash(hash) || typeof text !== "string") return null;
  const value = decode(text);
  if (value === null) return null;
  const entry = { version: { commitId, hash }, value };
  return isIntact(entry) ? { unit, entry } : null;
}
