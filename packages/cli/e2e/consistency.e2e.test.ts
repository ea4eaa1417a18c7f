/**
 * What clients see of real processes while the LVI server is killed again and again and the network between it and the
 * locations loses, repeats and delays messages: every promise of the protocol, checked from outside.
 */
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Random } from "@radical/history";
import { valueToJson } from "@radical/protocol";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type UnrulyLinks, unrulyLinks } from "./unruly-link.ts";

const LOCATIONS = ["here", "there", "elsewhere"];
const ACCOUNTS = ["ann", "bob", "cid", "dot"];
const BALANCE = 100;
const STAMPED = ["r1", "r2"];
const POOL = 12;
/** Calls of each client, and after how many calls of all of them the server is killed once more. */
const CALLS = 30;
const CALLS_PER_KILL = 75;

interface Call {
  readonly handler: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Order of events in this process: what ended before another began is before it in real time. */
  readonly began: number;
  readonly ended: number;
  /** `unknown`: it may have happened or not. */
  readonly kind: "done" | "aborted" | "unknown";
  readonly result: unknown;
  readonly code: string;
}

const seed = Math.trunc(Math.random() * 2 ** 32);
const random = new Random(seed);
const calls: Call[] = [];
const paths = new Map<string | null, number>();
let clock = 0;
let kills = 0;
let app: TestApp;
let links: UnrulyLinks;

beforeAll(async () => {
  links = unrulyLinks(
    (path) =>
      path === "/v1/followup"
        ? { drop: 0.2, duplicate: 0.2, lateMs: 1_500, maxDelayMs: 40 }
        : { drop: 0.04, duplicate: 0.15, lateMs: 1_500, maxDelayMs: 15 },
    random,
  );
  app = await startTestApp({
    project: fileURLToPath(new URL("./fixtures/bank", import.meta.url)),
    locations: Object.fromEntries(LOCATIONS.map((name) => [name, 0])),
    link: (location, server) => links.link(location, server),
    followupTimeoutMs: 300,
  });
});
afterAll(() => app?.stop());

test("every acknowledged effect happens exactly once and in order", async () => {
  onTestFailed(() => {
    console.log({ seed, kills, paths: Object.fromEntries(paths), ...links.counts, calls });
  });
  await perform("open", { names: ACCOUNTS, balance: BALANCE });
  await perform("refill", { pool: "pool", by: POOL });
  await Promise.all([
    client((turn) => perform("increment", { name: random.pick(["a", "b"]) }, { keyed: turn % 4 !== 0 })),
    client(() => perform("increment", { name: "a" })),
    client((turn) => (turn % 2 === 0 ? perform("count", { name: "a" }) : perform("increment", { name: "b" }))),
    client((turn) => perform("transfer", transferArgs(), { keyed: turn % 3 !== 0 })),
    client(() => perform("transfer", transferArgs())),
    client(() => perform("balances", { names: ACCOUNTS })),
    client((turn) => perform("stamp", { name: "r1", stamp: turn + 1 })),
    client((turn) => perform("stamp", { name: "r2", stamp: turn + 1 })),
    client(() => perform("stamps", { names: STAMPED }, { keyed: random.chance(0.5) })),
    client((turn) => perform("swing", { pointer: "p", to: random.pick(["x", "y", "z"]), stamp: turn + 1 })),
    client(() => perform("follow", { pointer: "p" })),
    client((turn) => perform("draw", { pool: "pool", holder: `first-${turn}` }, { keyed: turn % 2 === 0 })),
    client((turn) =>
      turn % 10 === 9
        ? perform("refill", { pool: "pool", by: 4 })
        : perform("draw", { pool: "pool", holder: `second-${turn}` }, { keyed: false }),
    ),
    client(() => perform("toggle", { name: "t" })),
    client(() => perform("toggled", { name: "t" })),
  ]);
  links.calm();
  await settled();

  expect(Math.min(links.counts.dropped, links.counts.replyDropped, links.counts.duplicated)).toBeGreaterThan(0);
  for (const path of ["speculative", "near-storage"]) expect(paths.get(path)).toBeGreaterThan(0);
  expect(kills).toBeGreaterThan(2);
  expectCounters();
  expectBalances();
  expectStamps();
  expectPointer();
  expectTickets();
  expectToggles();

  // Storage holds what was told, and every location reads it, also after another crash.
  const stored = items();
  kill();
  for (const location of LOCATIONS) {
    for (const name of ["a", "b"]) {
      expect(await read("count", { name }, location)).toBe(stored.get(`counters/${name}`)?.value ?? 0);
    }
    expect(await read("balances", { names: ACCOUNTS }, location)).toEqual(
      ACCOUNTS.map((name) => stored.get(`accounts/${name}`)?.value),
    );
    expect(await read("stamps", { names: STAMPED }, location)).toEqual(
      STAMPED.map((name) => stored.get(`registers/${name}`)?.stamp),
    );
    expect(await read("toggled", { name: "t" }, location)).toBe(stored.get("toggles/t")?.holder ?? "");
  }
});

