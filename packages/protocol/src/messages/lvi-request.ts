/**
 * The LVI request (paper, section 3.2): the one request from a location that locks, validates and makes the write
 * intent. Sent again under the same execution id it asks for the outcome of the first.
 */
import { CborReader, CborWriter } from "../cbor.ts";
import { type Environment, SEED_BYTES } from "../environment.ts";
import { byUnit, type CommitId, type ExecutionId, type ModuleHash, type SessionId, type UnitId } from "../ids.ts";
import { MalformedError, TooLargeError } from "../malformed-error.ts";
import { MAX_EFFECTS, readTaskKey } from "../tasks.ts";
import { Recent } from "../recent.ts";
import { isSpan } from "../span.ts";
import type { Version } from "../version.ts";
import { LVI_REQUEST } from "../wire-version.ts";
import {
  closeMessage,
  openMessage,
  readCaller,
  readCommitId,
  readExecutionId,
  readUnits,
  readMessageHead,
  readModuleHash,
  readName,
  readNullable,
  readSessionId,
  readUnitId,
  readVersion,
  writeNullable,
  writeVersion,
} from "./fields.ts";

/** A unit of the read/write set; each unit is listed once. */
export type AccessedUnit =
  /**
   * Validated; with null the cache lacks the unit: validation fails, and the reply repairs it. A span is only read, and its
   * version is never null: a location without rows takes it for empty.
   */
  | { readonly unit: UnitId; readonly mode: "read" | "read-write"; readonly version: Version | null }
  /** A blind write is locked and needs no version. */
  | { readonly unit: UnitId; readonly mode: "write" };

export interface LviRequest {
  readonly executionId: ExecutionId;
  readonly module: ModuleHash;
  readonly handler: string;
  /** Encoded arguments: a map by parameter name. */
  readonly args: Uint8Array;
  readonly environment: Environment;
  readonly location: string;
  /** Null: the location has no set (near storage by choice, not found, or its speculation met an undeclared access). */
  readonly units: readonly AccessedUnit[] | null;
  /**
   * The client chose the execution id and may repeat it: the outcome is kept even if the execution writes nothing.
   */
  readonly retained: boolean;
  /** Milliseconds from receipt after which the location has given up. */
  readonly deadlineMs: number;
  /**
   * Which sending of the execution by its location this is, from 1. With a later one the location gives up the answers
   * to the earlier ones. Sendings with the same seed belong together.
   */
  readonly attempt: number;
  /**
   * The latest commit id that the server has told the location: the request was sent after that id was taken. Null: the
   * location has not heard of the server yet.
   */
  readonly seen: CommitId | null;
  /** It came as a GET: a run that writes or has effects ends without any of them, as `wrote_on_get`. */
  readonly mustNotWrite: boolean;
  /** The handler may have effects: the execution goes the way of those that write, even if it writes nothing. */
  readonly mayEffect: boolean;
  /**
   * The keys of the tasks that its set names, in order, each once. Nothing is locked for them. Its followup names no other.
   * Empty without a set.
   */
  readonly lanes: readonly string[];
  /** The session of the isolate that sends; null: it has none. */
  readonly session: SenderSession | null;
  /**
   * Of a workflow: how long the answer may wait for its end. Then, or as soon as the workflow is durable if it is 0, the answer is
   * `working`. Left out: 0, as of every other handler.
   */
  readonly waitMs?: number;
}

/** An LVI request brings this of its sender's session. */
export interface SenderSession {
  readonly id: SessionId;
  /** The number of the last line that the isolate has processed. */
  readonly heard: number;
  /** The session is to hear of each change of a unit that the execution reads, from the step on in which it reads. */
  readonly watches: boolean;
}

const MODES = ["read", "write", "read-write"] as const;
const { floor: REQUIRED_FIELDS, sent: FIELDS } = LVI_REQUEST;
const SESSION_FIELDS = 3;
/** Longest deadline, and longest time for which an answer may wait. */
export const MAX_DEADLINE_MS = 600_000;
/** Most bytes of encoded arguments. */
export const MAX_ARGUMENT_BYTES = 8 * 1024 * 1024;
/** Longest name of a handler or of a location. */
export const MAX_NAME_LENGTH = 256;

export function encodeLviRequest(request: LviRequest): Uint8Array {
  const writer = new CborWriter();
  openMessage(writer, FIELDS);
  writer.text(request.executionId).text(request.module).text(request.handler).bytes(request.args);
  writer.integer(request.environment.timeMs).bytes(request.environment.seed).text(request.location);
  writeNullable(writer, request.units, (units) => {
    writer.array(units.length);
    for (const accessed of units) {
      writer
        .array(accessed.mode === "write" ? 2 : 3)
        .text(accessed.unit)
        .integer(MODES.indexOf(accessed.mode));
      if (accessed.mode !== "write")
        writeNullable(writer, accessed.version, (version) => writeVersion(writer, version));
    }
  });
  writer.boolean(request.retained).integer(request.deadlineMs);
  writer.integer(request.mayEffect ? 1 : 0);
  writer.integer(request.attempt);
  writeNullable(writer, request.seen, (id) => writer.text(id));
  writeNullable(writer, request.environment.caller, (caller) => writer.text(caller));
  writeNullable(writer, request.session, ({ id, heard, watches }) => {
    writer.array(SESSION_FIELDS).text(id).integer(heard).boolean(watches);
  });
  writer.boolean(request.mustNotWrite);
  writer.array(request.lanes.length);
  for (const lane of request.lanes) writer.text(lane);
  writer.integer(request.waitMs ?? 0);
  return writer.finish();
}

