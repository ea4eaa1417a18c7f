/** What an operator's commands ask: their questions checked, and the answers that go on. */
import { createHmac, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  checkRedaction,
  encodeOutcome,
  isKey,
  type LifeLine,
  LOG_LINE_LEVELS,
  type LogQuestion,
  MalformedError,
  MAX_AHEAD_MS,
  RadicalError,
  redact,
  type RedactionQuestion,
  type RedactionSecrets,
  type SampledVersion,
  sampledVersion,
  type SampleLine,
  type SampleQuestion,
  SCHEDULE_ACTIONS,
  type ScheduleQuestion,
  type TimeMove,
} from "@radical/protocol";
import { toBase64 } from "../base64.ts";
import type { Sample } from "../core/sampling.ts";
import type { Engine } from "../engine.ts";
import type { LogRing } from "../log-ring.ts";
import { LineStream } from "./line-stream.ts";

/** A question as it was sent. */
type Asked = Readonly<Record<string, unknown>>;

/** Lives of this time are written together. */
const LIVES_MS = 20;
const MAX_EVERY = 1_000_000_000;
const MAX_HANDLERS = 1_000;

/** Answers with lines of log. Throws a RadicalError if too many follow already. */
export function logAnswer(recent: LogRing, asked: Asked, heartbeatMs: number): (response: ServerResponse) => void {
  const { lines, follow, level } = readLogQuestion(asked);
  let stream: LineStream | null = null;
  let dropped = 0;
  const tell = (line: string): void => {
    if (stream === null) return;
    if (dropped > 0 && stream.write(`${JSON.stringify({ level: "warn", event: "lines_dropped", count: dropped })}\n`))
      dropped = 0;
    if (!stream.write(line)) dropped++;
  };
  const kept = recent.last(lines, level);
  const stop = follow ? recent.follow(level, tell) : null;
  if (follow && stop === null)
    throw new RadicalError("primary_busy", "too many follow the log already", "end another radical tail");
  return (response) => {
    stream = new LineStream(response, { heartbeatMs, onClose: () => stop?.() });
    for (const line of kept) tell(line);
    if (!follow) stream.end();
  };
}

/** Answers with a sample a line. */
export function samplesAnswer(engine: Engine, asked: Asked, heartbeatMs: number): (response: ServerResponse) => void {
  const { every, handlers, values, redact: redaction, perSecond = null } = readSampleQuestion(asked);
  const secrets = redactionSecrets();
  return (response) => {
    let leftOut = 0;
    const tell = (line: SampleLine): boolean => stream.write(`${JSON.stringify(line)}\n`);
    const stream = new LineStream(response, { heartbeatMs, onClose: () => stop?.() });
    const stop = engine.sample(
      { every, handlers: handlers.length === 0 ? null : new Set(handlers), values, perSecond },
      {
        take: (sample, left) => {
          leftOut += left;
          if (leftOut > 0 && tell({ kind: "left-out", count: leftOut })) leftOut = 0;
          if (sample === null) return;
          const { module, handler } = sample.invocation;
          const hidden = engine.secretsOf(module, handler);
          if (hidden === null || !tell(lineOf(sample, hidden, redaction, secrets))) leftOut++;
        },
        end: (reason) => stream.end(`${JSON.stringify({ kind: "ended", reason } satisfies SampleLine)}\n`),
      },
    );
    if (stop === null)
      stream.end(
        `${JSON.stringify({ kind: "ended", reason: "too many take samples already" } satisfies SampleLine)}\n`,
      );
  };
}

/** Answers with a life a line, or with none if too many follow already. */
export function livesAnswer(engine: Engine, asked: Asked, heartbeatMs: number): (response: ServerResponse) => void {
  const { every } = asked;
  if (!isNumberIn(every, 1, MAX_EVERY)) throw new MalformedError("every is not a number from 1");
  return (response) => {
    let waiting: LifeLine[] = [];
    const write = (): void => {
      const lines = waiting.map((line) => JSON.stringify(line)).join("\n");
      waiting = [];
      stream.write(`${lines}\n`);
    };
    const stream = new LineStream(response, { heartbeatMs, onClose: () => stop?.() });
    const stop = engine.live(every, (life, leftOut) => {
      if (waiting.length === 0) setTimeout(write, LIVES_MS).unref();
      if (leftOut > 0) waiting.push({ kind: "left-out", count: leftOut });
      waiting.push(life);
    });
    if (stop === null) stream.end();
  };
}

