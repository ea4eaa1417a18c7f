/**
 * Listening: a location hears of what others have written without asking each time. It asks one question, and the answer goes
 * on, line by line, until either side ends it. Lines have three strengths:
 *
 *   A *hint* may be lost. It brings entries that are applied, and a cache takes them only forward. A location validates all that
 *   it uses, so a lost, late or doubled hint costs time only.
 *   A *watch* tells of each change of a unit (`changed`). The line is numbered, and no writer waits for it.
 *   A *read lease* promises that a unit keeps its version (`lease`) until the session has heard of its end (`revoke`), or until a
 *   time. These lines are numbered, and writers wait until they are heard.
 *
 * Numbers belong to a *session*, which the server mints, and go up by one over all kinds. The isolate processes lines in order. A
 * number that is missing, and an id that is not that of its session, end all that the session promised.
 *
 * A line is JSON. A hint is a list of entries. Any other line begins with the name of its kind, and a reader skips kinds that it
 * does not know. Empty lines show that the connection lives.
 */
import { isContentHash } from "../content-hash.ts";
import { isCommitId, isSessionId, type SessionId, type UnitId } from "../ids.ts";
import { MalformedError, TooLargeError } from "../malformed-error.ts";
import { isUnitId } from "../span.ts";
import { isIntact, type Repair, type Version } from "../version.ts";
import { HINT, LEASE } from "../wire-version.ts";

/** `POST` of a {@link ListeningQuestion}; the answer has {@link Line}s, and empty lines between. */
export const UPDATES_PATH = "/v1/updates";

/** `POST` of a {@link Heard}; the answer is a {@link HeardReply}. An older server has no such path. */
export const HEARD_PATH = "/v1/updates/heard";

/** The time after which the server ends an answer, and its location asks again. */
export const UPDATES_MS = 25_000;

const MAX_NAME_LENGTH = 256;

/** JSON. */
export interface ListeningQuestion {
  readonly location: string;
  /** The isolate that listens there. The answer to its earlier question ends. */
  readonly listener: string;
  /** The session to go on with; null: a new one; undefined: the location knows no sessions, and gets hints only. */
  readonly session: SessionId | null | undefined;
  /** The number of the last line of the session that the isolate has processed. */
  readonly heard: number;
  /** A session that the isolate has given up, with all that it promised. The server forgets it at once. */
  readonly ends: SessionId | null;
}

/** Throws a MalformedError. */
export function checkListeningQuestion(question: Readonly<Record<string, unknown>>): ListeningQuestion {
  const { location, listener, session, heard = 0, ends = null } = question;
  if (!isName(location) || !isName(listener)) throw new MalformedError("no location, or no listener");
  if (session !== undefined && session !== null && !isSession(session)) throw new MalformedError("malformed session");
  if (!isNumber(heard)) throw new MalformedError("malformed number of a line");
  if (ends !== null && !isSession(ends)) throw new MalformedError("malformed session that ends");
  return { location, listener, session, heard, ends };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_NAME_LENGTH;
}

function isSession(value: unknown): value is SessionId {
  return typeof value === "string" && isSessionId(value);
}

/** Of a line, or of reads. */
function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** How often the session was answered by its lease of a unit, since it last said so. */
export interface Served {
  readonly unit: UnitId;
  readonly reads: number;
}

/** A session has processed its lines up to a number, and asks for more time. A lower number than before changes nothing. */
export interface Heard {
  readonly session: SessionId;
  readonly n: number;
  readonly served: readonly Served[];
}

/** `renewed`: times of the server's monotonic clock, of which only the difference means something. */
export type HeardReply =
  | { readonly kind: "renewed"; readonly untilMs: number; readonly nowMs: number }
  /** The session is over forever, with all that it promised. */
  | { readonly kind: "lapsed" };

/** Most units of one message. */
const MAX_SERVED = 10_000;

export function encodeHeard({ session, n, served }: Heard): string {
  return JSON.stringify({ session, n, served: served.map(({ unit, reads }) => [unit, reads]) });
}

/** Throws a MalformedError. */
export function checkHeard({ session, n, served = [] }: Readonly<Record<string, unknown>>): Heard {
  if (!isSession(session)) throw new MalformedError("malformed session");
  if (!isNumber(n)) throw new MalformedError("malformed number of a line");
  if (!Array.isArray(served)) throw new MalformedError("malformed list of reads");
  if (served.length > MAX_SERVED) throw new TooLargeError(`reads of ${served.length} units; at most ${MAX_SERVED}`);
  return { session, n, served: served.map((each: unknown) => servedIn(each)) };
}

function servedIn(served: unknown): Served {
  const [unit, reads] = Array.isArray(served) ? (served as readonly unknown[]) : [];
  if (!isUnit(unit) || !isNumber(reads)) throw new MalformedError("malformed reads of a unit");
  return { unit, reads };
}

export function encodeHeardReply(reply: HeardReply): string {
  switch (reply.kind) {
    case "renewed":
      return JSON.stringify({ until: reply.untilMs, now: reply.nowMs });
    case "lapsed":
      return JSON.stringify({ lapsed: true });
  }
}