/** Throws a MalformedError. */
export function decodeLviRequest(bytes: Uint8Array): LviRequest {
  const reader = new CborReader(bytes);
  const length = readMessageHead(reader, REQUIRED_FIELDS);
  const executionId = readExecutionId(reader);
  const module = readModuleHash(reader);
  const handler = readName(reader, "handler", MAX_NAME_LENGTH);
  const args = reader.copiedBytes();
  if (args.length > MAX_ARGUMENT_BYTES)
    throw new TooLargeError(`arguments of ${args.length} bytes; at most ${MAX_ARGUMENT_BYTES}`);
  const timeMs = reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  const seed = reader.copiedBytes();
  if (seed.length !== SEED_BYTES) throw new MalformedError(`seed of ${seed.length} bytes`);
  const location = readName(reader, "location", MAX_NAME_LENGTH);
  const units = readNullable(reader, () =>
    readUnits(reader, () => reader.recent(ACCESSED_UNITS, () => readAccessedUnit(reader))),
  );
  if (units !== null && !areDistinct(units)) throw new MalformedError("unit listed twice");
  const retained = reader.boolean();
  const deadlineMs = reader.integerIn(0, MAX_DEADLINE_MS);
  const mayEffect = reader.integerIn(0, 1) === 1;
  const attempt = length > REQUIRED_FIELDS ? reader.integerIn(1, Number.MAX_SAFE_INTEGER) : 1;
  const seen = length > REQUIRED_FIELDS + 1 ? readNullable(reader, () => readCommitId(reader)) : null;
  const caller = length > REQUIRED_FIELDS + 2 ? readNullable(reader, () => readCaller(reader)) : null;
  const session = length > REQUIRED_FIELDS + 3 ? readNullable(reader, () => readSenderSession(reader)) : null;
  const mustNotWrite = length > REQUIRED_FIELDS + 4 ? reader.boolean() : false;
  const lanes = length > REQUIRED_FIELDS + 5 ? readLanes(reader) : NO_LANES;
  const waitMs = length > REQUIRED_FIELDS + 6 ? reader.integerIn(0, MAX_DEADLINE_MS) : 0;
  closeMessage(reader, Math.max(0, length - FIELDS));
  const environment = { timeMs, seed, caller };
  const request: LviRequest = {
    executionId,
    module,
    handler,
    args,
    environment,
    location,
    units,
    retained,
    deadlineMs,
    attempt,
    seen,
    mustNotWrite,
    mayEffect,
    lanes,
    session,
  };
  return waitMs === 0 ? request : { ...request, waitMs };
}

function areDistinct(units: readonly AccessedUnit[]): boolean {
  // In the order in which they are sent; earlier releases order by UTF-16.
  if (units.every((accessed, index) => index === 0 || byUnit(units[index - 1]!, accessed) < 0)) return true;
  return new Set(units.map(({ unit }) => unit)).size === units.length;
}

const NO_LANES: readonly string[] = [];

function readLanes(reader: CborReader): readonly string[] {
  const count = reader.array();
  if (count === 0) return NO_LANES;
  if (count > MAX_EFFECTS) throw new TooLargeError(`${count} lanes of one execution; at most ${MAX_EFFECTS}`);
  const lanes: string[] = [];
  for (let left = count; left > 0; left--) {
    const lane = readTaskKey(reader);
    if (lanes.length > 0 && lane <= lanes.at(-1)!) throw new MalformedError("lanes are not in order");
    lanes.push(lane);
  }
  return lanes;
}

function readSenderSession(reader: CborReader): SenderSession {
  const length = reader.array();
  if (length < SESSION_FIELDS) throw new MalformedError("malformed session");
  const id = readSessionId(reader);
  const heard = reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  const watches = reader.boolean();
  // Of a later sender.
  for (let i = SESSION_FIELDS; i < length; i++) reader.skip();
  return { id, heard, watches };
}

/** Those of hot units, with the version that they have for a while. */
const ACCESSED_UNITS = new Recent<AccessedUnit>(128);

function readAccessedUnit(reader: CborReader): AccessedUnit {
  const length = reader.array();
  const unit = readUnitId(reader);
  const mode = MODES[reader.integerIn(0, MODES.length - 1)]!;
  if (length !== (mode === "write" ? 2 : 3)) throw new MalformedError("malformed unit");
  if (mode !== "read" && isSpan(unit)) throw new MalformedError("a span that is written");
  if (mode === "write") return { unit, mode };
  const version = reader.nullIfNext() ? null : readVersion(reader);
  if (isSpan(unit) && (version === null || version.hash === null)) throw new MalformedError("a span without a digest");
  return { unit, mode, version };
}
