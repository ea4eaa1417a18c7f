/** What an operator's commands ask: their questions checked, and the answers that go on. */
import { createHmac, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  checkRedaction,
  type CommandTrace,
  encodeEffects,
  encodeEntry,
  encodeOutcome,
  isExecutionId,
  isKey,
  isRedacted,
  type Journal,
  type LifeLine,
  LOG_LINE_LEVELS,
  type LogQuestion,
  MalformedError,
  MAX_AHEAD_MS,
  RadicalError,
  type RecordingKeyQuestion,
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
import type { Sample, SampledActivation } from "../core/sampling.ts";
import type { Engine } from "../engine.ts";
import type { LogRing } from "../log-ring.ts";
import { isSealingKeyId } from "../storage/sealing/sealing-key.ts";
import type { SchemaState } from "../storage/storage.ts";
import { LineStream, type Streaming } from "./line-stream.ts";

/** A question as it was sent. */
type Asked = Readonly<Record<string, unknown>>;

/** Lives of this time are written together. */
const LIVES_MS = 20;
const MAX_EVERY = 1_000_000_000;
const MAX_HANDLERS = 1_000;

/** Answers with lines of log. Throws a RadicalError if too many follow already. */
export function logAnswer(recent: LogRing, asked: Asked, streaming: Streaming): (response: ServerResponse) => void {
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
    throw new RadicalError("primary_busy", "Too many commands follow the log already.", "End another radical tail.");
  return (response) => {
    stream = new LineStream(response, { ...streaming, onClose: () => stop?.() });
    for (const line of kept) tell(line);
    if (!follow) stream.end();
  };
}

/** Answers with a sample a line. */
export function samplesAnswer(engine: Engine, asked: Asked, streaming: Streaming): (response: ServerResponse) => void {
  const { every, handlers, values, redact: redaction, perSecond = null } = readSampleQuestion(asked);
  const secrets = redactionSecrets();
  return (response) => {
    let leftOut = 0;
    const tell = (line: SampleLine): boolean => stream.write(`${JSON.stringify(line)}\n`);
    const stream = new LineStream(response, { ...streaming, onClose: () => stop?.() });
    const stop = engine.sample(
      { every, handlers: handlers.length === 0 ? null : new Set(handlers), values, perSecond },
      {
        take: (sample, left) => {
          leftOut += left;
          if (leftOut > 0 && tell({ kind: "left-out", count: leftOut })) leftOut = 0;
          if (sample === null) return;
          const secretsOf = (callee: string) => engine.secretsOf(sample.invocation.module, callee);
          const line = lineOf(sample, secretsOf, redaction, secrets);
          if (line === null || !tell(line)) leftOut++;
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
export function livesAnswer(engine: Engine, asked: Asked, streaming: Streaming): (response: ServerResponse) => void {
  const { every } = asked;
  if (!isNumberIn(every, 1, MAX_EVERY)) throw new MalformedError("every is not a number from 1");
  return (response) => {
    let waiting: LifeLine[] = [];
    const write = (): void => {
      const lines = waiting.map((line) => JSON.stringify(line)).join("\n");
      waiting = [];
      stream.write(`${lines}\n`);
    };
    const stream = new LineStream(response, { ...streaming, onClose: () => stop?.() });
    const stop = engine.live(every, (life, leftOut) => {
      if (waiting.length === 0) setTimeout(write, LIVES_MS).unref();
      if (leftOut > 0) waiting.push({ kind: "left-out", count: leftOut });
      waiting.push(life);
    });
    if (stop === null) stream.end();
  };
}

/** `secretsOf`: a handler or a service of the module of the sample. Null: nobody knows its secrets, so nothing of it is told. */
function lineOf(
  sample: Sample,
  secretsOf: (callee: string) => readonly string[] | null,
  redaction: RedactionQuestion,
  secrets: RedactionSecrets,
): SampleLine | null {
  const { executionId, path, location, invocation, commitId, versions, task, step, activation } = sample;
  const { module, handler, environment } = invocation;
  const { timeMs } = environment;
  const hidden = secretsOf(handler);
  if (hidden === null) return null;
  const passed = secretsPassed(sample, secretsOf);
  const whole = {
    ...environment,
    args: invocation.args,
    secrets: hidden,
    values: sample.values,
    units: [...versions.keys()],
    ...(activation && { journal: entriesOf(activation) }),
  };
  const question = redaction === "all" ? redaction : [...redaction, ...passed];
  const { units: named, ...shown } = redact(question, whole, secrets);
  const { args, seed, caller, values, journal } = shown;
  const redacted = [...new Set([...shown.redacted, ...passed])];
  // Made of what is redacted.
  const ended = isRedacted(redaction, redacted) ? null : sample.ended;
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
      return digest === undefined || isRedacted(redaction, [])
        ? [named[index]!, commit]
        : [named[index]!, commit, digest];
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
            effects: toBase64(encodeEffects(ended.effects ?? [])),
          },
    ...(task && { task }),
    ...(step && { step: { workflow: step.workflow, round: step.round, command: step.command } }),
    ...(activation &&
      journal && {
        activation: {
          round: activation.round,
          entries: journal.map((entry) => toBase64(encodeEntry(entry))),
          hasTrapped: activation.entry === null,
        },
      }),
    redacted,
  };
}

/** The secrets among the arguments of the tasks and steps that it has asked for, as names to redact. */
function secretsPassed(
  { ended, activation }: Sample,
  secretsOf: (callee: string) => readonly string[] | null,
): readonly string[] {
  const callees = new Set<string>();
  for (const effect of ended?.effects ?? []) if (effect.kind === "enqueue") callees.add(effect.callee);
  for (const { commands } of activation === null ? [] : entriesOf(activation))
    for (const { kind, name } of commands) if (CALLING.has(kind)) callees.add(name);
  return [...callees].flatMap((callee) => (secretsOf(callee) ?? []).map((name) => `@arguments.${name}`));
}

const CALLING: ReadonlySet<CommandTrace["kind"]> = new Set(["start", "undo", "enqueue"]);

/** With its own. One that has trapped has added none. */
function entriesOf({ journal, arrivals, timeMs, entry }: SampledActivation): Journal {
  return [...journal, entry ?? { timeMs, arrivals, commands: [], wait: null }];
}

/** Of one answer: who has two of them can't say which pseudonyms are of one text. */
function redactionSecrets(): RedactionSecrets {
  const key = randomBytes(32);
  return {
    pseudonym: (text) => {
      const hash = createHmac("sha512", key).update(text).digest();
      // An id of a task or a workflow stays one, or its handler would trap.
      return isExecutionId(text) ? hash.toString("hex").slice(0, text.length) : pseudonymOf(text, hash);
    },
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
export function readRecordingKeyQuestion({ key }: Asked): RecordingKeyQuestion {
  if (key === null || (typeof key === "string" && isSealingKeyId(key))) return { key };
  throw new MalformedError("key is neither null nor the id of a key");
}

/** The order names the schema that it leads to, so that it means the same to whoever takes it. Throws a MalformedError. */
export function checkUpgradeOrder({ to }: Asked, schema: SchemaState | null): void {
  if (schema !== null && to !== schema.newest)
    throw new MalformedError(`the upgrade of this server leads to schema ${schema.newest}, not ${String(to)}`);
}

/** Nobody pauses writes by mistake. Throws a MalformedError. */
export function checkQuietOrder({ pauseWrites }: Asked): void {
  if (pauseWrites !== true) throw new MalformedError("pauseWrites is not true");
}

/** Throws a MalformedError. */
export function readTimeMove({ aheadMs }: Asked): TimeMove {
  if (!isNumberIn(aheadMs, 0, MAX_AHEAD_MS)) throw new MalformedError(`aheadMs is not a number up to ${MAX_AHEAD_MS}`);
  return { aheadMs };
}

function isNumberIn(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}
