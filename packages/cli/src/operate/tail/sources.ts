/** Where lines come from. Each source goes on until it is told to stop, through restarts of what it listens to. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { LOG_PATH, type LogQuestion } from "@radical/protocol";
import { CommandError, messageOf } from "@radical/app/command-error";
import { askPrimary, linesOf, PrimaryError, type PrimaryAddress } from "@radical/admin";
import { JsonObjects } from "./json-objects.ts";
import { edgeLine, primaryLine, type TailLine } from "./tail-line.ts";

export interface TailSink {
  readonly onLine: (line: TailLine) => void;
  /** Something that the user should know of a source: that it is connected, or why not. */
  readonly onState: (source: string, state: "connected" | { readonly lost: string }) => void;
}

export interface PrimarySource {
  /** Asked anew for each connection, since a server that is started again may be elsewhere. */
  readonly address: () => Promise<PrimaryAddress>;
  /** Among several: which one, for people. Null: there is one, and if that can't be listened to at the beginning nobody listens. */
  readonly name: string | null;
}

/** Waits between attempts, doubled each time. */
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/** Of the log of a server that is reached again: more than it keeps. */
const ALL_LINES = 1_000_000;

export function tailPrimary(
  { address, name }: PrimarySource,
  question: Pick<LogQuestion, "lines" | "level">,
  sink: TailSink,
  signal: AbortSignal,
): Promise<void> {
  /** The last time that a line named, and all lines of that time: what is kept by the server was shown up to these. */
  let lastTime: string | null = null;
  const ofLastTime = new Set<string>();
  const source = name === null ? "primary" : `primary ${name}`;
  return again({ source, isAlone: name === null }, sink, signal, async (connected) => {
    const lines = lastTime === null ? question.lines : ALL_LINES;
    const response = await askPrimary(await address(), "POST", LOG_PATH, { ...question, lines, follow: true }, signal);
    connected();
    const shownUntil = lastTime;
    let isShown = shownUntil !== null;
    for await (const text of linesOf(response)) {
      const time = timeOf(text);
      isShown &&= time <= shownUntil!;
      if (isShown && (time < shownUntil! || ofLastTime.has(text))) continue;
      if (time !== lastTime) ofLastTime.clear();
      ofLastTime.add(text);
      lastTime = time;
      sink.onLine(primaryLine(text, name));
    }
  });
}

function timeOf(text: string): string {
  return /"time":"([^"]*)"/.exec(text)?.[1] ?? "";
}

const EDGE = { source: "edge", isAlone: true } as const;

/** Lines of the locations of `radical dev`. */
export function tailDev(url: () => Promise<string>, sink: TailSink, signal: AbortSignal): Promise<void> {
  return again(EDGE, sink, signal, async (connected) => {
    const response = await fetch(await url(), { signal });
    if (!response.ok) throw new Error(`status ${response.status} ${await response.text()}`);
    connected();
    for await (const text of linesOf(response)) sink.onLine(edgeLine("info", text, null));
  });
}

export interface WranglerTail {
  /** Program and arguments: `wrangler tail <worker> --format json`. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** An event of `wrangler tail --format json`, as far as it is looked at. */
interface WorkerEvent {
  readonly outcome?: string;
  readonly logs?: readonly { readonly message?: readonly unknown[]; readonly level?: string }[];
  readonly exceptions?: readonly { readonly name?: string; readonly message?: string }[];
  readonly event?: { readonly request?: { readonly cf?: { readonly colo?: string } } } | null;
}

/** Lines of a deployed Worker, by `wrangler tail` as a child process. */
export function tailWorker(
  { command, cwd, environment }: WranglerTail,
  sink: TailSink,
  signal: AbortSignal,
): Promise<void> {
  const [program = "", ...args] = command;
  return again(EDGE, sink, signal, async (connected) => {
    const child = spawn(program, args, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    const stop = (): boolean => child.kill("SIGTERM");
    signal.addEventListener("abort", stop);
    const words: string[] = [];
    createInterface(child.stderr).on("line", (line) => {
      words.push(line);
      if (words.length > 10) words.shift();
    });
    const objects = new JsonObjects();
    let isConnected = false;
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      for (const event of objects.add(chunk)) for (const line of linesOfEvent(event as WorkerEvent)) sink.onLine(line);
    });
    child.once("spawn", () => {
      isConnected = true;
      connected();
    });
    const ended = await new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (code, by) => resolve(`it ended with ${by ?? `code ${code}`}`));
    });
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) throw new Error(`wrangler tail: ${isConnected ? [...words, ended].join("\n") : ended}`);
  });
}

function linesOfEvent({ outcome, logs = [], exceptions = [], event }: WorkerEvent): readonly TailLine[] {
  const location = event?.request?.cf?.colo ?? null;
  const lines = logs.map(({ message = [], level = "log" }) => {
    const text = message.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ");
    return edgeLine(level, text, location);
  });
  for (const { name = "Error", message = "" } of exceptions)
    lines.push(edgeLine("error", `${name}: ${message}`, location));
  // A Worker that was ended from outside has no word for it.
  if (
    outcome !== undefined &&
    !["ok", "canceled", "responseStreamDisconnected"].includes(outcome) &&
    exceptions.length === 0
  )
    lines.push(edgeLine("error", `the Worker was ended: ${outcome}`, location));
  return lines;
}

/** Listens again and again. Throws only for what another attempt can't mend. */
async function again(
  { source, isAlone }: { readonly source: string; readonly isAlone: boolean },
  { onState }: TailSink,
  signal: AbortSignal,
  listen: (connected: () => void) => Promise<void>,
): Promise<void> {
  let waitMs = FIRST_WAIT_MS;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    let reason = "the connection has ended";
    try {
      await listen(() => {
        waitMs = FIRST_WAIT_MS;
        onState(source, "connected");
      });
    } catch (error) {
      // Wrong from the beginning it stays wrong, and who asked should be told.
      const isHopeless =
        error instanceof CommandError && (!(error instanceof PrimaryError) || error.failure === "primary_refused_key");
      if (!signal.aborted && (isHopeless || (isFirst && isAlone && error instanceof PrimaryError))) throw error;
      reason = messageOf(error);
    }
    if (signal.aborted) return;
    onState(source, { lost: reason });
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    waitMs = Math.min(2 * waitMs, MAX_WAIT_MS);
  }
}