/** Null: the text is not an answer to {@link Heard}. */
export function decodeHeardReply(text: string): HeardReply | null {
  const json = jsonIn(text);
  if (typeof json !== "object" || json === null) return null;
  const { until, now, lapsed } = json as Readonly<Record<string, unknown>>;
  if (lapsed === true) return { kind: "lapsed" };
  if (typeof until !== "number" || typeof now !== "number") return null;
  return Number.isFinite(until) && Number.isFinite(now) ? { kind: "renewed", untilMs: until, nowMs: now } : null;
}

/** A unit, and the version that it keeps. Absence is a version. */
export interface LeasedUnit {
  readonly unit: UnitId;
  readonly version: Version;
}

export type Line =
  /** Entries as one execution wrote them. */
  { readonly kind: "hint"; readonly entries: readonly Repair[] } | SessionLine | NumberedLine;

/**
 * The first line of each answer to a question with a session. The next numbered line has the number `n` + 1: those of the
 * session that were not heard follow again, in order.
 */
export interface SessionLine {
  readonly kind: "session";
  readonly session: SessionId;
  readonly n: number;
}

/** A line of a session. */
export type NumberedLine =
  | { readonly kind: "lease"; readonly n: number; readonly units: readonly LeasedUnit[] }
  /** The leases of these units end. */
  | { readonly kind: "revoke"; readonly n: number; readonly units: readonly UnitId[] }
  /** These units, which the session watches, have changed. */
  | { readonly kind: "changed"; readonly n: number; readonly units: readonly UnitId[] };

/** Values go as base 64, which each platform does in its own way. */
export interface Base64 {
  readonly encode: (bytes: Uint8Array) => string;
  /** Null: the text is not base 64. */
  readonly decode: (text: string) => Uint8Array | null;
}

/** The line, and its end. */
export function encodeLine(line: Line, { encode }: Pick<Base64, "encode">): string {
  return `${JSON.stringify(fieldsOf(line, encode))}\n`;
}

function fieldsOf(line: Line, encode: Base64["encode"]): readonly unknown[] {
  switch (line.kind) {
    case "hint":
      return line.entries.map(({ unit, entry: { version, value } }) => [
        unit,
        version.commitId,
        version.hash,
        value === null ? null : encode(value),
      ]);
    case "session":
      return [line.kind, line.session, line.n];
    case "lease":
      return [line.kind, line.n, line.units.map(({ unit, version: { commitId, hash } }) => [unit, commitId, hash])];
    case "revoke":
    case "changed":
      return [line.kind, line.n, line.units];
  }
}

/**
 * Null: the kind of the line is not known here, or it is not a line. Damaged entries of a hint are left out. A numbered line
 * with anything damaged is null, so its number is missing.
 */
export function decodeLine(text: string, { decode }: Pick<Base64, "decode">): Line | null {
  const line = jsonIn(text);
  if (!Array.isArray(line)) return null;
  const fields = line as readonly unknown[];
  if (typeof fields[0] === "string") return sessionLineIn(fields) ?? numberedLineIn(fields);
  const entries: Repair[] = [];
  for (const update of fields) {
    const entry = Array.isArray(update) && update.length >= HINT.floor ? entryIn(update, decode) : null;
    if (entry !== null) entries.push(entry);
  }
  return { kind: "hint", entries };
}

function sessionLineIn([kind, session, n]: readonly unknown[]): SessionLine | null {
  return kind === "session" && isSession(session) && isNumber(n) ? { kind, session, n } : null;
}

function numberedLineIn([kind, n, units]: readonly unknown[]): NumberedLine | null {
  if (!isNumber(n) || !Array.isArray(units)) return null;
  switch (kind) {
    case "lease": {
      const leased: LeasedUnit[] = [];
      for (const each of units as readonly unknown[]) {
        const unit = Array.isArray(each) && each.length >= LEASE.floor ? leasedIn(each) : null;
        if (unit === null) return null;
        leased.push(unit);
      }
      return { kind, n, units: leased };
    }
    case "revoke":
    case "changed":
      return units.every(isUnit) ? { kind, n, units } : null;
    default:
      return null;
  }
}

function leasedIn([unit, commitId, hash]: readonly unknown[]): LeasedUnit | null {
  if (!isUnit(unit) || typeof commitId !== "string" || !isCommitId(commitId)) return null;
  if (hash !== null && (typeof hash !== "string" || !isContentHash(hash))) return null;
  return { unit, version: { commitId, hash } };
}

function isUnit(value: unknown): value is UnitId {
  return typeof value === "string" && isUnitId(value);
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function entryIn([unit, commitId, hash, text]: readonly unknown[], decode: Base64["decode"]): Repair | null {
  if (!isUnit(unit)) return null;
  if (typeof commitId !== "string" || !isCommitId(commitId)) return null;
  if (hash === null && text === null) return { unit, entry: { version: { commitId, hash }, value: null } };
  if (typeof hash !== "string" || !isContentHash(hash) || typeof text !== "string") return null;
  const value = decode(text);
  if (value === null) return null;
  const entry = { version: { commitId, hash }, value };
  return isIntact(unit, entry) ? { unit, entry } : null;
}