// ── Clients ──────────────────────────────────────────────────────────────────────────────────────────────────────────

async function client(turn: (index: number) => Promise<void>): Promise<void> {
  for (let index = 0; index < CALLS; index++) await turn(index);
}

/** Calls until there is an outcome, each time at another location; without a key, once. */
async function perform(handler: string, args: Call["args"], { keyed = true } = {}): Promise<void> {
  const idempotencyKey = crypto.randomUUID();
  const began = ++clock;
  let call: Pick<Call, "kind" | "result" | "code"> = { kind: "unknown", result: undefined, code: "" };
  for (let attempt = 0; attempt < 100; attempt++) {
    const answer = await app
      .call(handler, args, { location: random.pick(LOCATIONS), ...(keyed ? { idempotencyKey } : {}) })
      .catch(() => null);
    const code = answer?.error?.code ?? "";
    paths.set(answer?.path ?? code, (paths.get(answer?.path ?? code) ?? 0) + 1);
    if (answer?.status === 200) call = { kind: "done", result: answer.result, code };
    else if (answer !== null && answer.status < 500) call = { kind: "aborted", result: undefined, code };
    else if (answer !== null && answer.status !== 503)
      throw new Error(`${handler}: ${answer.status} ${JSON.stringify(answer.error)}`);
    else if (keyed) continue;
    break;
  }
  const ended = ++clock;
  if (keyed && call.kind !== "unknown" && random.chance(0.2))
    await expectSameAgain(handler, args, idempotencyKey, call);
  calls.push({ handler, args, began, ended, ...call });
  if (calls.length % CALLS_PER_KILL === 0) kill();
}

/** A repeat with the same key at any location gets the same answer. */
async function expectSameAgain(
  handler: string,
  args: Call["args"],
  idempotencyKey: string,
  first: Pick<Call, "kind" | "result" | "code">,
): Promise<void> {
  const again = await app.call(handler, args, { location: random.pick(LOCATIONS), idempotencyKey }).catch(() => null);
  if (again === null || again.status === 503) return;
  expect({ result: again.result, code: again.error?.code ?? "" }, `${handler} again`).toEqual({
    result: first.result,
    code: first.code,
  });
}

async function read(handler: string, args: Call["args"], location: string): Promise<unknown> {
  for (;;) {
    const answer = await app.call(handler, args, { location });
    if (answer.status === 200) return answer.result;
    expect(answer.status).toBe(503);
  }
}

function transferArgs(): Call["args"] {
  const from = random.pick(ACCOUNTS);
  const to = random.pick(ACCOUNTS.filter((name) => name !== from));
  return { from, to, amount: random.between(1, 40) };
}

function kill(): void {
  const pid = app.lviServer.pid();
  if (pid === undefined) return;
  try {
    process.kill(pid, "SIGKILL");
    kills++;
  } catch {
    // It is being started again.
  }
}

// ── What must hold ───────────────────────────────────────────────────────────────────────────────────────────────────

function expectCounters(): void {
  for (const name of ["a", "b"]) {
    const about = calls.filter(({ args }) => args["name"] === name);
    const increments = about.filter(({ handler }) => handler === "increment");
    const told = increments.filter(({ kind }) => kind === "done").map(({ result }) => result);
    const final = items().get(`counters/${name}`)?.value ?? 0;
    const unknown = increments.length - told.length;
    expect(new Set(told).size, "each value is told once").toBe(told.length);
    expect(final).toBeGreaterThanOrEqual(told.length);
    expect(final).toBeLessThanOrEqual(told.length + unknown);
    expectRealTimeOrder(
      about.filter(({ handler, kind }) => kind === "done" && (handler === "increment" || handler === "count")),
    );
  }
}

/** Values only grow: who began after another had ended sees no less, and a new increment more. */
function expectRealTimeOrder(about: readonly Call[]): void {
  for (const later of about) {
    const least = Math.max(
      0,
      ...about.filter(({ ended }) => ended < later.began).map(({ result }) => result as number),
    );
    expect(later.result, `${later.handler} of event ${later.began}`).toBeGreaterThanOrEqual(
      later.handler === "increment" ? least + 1 : least,
    );
  }
}

function expectBalances(): void {
  const total = ACCOUNTS.length * BALANCE;
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  for (const { result } of done("balances")) {
    expect(sum(result as number[])).toBe(total);
    expect(Math.min(...(result as number[]))).toBeGreaterThanOrEqual(0);
  }
  const final = new Map(ACCOUNTS.map((name) => [name, items().get(`accounts/${name}`)?.value as number]));
  expect(sum([...final.values()])).toBe(total);
  if (calls.some(({ handler, kind }) => handler === "transfer" && kind === "unknown")) return;
  for (const { args } of done("transfer")) {
    const { from, to, amount } = args as { from: string; to: string; amount: number };
    final.set(from, final.get(from)! + amount);
    final.set(to, final.get(to)! - amount);
  }
  expect([...final.values()]).toEqual(ACCOUNTS.map(() => BALANCE));
}

