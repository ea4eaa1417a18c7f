/** For tests: one message of each shape. Their bytes are golden. */
import { commitId, type ExecutionId, type ModuleHash, sessionId, unitId } from "../ids.ts";
import type { Followup } from "../messages/followup.ts";
import type { Base64, Heard, HeardReply, Line } from "../messages/listening.ts";
import type { LviReply } from "../messages/lvi-reply.ts";
import type { LviRequest, SenderSession } from "../messages/lvi-request.ts";
import type { ServiceAnswer, ServiceCall } from "../messages/service-call.ts";
import type { WorkflowQuestion } from "../messages/workflow-question.ts";
import { DEFAULT_LIMITS, type ModuleContent } from "../module-content.ts";
import type { Outcome } from "../outcome.ts";
import { DEFAULT_KEY_WINDOW_MS, serviceKeyOf, type ServiceRules } from "../services.ts";
import type { TaskRules } from "../task-rules.ts";
import { type RunEffect, taskIdOf } from "../tasks.ts";
import { entryOf } from "../version.ts";
import { ABI_VERSION } from "../wire-version.ts";
import { type JournalEntry, traceOf } from "../workflows.ts";

const executionId = "000102030405060708090a0b0c0d0e0f" as ExecutionId;
const value = Uint8Array.of(0x63, 0x61, 0x62, 0x63);
const times = { receivedAtMs: 1_700_000_000_000, sentAtMs: 1_700_000_000_000.5 };

export const request: LviRequest = {
  executionId,
  module: "ab".repeat(32) as ModuleHash,
  handler: "follow",
  args: Uint8Array.of(0xa0),
  environment: { timeMs: 1_700_000_000_123, seed: new Uint8Array(16).fill(9), caller: "user ann" },
  location: "JP",
  units: [
    { unit: unitId("users", "ann"), mode: "read-write", version: entryOf(commitId(1, 2), value).version },
    { unit: unitId("users", "bob"), mode: "read", version: entryOf(commitId(1, 1), null).version },
    { unit: unitId("users", "eve"), mode: "read", version: null },
    { unit: unitId("follows", "ann/bob"), mode: "write" },
  ],
  retained: true,
  deadlineMs: 10_000,
  attempt: 2,
  seen: commitId(3, 76),
  mustNotWrite: false,
  mayEffect: false,
  lanes: [],
  session: null,
};

export const session: SenderSession = { id: sessionId(3, 17), heard: 4, watches: true };

/** As text of one character for each byte, by the platform. */
export const BASE64: Base64 = {
  encode: (bytes) => btoa(String.fromCharCode(...bytes)),
  decode: (text) => {
    try {
      return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    } catch {
      return null;
    }
  },
};

export const hint: Line & { kind: "hint" } = {
  kind: "hint",
  entries: [
    { unit: unitId("users", "ann"), entry: entryOf(commitId(3, 77), value) },
    { unit: unitId("users", "bob"), entry: entryOf(commitId(3, 77), null) },
    { unit: unitId("posts", 'a "key" €'), entry: entryOf(commitId(3, 77), Uint8Array.of(0, 254, 255)) },
  ],
};

/** Of a session. */
export const lines: readonly Line[] = [
  { kind: "session", session: session.id, n: 4 },
  {
    kind: "lease",
    n: 5,
    units: [
      { unit: unitId("users", "ann"), version: entryOf(commitId(3, 77), value).version },
      { unit: unitId("users", "bob"), version: entryOf(commitId(3, 77), null).version },
    ],
  },
  { kind: "revoke", n: 6, units: [unitId("users", "ann"), unitId("posts", 'a "key" €')] },
  { kind: "changed", n: 7, units: [unitId("users", "bob")] },
];

export const heard: Heard = {
  session: session.id,
  n: 7,
  served: [
    { unit: unitId("users", "ann"), reads: 12 },
    { unit: unitId("posts", 'a "key" €'), reads: 0 },
  ],
};

export const heardReplies: readonly HeardReply[] = [
  { kind: "renewed", untilMs: 93_000.25, nowMs: 90_000.25 },
  { kind: "lapsed" },
];

export const outcomes: readonly Outcome[] = [
  { kind: "result", value },
  { kind: "abort", status: 409, code: "taken", message: "the name is taken" },
  { kind: "trap", code: "assertion_failed", message: "assertion failed at handlers/a.ts:3:1" },
];

export const replies: readonly LviReply[] = [
  { kind: "valid", commitId: commitId(3, 77), times, asOf: commitId(3, 78) },
  { kind: "valid", commitId: null, times, asOf: null },
  {
    kind: "executed",
    cause: "stale",
    outcome: outcomes[0]!,
    repairs: [
      { unit: unitId("users", "ann"), entry: entryOf(commitId(1, 5), value) },
      { unit: unitId("users", "bob"), entry: entryOf(commitId(1, 5), null) },
    ],
    times,
    asOf: commitId(3, 77),
  },
  { kind: "refused", code: "busy", message: "too many requests wait", retryAfterMs: 50, asOf: commitId(3, 77) },
  { kind: "refused", code: "unknown_module", message: "unknown module", retryAfterMs: null, asOf: commitId(3, 77) },
  { kind: "working", workflow: executionId, state: "waiting", retryAfterMs: 5_000, asOf: commitId(3, 77) },
];