function lineOf(
  sample: Sample,
  hidden: readonly string[],
  redaction: RedactionQuestion,
  secrets: RedactionSecrets,
): SampleLine {
  const { executionId, path, location, invocation, commitId, versions } = sample;
  const { module, handler, environment } = invocation;
  const { timeMs } = environment;
  const units = [...versions.keys()];
  const whole = { ...environment, args: invocation.args, secrets: hidden, values: sample.values, units };
  const { redacted, units: named, ...shown } = redact(redaction, whole, secrets);
  const { args, seed, caller, values } = shown;
  // Made of what is redacted.
  const ended = redaction.length + redacted.length === 0 ? sample.ended : null;
  return {
    kind: "sample",
    execution: executionId,
    path,
    location,
    module,
    handler,
    args: toBase64(args),
    timeMs,
    seed: toBase64(seed),
    caller,
    commit: commitId,
    versions: Array.from(versions, ([unit, version], index): SampledVersion => {
      const [, commit, digest] = sampledVersion(unit, version);
      return digest === undefined || redaction.length > 0 ? [named[index]!, commit] : [named[index]!, commit, digest];
    }),
    values:
      values === null
        ? null
        : Array.from(values, ([unit, value]) => [unit, value === null ? null : toBase64(value)] as const),
    ended:
      ended === null
        ? null
        : {
            outcome: toBase64(encodeOutcome(ended.outcome)),
            writes: ended.writes.map(({ unit, value }) => [unit, value === null ? null : toBase64(value)] as const),
          },
    redacted,
  };
}

/** Of one answer: who has two of them can't say which pseudonyms are of one text. */
function redactionSecrets(): RedactionSecrets {
  const key = randomBytes(32);
  return {
    pseudonym: (text) => pseudonymOf(text, createHmac("sha512", key).update(text).digest()),
    seed: () => randomBytes(16),
  };
}

const FIRST_LETTER = 97;
const LETTERS = 26;

/** Lowercase letters, as many as the text has UTF-16 units. */
function pseudonymOf(text: string, digest: Uint8Array): string {
  return Array.from({ length: text.length }, (_, index) =>
    String.fromCodePoint(FIRST_LETTER + (digest[index % digest.length]! % LETTERS)),
  ).join("");
}

function readLogQuestion({ lines, follow, level }: Asked): LogQuestion {
  if (!isNumberIn(lines, 0, Number.MAX_SAFE_INTEGER)) throw new MalformedError("lines is no number of lines");
  if (typeof follow !== "boolean") throw new MalformedError("follow is neither true nor false");
  const least = LOG_LINE_LEVELS.find((known) => known === level);
  if (least === undefined) throw new MalformedError(`level is none of ${LOG_LINE_LEVELS.join(", ")}`);
  return { lines, follow, level: least };
}

function readSampleQuestion({ every, handlers, values, redact: names, perSecond = null }: Asked): SampleQuestion {
  if (!isNumberIn(every, 1, MAX_EVERY)) throw new MalformedError("every is not a number from 1");
  if (!Array.isArray(handlers) || handlers.length > MAX_HANDLERS || handlers.some((name) => typeof name !== "string"))
    throw new MalformedError("handlers is no list of names");
  if (typeof values !== "boolean") throw new MalformedError("values is neither true nor false");
  if (perSecond !== null && !isNumberIn(perSecond, 1, MAX_EVERY))
    throw new MalformedError("perSecond is not a number from 1");
  return { every, handlers: handlers as readonly string[], values, redact: checkRedaction(names), perSecond };
}

/** Throws a MalformedError. */
export function readScheduleQuestion({ handler, action }: Asked): ScheduleQuestion {
  if (typeof handler !== "string" || !isKey(handler)) throw new MalformedError("handler is not the name of a handler");
  const known = SCHEDULE_ACTIONS.find((one) => one === action);
  if (known === undefined) throw new MalformedError(`action is none of ${SCHEDULE_ACTIONS.join(", ")}`);
  return { handler, action: known };
}

/** Throws a MalformedError. */
export function readTimeMove({ aheadMs }: Asked): TimeMove {
  if (!isNumberIn(aheadMs, 0, MAX_AHEAD_MS)) throw new MalformedError(`aheadMs is not a number up to ${MAX_AHEAD_MS}`);
  return { aheadMs };
}

function isNumberIn(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}
