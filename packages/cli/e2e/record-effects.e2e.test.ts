/** Effects in samples: recorded of a real `radical dev`, and replayed after changes of what is enqueued and of a workflow. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  DASHBOARD_RECORDS_PATH,
  DASHBOARD_REPLAY_PATH,
  DASHBOARD_TOKEN_HEADER,
  type DashboardRecords,
  type Replay,
} from "@radical/protocol";
import { loadDeploymentKeys, privateKeyText } from "@radical/admin";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Recorded, recordOfLine } from "../src/replay/record-line.ts";
import {
  createProject,
  type Finished,
  radical,
  type RadicalDev,
  radicalDev,
  spawnRadical,
  type TemporaryProject,
} from "./radical-process.ts";

const SOON = { timeout: 100_000 };
const SLOW = { timeout: 300_000 };
const HANDLERS = `import { Secret, Signal, Table, cancel, enqueue, run, start } from "@radical/sdk";

const mails = new Table<string>("mails");
const seats = new Table<string>("seats");
const approved = new Signal<string>("approved");

export function order(id: string, to: string): string {
  mails.put(id, to);
  enqueue(mail(to, "thanks"), { key: id });
  const reminder = enqueue(mail(to, "come soon"), { delay: 86_400_000 });
  return reminder;
}

export function giveUp(task: string): void {
  cancel(task);
}

/** @internal */
export function mail(to: string, text: string): void {
  mails.put(\`\${to}/\${text}\`, text);
}

/** @workflow */
export function buy(seat: string, card: string): string {
  run(hold(seat));
  const by = approved.wait();
  const receipt = start(pay(seat, card));
  return receipt.get() + by;
}

/** @internal */
export function hold(seat: string): string {
  seats.put(seat, "held");
  return seat;
}

/** @internal */
export function pay(seat: string, card: string): string {
  return \`\${seat} \${card}\`;
}

export function approve(workflow: string, by: string): void {
  approved.send(workflow, by);
}

export function invite(to: string): void {
  enqueue(tellCode(to, \`code of \${to}\`));
}

/** @internal */
export function tellCode(to: string, code: Secret): void {
  mails.put(to, code.length > 0 ? "told" : "");
}

/** @workflow */
export function open(door: string, pin: Secret): string {
  return run(unlock(door, pin));
}

/** @internal */
export function unlock(door: string, pin: Secret): string {
  return pin;
}

export function stateOf(seat: string): string {
  const state = seats.get(seat);
  return state == null ? "free" : state;
}
`;
const CONFIG = `export default { name: "effects" };\n`;

let project: TemporaryProject;
let dev: RadicalDev;

beforeAll(async () => {
  project = await createProject({ "radical.config.ts": CONFIG, "handlers/shop.ts": HANDLERS });
  dev = await radicalDev(project.folder);
}, SLOW.timeout);
afterAll(async () => {
  dev?.child.kill("SIGTERM");
  await dev?.closed;
  await project?.remove();
});

async function call<T>(handler: string, args: unknown, headers: Readonly<Record<string, string>> = {}): Promise<T> {
  const response = await fetch(`${dev.url}/api/${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(args),
  });
  return (await response.json()) as T;
}

const linesOf = async (file: string): Promise<readonly string[]> =>
  (await readFile(join(project.folder, file), "utf8").catch(() => "")).split("\n").filter((line) => line !== "");

/** All that happens while an order and a workflow are carried out. Ctrl-C ends the recording, once it has all. */
async function recorded(
  file: string,
  args: readonly string[],
  names: { readonly to: string; readonly seat: string; readonly card: string; readonly by: string },
  env: NodeJS.ProcessEnv = {},
): Promise<readonly Recorded[]> {
  const child = spawnRadical(["record", "--output", file, ...args], { cwd: project.folder, env });
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  let told = "";
  child.stderr!.on("data", (chunk: Buffer) => (told += chunk.toString()));
  await expect.poll(() => told, SOON).toContain("recording ");
  const { to, seat, card, by } = names;
  const { result: reminder } = await call<{ result: string }>("order", { id: `order of ${to}`, to });
  await call("giveUp", { task: reminder });
  const { workflow } = await call<{ workflow: string }>("buy", { seat, card }, { prefer: "wait=0" });
  const has = (found: (record: Recorded) => boolean): Promise<void> =>
    expect.poll(async () => (await linesOf(file)).map(recordOfLine).some(found), SOON).toBe(true);
  const journaled = (entries: number) => (record: Recorded) =>
    record.kind === "activation" && record.journal.entries.length === entries;
  // It waits for the signal.
  await has(journaled(2));
  await call("approve", { workflow, by });
  await has(journaled(4));
  await has(({ handler }) => handler === "mail");
  await has(({ handler }) => handler === "giveUp");
  child.kill("SIGINT");
  expect([await closed, told]).toEqual([0, expect.stringMatching(/✓ \d+ executions recorded/)]);
  expect(told).not.toContain("ran differently");
  return (await linesOf(file)).map(recordOfLine);
}

const replay = (file: string, ...more: readonly string[]): Promise<Finished> =>
  radical(["replay", file, ...more], { cwd: project.folder });

/** Replays on other sources, which `radical dev` may take or not. */
async function replayOf(change: (source: string) => string, file: string, ...more: string[]): Promise<Finished> {
  const other = await createProject({ "radical.config.ts": CONFIG, "handlers/shop.ts": change(HANDLERS) });
  try {
    return await radical(["replay", join(project.folder, file), ...more], { cwd: other.folder });
  } finally {
    await other.remove();
  }
}

test(
  "an execution has its effects, a task its parent, a workflow its journal; and the same build does the same",
  SLOW,
  async () => {
    const names = { to: "ann", seat: "A1", card: "4711", by: "the boss" };
    const records = await recorded("records.jsonl", [], names);
    const of = (handler: string): readonly Recorded[] => records.filter((record) => record.handler === handler);
    const [ordered] = of("order");
    expect(JSON.parse((await linesOf("records.jsonl"))[records.indexOf(ordered!)]!)).toMatchObject({
      effects: [
        {
          kind: "enqueue",
          callee: "mail",
          args: { value: { to: "ann", text: "thanks" } },
          delayMs: 0,
          key: "order of ann",
        },
        { kind: "enqueue", callee: "mail", args: { value: { text: "come soon" } }, delayMs: 86_400_000, key: null },
      ],
    });
    expect(of("mail")).toMatchObject([{ path: "near-storage", task: { attempt: 1, parent: ordered!.execution } }]);
    const [first] = of("buy");
    const step = { workflow: first!.execution, round: 0 };
    expect(of("hold")).toMatchObject([{ step: { ...step, command: 0 }, effects: [] }]);
    // It writes nothing, so storage has not heard of it.
    expect(of("pay")).toMatchObject([{ step: { ...step, command: 2 }, outcome: { kind: "result" } }]);
    expect(of("approve")).toMatchObject([
      { effects: [{ kind: "send", workflow: first!.execution, name: "approved" }] },
    ]);
    expect(of("giveUp")).toMatchObject([{ effects: [{ kind: "cancel" }] }]);
    expect(of("buy").at(-1)).toMatchObject({
      path: "activation",
      journal: {
        round: 0,
        entries: [
          { arrivals: [], commands: [{ kind: "start", callee: "hold" }] },
          { commands: [{ kind: "signal", name: "approved", ms: null }], wait: { commands: [1] } },
          { arrivals: [{ settled: { kind: "signal" } }], commands: [{ kind: "start", callee: "pay" }] },
          { arrivals: [{ command: 2 }], commands: [], wait: null },
        ],
        end: { kind: "result" },
      },
    });
    expect(await replay("records.jsonl")).toEqual({ code: 0, stdout: "", stderr: "" });
  },
);

test("another argument of a task is told by its path, in words and in JSON, and nothing else is", SLOW, async () => {
  const change = (source: string): string => source.replace('mail(to, "thanks")', 'mail(to, "many thanks")');
  const { code, stdout, stderr } = await replayOf(change, "records.jsonl");
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^order [0-9a-f]{32}\n {2}effects\[0\]\.args\.text: "thanks" → "many thanks"\n$/),
  ]);
  expect(stderr).toMatch(/1 of \d+ recorded executions differ: order/);
  const { stdout: json } = await replayOf(change, "records.jsonl", "--json");
  expect(JSON.parse(json)).toMatchObject({
    withoutEffects: 0,
    differing: [
      {
        handler: "order",
        differences: [{ kind: "effect", path: "effects[0].args.text", was: '"thanks"', is: '"many thanks"' }],
      },
    ],
  });
});

test("an effect that is gone, and one that is new", SLOW, async () => {
  const gone = await replayOf(
    (source) => source.replace("  cancel(task);\n", "").replace("cancel, ", ""),
    "records.jsonl",
  );
  expect(gone.stdout).toMatch(
    /^giveUp [0-9a-f]{32}\n {2}effects\[0\] is missing: it was \{"kind":"cancel","task":"[0-9a-f]{32}"\}\n$/,
  );
  const added = await replayOf(
    (source) =>
      source.replace("  approved.send(workflow, by);\n", "  approved.send(workflow, by);\n  cancel(workflow);\n"),
    "records.jsonl",
  );
  expect(added.stdout).toMatch(
    /^approve [0-9a-f]{32}\n {2}effects\[1\] is new: \{"kind":"cancel","task":"[0-9a-f]{32}"\}\n$/,
  );
});

test(
  "a workflow whose code takes another way would be stuck, which is told once for each of its runs",
  SLOW,
  async () => {
    const other = await replayOf(
      (source) => source.replace("run(hold(seat));", 'run(hold(seat + "!"));'),
      "records.jsonl",
    );
    const told =
      'buy [0-9a-f]{32}\\n  commands\\[0\\]\\.args\\.seat: "A1" → "A1!" \\(handlers/shop\\.ts:\\d+:\\d+\\)\\n' +
      "  It takes another way than its journal: in this build the workflow would be stuck\\.\\n";
    expect([other.code, other.stdout]).toEqual([1, expect.stringMatching(new RegExp(`^(${told}){4}$`))]);
    const later = await replayOf(
      (source) => source.replace("start(pay(seat, card))", 'start(pay(seat, "0000"))'),
      "records.jsonl",
      "--json",
    );
    const { differing } = JSON.parse(later.stdout) as { differing: { differences: unknown[] }[] };
    // Of the runs before that nothing is different.
    expect(differing.map(({ differences }) => differences)).toEqual(
      Array.from({ length: 2 }, () => [
        {
          kind: "way",
          path: "commands[2].args.card",
          was: '"4711"',
          is: '"0000"',
          place: expect.stringContaining("handlers/shop.ts") as string,
        },
      ]),
    );
  },
);

test("records of an earlier release are replayed without effects, and that is said", SLOW, async () => {
  const before = (await linesOf("records.jsonl")).flatMap((line) => {
    const record = recordOfLine(line);
    return record.kind === "execution" ? [line.replace(/,"effects":\[.*\](?=,"logged"|\}$)/, "")] : [];
  });
  expect(before.join("\n")).not.toContain('"effects"');
  await writeFile(join(project.folder, "before.jsonl"), before.join("\n"));
  const change = (source: string): string => source.replace('mail(to, "thanks")', 'mail(to, "many thanks")');
  expect(await replayOf(change, "before.jsonl")).toEqual({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining(
      `${before.length} records are of an earlier release: they have no effects, so those were not compared`,
    ) as string,
  });
  const { stdout } = await replayOf(change, "before.jsonl", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ withoutEffects: before.length, differing: [] });
});

const SECRETS = { to: "Persephone", seat: "row 77", card: "4929 1234", by: "Demeter" };

test("what is redacted by name is nowhere in the file: not in tasks, journals or commands", SLOW, async () => {
  const redact = ["to", "seat", "card", "by", "id"].flatMap((name) => ["--redact", `@arguments.${name}`]);
  const records = await recorded("named.jsonl", redact, SECRETS);
  const bytes = await readFile(join(project.folder, "named.jsonl"), "utf8");
  for (const secret of Object.values(SECRETS)) {
    expect(bytes).not.toContain(secret);
    expect(bytes).not.toContain(Buffer.from(secret).toString("base64").slice(0, -3));
  }
  expect(records.find(({ handler }) => handler === "order")).toMatchObject({ effects: [{}, {}] });
  expect(records.findLast(({ handler }) => handler === "buy")).toMatchObject({
    journal: { entries: [{}, {}, {}, {}] },
    redacted: expect.arrayContaining(["@arguments.card", "@arguments.seat"]) as string[],
  });
  expect(await replay("named.jsonl")).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("a server that is named redacts all, and the journal still replays", SLOW, async () => {
  const stored = async (path: string): Promise<Readonly<Record<string, string>>> =>
    JSON.parse(await readFile(join(project.folder, ".radical", path), "utf8")) as Readonly<Record<string, string>>;
  const { lviServer } = await stored("running.json");
  const { administration } = await loadDeploymentKeys(join(project.folder, ".radical"));
  const env = { RADICAL_ADMIN_KEYS: privateKeyText(administration) };
  const records = await recorded("whole.jsonl", ["--plain", "--primary", lviServer!], SECRETS, env);
  const bytes = await readFile(join(project.folder, "whole.jsonl"), "utf8");
  for (const text of Object.values(SECRETS)) expect(bytes).not.toContain(text);
  const last = records.findLast(({ handler }) => handler === "buy");
  expect(last).toMatchObject({ journal: { entries: [{}, {}, {}, {}], end: { kind: "result" } }, redacted: ["*"] });
  expect(await replay("whole.jsonl")).toEqual({ code: 0, stdout: "", stderr: "" });
  // A difference is found on pseudonyms, too.
  const { stdout } = await replayOf(
    (source) => source.replace('"come soon"), { delay', '"come soon"), { key: "k", delay'),
    "whole.jsonl",
  );
  expect(stdout).toMatch(/^order [0-9a-f]{32}\n {2}effects\[1\]\.key: null → "k"\n$/);
});

test(
  "secrets are nowhere in records, not even with --whole: in no effect, no command and no result of a step",
  SLOW,
  async () => {
    const child = spawnRadical(["record", "--whole", "--output", "secrets.jsonl"], { cwd: project.folder });
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    let told = "";
    child.stderr!.on("data", (chunk: Buffer) => (told += chunk.toString()));
    await expect.poll(() => told, SOON).toContain("recording ");
    await call("invite", { to: "cyd" });
    expect(await call("open", { door: "d", pin: "four two" })).toMatchObject({ result: "four two" });
    const handlers = async (): Promise<ReadonlySet<string>> =>
      new Set((await linesOf("secrets.jsonl")).map((line) => recordOfLine(line).handler));
    await expect.poll(handlers, SOON).toEqual(new Set(["invite", "tellCode", "open", "unlock"]));
    child.kill("SIGINT");
    expect([await closed, told]).toEqual([0, expect.not.stringContaining("ran differently")]);
    const bytes = await readFile(join(project.folder, "secrets.jsonl"), "utf8");
    expect(bytes).not.toMatch(/code of|four two/);
    expect(bytes).toContain("@arguments.code");
    expect(await replay("secrets.jsonl")).toEqual({ code: 0, stdout: "", stderr: "" });
  },
);

test("the dashboard's Replay has the steps of effects, and the same differences", SLOW, async () => {
  const ready = dev.events.find((event) => event.event === "ready");
  const { origin, hash } = new URL(ready!.dashboard!);
  const headers = { [DASHBOARD_TOKEN_HEADER]: hash.slice(1), "content-type": "application/json" };
  const { records } = (await (await fetch(origin + DASHBOARD_RECORDS_PATH, { headers })).json()) as DashboardRecords;
  const asked = async (handler: string, build: "recorded" | "present"): Promise<Replay> => {
    const { execution } = records.find((record) => record.handler === handler)!;
    const body = JSON.stringify({ execution, build });
    return (await (await fetch(origin + DASHBOARD_REPLAY_PATH, { method: "POST", headers, body })).json()) as Replay;
  };
  const kindsOf = ({ steps }: Replay): readonly string[] => steps.map(({ kind, subject }) => `${kind} ${subject}`);
  expect(kindsOf(await asked("order", "recorded"))).toEqual([
    expect.stringContaining("write mails/") as string,
    "enqueue effects[0] mail",
    "enqueue effects[1] mail",
  ]);
  expect(kindsOf(await asked("buy", "recorded"))).toEqual([
    "start commands[0] hold",
    "wait commands[0]",
    "settled commands[0]",
    "signal commands[1] approved",
    "wait commands[1]",
    "settled commands[1]",
    "start commands[2] pay",
    "wait commands[2]",
    "settled commands[2]",
  ]);
  expect(await asked("buy", "present")).toMatchObject({ differences: [], reason: null });

  const isServing = (): number => dev.events.filter(({ event }) => event === "serving").length;
  const before = isServing();
  await writeFile(
    join(project.folder, "handlers/shop.ts"),
    HANDLERS.replace('mail(to, "thanks")', 'mail(to, "many thanks")').replace("pay(seat, card))", 'pay(seat, "0000"))'),
  );
  await expect.poll(isServing, SOON).toBeGreaterThan(before);
  expect((await asked("order", "present")).differences).toEqual([
    { path: "effects[0].args.text", was: '"thanks"', is: '"many thanks"' },
  ]);
  const stuck = await asked("buy", "present");
  const card = JSON.stringify((JSON.parse((await asked("buy", "recorded")).args) as { card: string }).card);
  expect(stuck.differences).toEqual([{ path: "commands[2].args.card", was: card, is: '"0000"' }]);
  expect(stuck.reason).toContain("would be stuck");
});