export const questions: readonly WorkflowQuestion[] = [
  { workflow: executionId, handler: "buy", caller: "user ann", cancels: false, waitMs: 10_000, seen: commitId(3, 76) },
  { workflow: executionId, handler: "buy", caller: null, cancels: true, waitMs: 0, seen: null },
];

export const followup: Followup = {
  executionId,
  commitId: commitId(3, 77),
  outcome: outcomes[0]!,
  writes: [
    { unit: unitId("follows", "ann/bob"), value },
    { unit: unitId("users", "bob"), value: null },
  ],
  effects: [],
};

export const effects: readonly RunEffect[] = [
  { kind: "enqueue", callee: "remind", args: Uint8Array.of(0xa0), delayMs: 604_800_000, key: null },
  { kind: "enqueue", callee: "Thread.reply", args: Uint8Array.of(0xa1, 0x61, 0x61, 1), delayMs: 0, key: "order/é" },
  { kind: "cancel", task: taskIdOf(executionId, 1) },
  { kind: "send", workflow: executionId, name: "approved", value },
];

/** Of a journal. */
export const entries: readonly JournalEntry[] = [
  {
    timeMs: 1_700_000_000_000,
    arrivals: [],
    commands: [
      traceOf({ kind: "start", callee: "hold", args: Uint8Array.of(0xa0) }),
      traceOf({ kind: "undo", callee: "release", args: Uint8Array.of(0xa0) }),
      traceOf(effects[3]!),
    ],
    wait: { mode: "all", commands: [0], untilMs: null },
  },
  {
    timeMs: 1_700_000_000_250,
    arrivals: [{ kind: "settled", command: 0, settled: { kind: "value", value } }],
    commands: [traceOf({ kind: "signal", name: "approved", ms: 172_800_000 })],
    wait: { mode: "any", commands: [3], untilMs: 1_700_172_800_250 },
  },
  {
    timeMs: 1_700_172_800_251,
    arrivals: [
      { kind: "settled", command: 3, settled: { kind: "timer" } },
      { kind: "settled", command: 4, settled: { kind: "failed", status: 402, code: "declined", message: "no money" } },
      { kind: "settled", command: 5, settled: { kind: "unknown", message: "the connection broke" } },
      { kind: "settled", command: 6, settled: { kind: "signal", value } },
      { kind: "cancelled" },
    ],
    commands: [],
    wait: null,
  },
];

export const taskRules: Readonly<Record<string, TaskRules>> = {
  a: { attempts: 5 },
  b: { limit: { running: 10, rate: { count: 100, perMs: 1_000 } } },
  c: {
    limit: { running: null, rate: { count: 1, perMs: 60_000 } },
    schedule: {
      kind: "cron",
      fields: "0 3 * * *",
      zone: "Europe/Berlin",
      catchUp: 1,
      overlap: "wait",
      parameter: "tick",
    },
  },
  d: {
    limit: { running: 1, rate: null },
    schedule: { kind: "every", everyMs: 300_000, catchUp: 0, overlap: "skip", parameter: null },
  },
};

export const serviceCall: ServiceCall = {
  service: "charge",
  task: taskIdOf(executionId, 0),
  key: serviceKeyOf(taskIdOf(executionId, 0)),
  nonce: Uint8Array.from({ length: 16 }, (_, at) => at),
  timeoutMs: 30_000,
  args: Uint8Array.of(0xa0),
};

export const serviceAnswers: readonly ServiceAnswer[] = [
  { kind: "value", bytes: value },
  { kind: "refused", code: "declined", message: "the card is blocked" },
  { kind: "failed", code: "Error", message: "the bank is down" },
  { kind: "not-called", code: "unknown_service", message: "there is no service charge" },
];

export const serviceRules: Readonly<Record<string, ServiceRules>> = {
  charge: { keyWindowMs: DEFAULT_KEY_WINDOW_MS, once: false },
  mail: { keyWindowMs: 1_500_000, once: true },
};

export const module: ModuleContent = {
  abi: ABI_VERSION,
  limits: DEFAULT_LIMITS,
  handlers: {
    b: { plan: "near-storage", tables: null },
    a: { plan: "sliced", tables: { reads: ["follows", "users"], writes: [] } },
    d: { plan: "recorded", tables: { reads: [], writes: ["users"] } },
    c: { plan: "given", tables: { reads: [], writes: [] } },
  },
  wasm: value,
  rwWasm: Uint8Array.of(1),
};