/** One writer each, which goes on only when a stamp is acknowledged. */
function expectStamps(): void {
  const reads = done("stamps");
  for (const [index, name] of STAMPED.entries()) {
    const writes = calls.filter(({ handler, args }) => handler === "stamp" && args["name"] === name);
    expect(writes.every(({ kind }) => kind === "done")).toBe(true);
    for (const { result, began, ended } of reads) {
      const seen = (result as number[])[index]!;
      const acknowledged = writes.filter((write) => write.ended < began).length;
      const sent = writes.filter((write) => write.began < ended).length;
      expect(seen).toBeGreaterThanOrEqual(acknowledged);
      expect(seen).toBeLessThanOrEqual(sent);
    }
    expect(items().get(`registers/${name}`)?.stamp).toBe(writes.length);
  }
}

function expectPointer(): void {
  const writes = calls.filter(({ handler }) => handler === "swing");
  for (const { result, began, ended } of done("follow")) {
    const seen = result === "" ? 0 : Number((result as string).split("=")[1]);
    expect(seen).toBeGreaterThanOrEqual(writes.filter((write) => write.ended < began).length);
    expect(seen).toBeLessThanOrEqual(writes.filter((write) => write.began < ended).length);
    if (seen > 0)
      expect(result, "pointer and register are of one write").toBe(`${String(writes[seen - 1]!.args["to"])}=${seen}`);
  }
}

/** Every draw has a ticket of its own, and whoever was told there is none has none. */
function expectTickets(): void {
  const draws = done("draw");
  const holders = new Map(
    [...items()].filter(([unit]) => unit.startsWith("tickets/")).map(([unit, { holder }]) => [unit, holder]),
  );
  const refilled = done("refill").reduce((total, { args }) => total + (args["by"] as number), 0);
  const left = items().get("stock/pool")?.value as number;
  const unknown = of("unknown").filter(({ handler }) => handler === "draw");
  // A number that is free again after a refill is drawn again: only the last holder is kept.
  for (const [unit, holder] of holders) {
    const drawn = draws.filter(({ result }) => `tickets/${String(result)}` === unit);
    const holdersTold = [...drawn, ...unknown].map(({ args }) => args["holder"]);
    expect(holdersTold, `of ${unit}`).toContain(holder);
  }
  expect(left + draws.length).toBeLessThanOrEqual(refilled);
  expect(left + draws.length + unknown.length).toBeGreaterThanOrEqual(refilled);
}

/** One client toggles: created, deleted, created … each time with another id. */
function expectToggles(): void {
  const toggles = calls.filter(({ handler }) => handler === "toggle");
  for (const [index, { result }] of toggles.entries()) expect(result === "", `toggle ${index}`).toBe(index % 2 === 1);
  const made = toggles.map(({ result }) => result).filter((result) => result !== "");
  expect(new Set(made).size).toBe(made.length);
  for (const { result, began, ended } of done("toggled")) {
    const before = toggles.findLastIndex((toggle) => toggle.ended < began);
    const until = toggles.findLastIndex((toggle) => toggle.began < ended);
    const possible = ["", ...toggles.map((toggle) => toggle.result)].slice(before + 1, until + 2);
    expect(possible).toContain(result);
  }
}

function done(handler: string): readonly Call[] {
  return of("done").filter((call) => call.handler === handler);
}

function of(kind: Call["kind"]): readonly Call[] {
  return calls.filter((call) => call.kind === kind);
}

// ── Storage ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Stored {
  readonly value: number;
  readonly stamp: number;
  readonly holder: string;
}

function items(): ReadonlyMap<string, Partial<Stored>> {
  return query((database) => {
    const rows = database.prepare('SELECT "table", key, value FROM items').all() as {
      table: string;
      key: string;
      value: Uint8Array;
    }[];
    return new Map(
      rows.map(({ table, key, value }) => [`${table}/${key}`, JSON.parse(valueToJson(value)) as Partial<Stored>]),
    );
  });
}

/** Until nothing is pending. */
async function settled(): Promise<void> {
  for (;;) {
    // A read waits for what was told; what nobody wants is completed by its timer.
    await read("count", { name: "a" }, "here");
    const pending = query(
      (database) => database.prepare("SELECT count(*) AS n FROM pending_intents").get() as { n: number },
    );
    if (pending.n === 0) return;
  }
}

function query<T>(ask: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(app.stateFolder, "data.sqlite"), { readOnly: true, timeout: 60_000 });
  try {
    return ask(database);
  } finally {
    database.close();
  }
}
