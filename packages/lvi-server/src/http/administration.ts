/** What an operator's commands ask: their questions checked, and the answers that go on. */
import type { ServerResponse } from "node:http";
import {
  encodeOutcome,
  LOG_LINE_LEVELS,
  type LogQuestion,
  MalformedError,
  RadicalError,
  type SampleLine,
  type SampleQuestion,
} from "@radical/protocol";
import type { Sample } from "../core/sampling.ts";
import type { Engine } from "../engine.ts";
import type { LogRing } from "../log-ring.ts";
import { jsonOf } from "./json-body.ts";
import { LineStream } from "./line-stream.ts";

const MAX_EVERY = 1_000_000_000;
const MAX_HANDLERS = 1_000;

/** Answers with lines of log. Throws a RadicalError if too many follow already. */
export function logAnswer(recent: LogRing, body: Uint8Array, heartbeatMs: number): (response: ServerResponse) => void {
  const { lines, follow, level } = readLogQuestion(jsonOf(body));
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
export function samplesAnswer(
  engine: Engine,
  body: Uint8Array,
  heartbeatMs: number,
): (response: ServerResponse) => void {
  const { every, handlers, values } = readSampleQuestion(jsonOf(body));
  return (response) => {
    let leftOut = 0;
    const tell = (line: SampleLine): boolean => stream.write(`${JSON.stringify(line)}\n`);
    const stream = new LineStream(response, { heartbeatMs, onClose: () => stop() });
    const stop = engine.sample(
      { every, handlers: handlers.length === 0 ? null : new Set(handlers), values },
      {
        take: (sample) => {
          if (leftOut > 0 && tell({ kind: "left-out", count: leftOut })) leftOut = 0;
          if (sample !== null ? tell(lineOf(sample)) : tell({ kind: "left-out", count: 1 })) return;
          leftOut++;
        },
        end: (reason) => stream.end(`${JSON.stringify({ kind: "ended", reason } satisfies SampleLine)}\n`),
      },
    );
  };
}

function lineOf({ executionId, path, location, invocation, commitId, versions, values, ended }: Sample): SampleLine {
  const { module, handler, args, environment } = invocation;
  const { timeMs, seed, caller } = environment;
  return {
    kind: "sample",
    execution: executionId,
    path,
    location,
    module,
    handler,
    args: base64(args),
    timeMs,
    seed: base64(seed),
    caller,
    commit: commitId,
    versions: Array.from(versions, ([unit, { commitId: of, hash }]) => [unit, hash === null ? null : of] as const),
    values:
      values === null
        ? null
        : Array.from(values, ([unit, value]) => [unit, value === null ? null : base64(value)] as const),
    ended:
      ended === null
        ? null
        : {
            outcome: base64(encodeOutcome(ended.outcome)),
            writes: ended.writes.map(({ unit, value }) => [unit, value === null ? null : base64(value)] as const),
          },
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function readLogQuestion({ lines, follow, level }: Readonly<Record<string, unknown>>): LogQuestion {
  if (!isNumberIn(lines, 0, Number.MAX_SAFE_INTEGER)) throw new MalformedError("lines is no number of lines");
  if (typeof follow !== "boolean") throw new MalformedError("follow is neither true nor false");
  const least = LOG_LINE_LEVELS.find((known) => known === level);
  if (least === undefined) throw new MalformedError(`level is none of ${LOG_LINE_LEVELS.join(", ")}`);
  return { lines, follow, level: least };
}

function readSampleQuestion({ every, handlers, values }: Readonly<Record<string, unknown>>): SampleQuestion {
  if (!isNumberIn(every, 1, MAX_EVERY)) throw new MalformedError("every is no number from 1");
  if (!Array.isArray(handlers) || handlers.length > MAX_HANDLERS || handlers.some((name) => typeof name !== "string"))
    throw new MalformedError("handlers is no list of names");
  if (typeof values !== "boolean") throw new MalformedError("values is neither true nor false");
  return { every, handlers: handlers as readonly string[], values };
}

function isNumberIn(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}
