/** What operators do with a deployment that runs: recording and replaying. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createLog, KeyRing, parseKeys, type RunningServer, SqliteStorage, startServer } from "@radical/lvi-server";
import { HEALTH_PATH } from "@radical/protocol";
import { drawn } from "@radical/command-line/short-tier";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  loadDeploymentKeys,
  newAdministrationKey,
  newDeploymentKeys,
  privateKeyText,
  serverKeysText,
} from "@radical/admin";
import { loadProject } from "@radical/app";
import { type Deployment, type Diagnosis, examine } from "../src/operate/doctor/doctor.ts";
import type { RoundTrip } from "../src/operate/doctor/edge-checks.ts";
import { devPortFinding, nodeFinding } from "../src/operate/doctor/machine-checks.ts";
import type { ServerReport } from "../src/operate/metrics/server-report.ts";
import { tailWorker, type TailSink } from "../src/operate/tail/sources.ts";
import type { TailLine } from "../src/operate/tail/tail-line.ts";
import { type RecordedExecution, recordOfLine } from "../src/replay/record-line.ts";
import { freePort } from "./free-port.ts";
import { meanwhile } from "./meanwhile.ts";
import {
  createProject,
  radical,
  type RadicalDev,
  radicalDev,
  spawnRadical,
  type TemporaryProject,
} from "./radical-process.ts";

const CONFIG = `export default { name: "guestbook", dev: { locations: { near: 0, far: 20 } } };\n`;
const HANDLERS = `import { abort, caller, log, now, Table, uuid } from "@radical/sdk";

export class Entry {
  author: string = "";
  text: string = "";
  likes: i32 = 0;
  at: i64 = 0;
}
const entries = new Table<Entry>("entries");

export function sign(author: string, text: string): string {
  const id = uuid();
  log(\`\${author} signs\`);
  entries.put(id, { author, text, likes: 0, at: now() });
  return id;
}

export function like(id: string): i32 {
  const entry = entries.get(id);
  if (entry == null) abort(404, "no_entry", "there is no entry " + id);
  entry.likes += 1;
  entries.put(id, entry);
  return entry.likes;
}

/** @nearstorage */
export function read(id: string): string {
  const entry = entries.get(id);
  return entry == null ? "" : entry.author + ": " + entry.text;
}

export function show(id: string): Entry | null {
  return entries.get(id);
}
`;

/** The short tier draws one. */
const parts = drawn("operation", ["tail and doctor", "record and replay", "sealed recordings"], 1);

let project: TemporaryProject;
let dev: RadicalDev;

beforeAll(async () => {
  project = await createProject({ "radical.config.ts": CONFIG, "handlers/guestbook.ts": HANDLERS });
  dev = await radicalDev(project.folder, ["--no-watch"]);
});
afterAll(async () => {
  dev.child.kill("SIGTERM");
  await dev.closed;
  await project.remove();
});

async function call(handler: string, args: unknown, location = "near"): Promise<unknown> {
  const headers = { "content-type": "application/json", "x-radical-location": location };
  const response = await fetch(`${dev.url}/api/${handler}`, { method: "POST", headers, body: JSON.stringify(args) });
  const { result } = (await response.json()) as { result?: unknown };
  return result;
}

/** Starts `radical record`, and once it records makes calls until it has ended. */
async function recordWhile(
  args: readonly string[],
  makeCalls: () => Promise<void>,
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; stderr: string }> {
  const child = spawnRadical(["record", ...args], { cwd: project.folder, env });
  let [stderr, stdout] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
      if (stderr.includes("recording ")) resolve();
    });
    void closed.then(() => reject(new Error(stderr + stdout)));
  });
  await makeCalls();
  return { code: await closed, stderr };
}

/** The files that have the word, in clear or in base 64, but for those in which the server keeps its items. */
async function filesWith(word: string, folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[/]([.]radical|node_modules)[/]/.test(file));
  const forms = [0, 1, 2].map((shift) => {
    const text = Buffer.from("x".repeat(shift) + word).toString("base64");
    // Characters that the neighbours have a part in are left out.
    return text.slice(shift === 0 ? 0 : 4, -4);
  });
  const texts = await Promise.all(files.map((file) => readFile(file, "latin1")));
  return files.filter((_, index) => [word, ...forms].some((form) => texts[index]!.includes(form)));
}

async function recordsOf(file: string): Promise<readonly RecordedExecution[]> {
  const records = (await readFile(join(project.folder, file), "utf8")).trim().split("\n").map(recordOfLine);
  return records.filter((record) => record.kind === "execution");
}

describe.runIf(parts.includes("tail and doctor"))("radical tail", () => {
  test("both halves, marked, through a restart of the server; Ctrl-C ends it cleanly", async () => {
    const child = spawnRadical(["tail", "--json"], { cwd: project.folder });
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    const [lines, notes]: [TailLine[], string[]] = [[], []];
    createInterface(child.stdout!).on("line", (line) => lines.push(JSON.parse(line) as TailLine));
    createInterface(child.stderr!).on("line", (line) => notes.push(line));
    const has = (found: () => unknown): Promise<void> => expect.poll(found, { timeout: 100_000 }).toBeTruthy();
    const count = (note: string): number => notes.filter((line) => line === note).length;
    await has(() => count("edge: connected") > 0 && count("primary: connected") > 0);
    // What the server has logged before.
    await has(() => lines.some(({ half, line }) => half === "primary" && line["event"] === "module_registered"));
    await call("show", { id: "nobody" }, "far");
    await has(() =>
      lines.some(({ half, location, handler }) => half === "edge" && location === "far" && handler === "show"),
    );

    const begun = (): number => lines.filter(({ line }) => line["event"] === "recovered").length;
    const before = { begun: begun(), connected: count("primary: connected") };
    await fetch(`${dev.url}/__radical/faults`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"killServer": true}',
    });
    await has(() => notes.some((line) => line.startsWith("primary: lost: ")));
    await has(() => count("primary: connected") > before.connected && begun() > before.begun);
    expect(notes.filter((line) => line.startsWith("edge: lost: "))).toEqual([]);
    child.kill("SIGINT");
    expect(await closed).toBe(0);
  });
});

describe.runIf(parts.includes("tail and doctor"))("radical metrics", () => {
  test("rates of the time that it has measured, as JSON and for people; once and until it is ended", async () => {
    const child = spawnRadical(["metrics", "--json", "--watch", "--seconds", "1"], { cwd: project.folder });
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    interface Told {
      readonly servers: readonly { readonly report: ServerReport }[];
    }
    const measured = (): Promise<ServerReport> =>
      new Promise((resolve, reject) => {
        createInterface(child.stdout!).on("line", (line) => {
          const [{ report }] = (JSON.parse(line) as Told).servers as [{ report: ServerReport }];
          if (report.requests.rate > 0) resolve(report);
        });
        void closed.then((code) => reject(new Error(`radical metrics has ended with ${code}`)));
      });
    // Calls go on until a second has some: under load they are slow.
    const calling = async (): Promise<void> => void (await call("sign", { author: "ann", text: "measured" }));
    const found = await meanwhile(calling, measured).finally(() => child.kill("SIGINT"));
    expect(await closed).toBe(0);
    expect(found).toMatchObject({ serves: true, requests: { refused: 0 }, tasks: { dead: 0 }, alarms: {} });
    expect(found.requests.seconds.p99).toBeGreaterThan(0);
    expect(found.memory.boundBytes).toBeGreaterThan(found.memory.bytes);

    const { code, stdout } = await radical(["metrics", "--seconds", "1"], { cwd: project.folder });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^the LVI server at \S+ {2}serves, epoch \d+, up for .*\n {2}requests +\S+\/s, valid /,
      ),
    });
  });

  test("a server that is not there", async () => {
    const { code, stderr } = await radical(["metrics", "--primary", "http://127.0.0.1:1"], {
      cwd: project.folder,
      env: { RADICAL_ADMIN_KEYS: privateKeyText(newAdministrationKey("main")) },
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("was not reached") });
  });
});

describe.runIf(parts.includes("tail and doctor"))("radical doctor", () => {
  const doctor = (...args: readonly string[]): ReturnType<typeof radical> =>
    radical(["doctor", ...args], { cwd: project.folder });
  const problemsOf = ({ findings }: Diagnosis): Readonly<Record<string, readonly string[]>> =>
    Object.fromEntries(
      findings
        .filter(({ problems }) => problems.length > 0)
        .map(({ check, problems }) => [check, problems.map(({ message }) => message)]),
    );
  const look = async (more: Partial<Deployment>): Promise<Diagnosis["findings"]> =>
    (
      await examine(
        await loadProject(project.folder),
        { primary: [], sites: [], served: [], findings: [], clocks: [], ...more },
        process.version,
      )
    ).findings;
  const problems = async (more: Partial<Deployment>): Promise<ReturnType<typeof problemsOf>> =>
    problemsOf({ findings: await look(more), roundTrips: [], readLeases: null });

  test("all is well: silence, and as JSON each location's round trip", async () => {
    expect(await doctor()).toEqual({ code: 0, stdout: "", stderr: "" });
    const { code, stdout } = await doctor("--json");
    const { ok, roundTrips, readLeases, checks } = JSON.parse(stdout) as {
      ok: boolean;
      readLeases: unknown;
      roundTrips: readonly RoundTrip[];
      checks: Diagnosis["findings"];
    };
    expect([code, ok]).toEqual([0, true]);
    expect(roundTrips.map(({ location }) => location)).toEqual(["near", "far"]);
    // Its link delays by 20 ms.
    expect(roundTrips[1]!.primaryMs).toBeGreaterThanOrEqual(20);
    expect(checks.map(({ check }) => check)).toEqual([
      "node",
      "dev_port",
      "primary",
      "read_leases",
      "locations",
      "modules",
      "clock",
    ]);
    expect(readLeases).toMatchObject({ readLeaseMs: 3_000 });
    expect(roundTrips[0]!.answered).toEqual({
      leased: 0,
      speculative: expect.any(Number) as number,
      "near-storage": expect.any(Number) as number,
    });
  });

  test("locations that are cut off from the primary: a line each, exit code 1", async () => {
    const setDown = (primaryDown: boolean): Promise<unknown> =>
      fetch(`${dev.url}/__radical/faults`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ primaryDown }),
      });
    await setDown(true);
    try {
      const { code, stdout } = await doctor();
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^✗ The location near: The primary did not answer: .*\n✗ The location far: The primary did not answer: .*\n$/,
      );
      // The page about it shows the same of other locations.
      const shown = await readFile(new URL("../../../docs/examples/output/doctor.txt", import.meta.url), "utf8");
      expect(stdout.replace("near", "VA").replace("far", "JP")).toBe(shown);
    } finally {
      await setDown(false);
    }
  });

  test("this machine: Node, and a port that somebody else has", async () => {
    expect([nodeFinding("v24.1.0").problems, nodeFinding("v25.0.0").problems]).toEqual([[], []]);
    expect(nodeFinding("v22.9.0").problems).toMatchObject([{ message: "This is Node v22.9.0, and radical needs 24." }]);
    const taken = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => taken.listen(port, "127.0.0.1", resolve));
    const message = `Port ${port} is in use by another program, so radical dev takes another one.`;
    expect((await devPortFinding(port, false)).problems).toMatchObject([{ message }]);
    expect((await devPortFinding(port, true)).problems).toEqual([]);
    await new Promise((resolve) => taken.close(resolve));
    expect((await devPortFinding(port, false)).problems).toEqual([]);
  });

  test("servers: one leads and one stands by; a wrong key, none that stands by, none at all", async () => {
    const folder = await mkdtemp(join(tmpdir(), "radical-servers-"));
    const keys = newDeploymentKeys("main");
    const start = (port: number): Promise<RunningServer> =>
      startServer({
        storage: new SqliteStorage(join(folder, "data.sqlite")),
        keys: new KeyRing(parseKeys(serverKeysText(keys))),
        port,
        workers: 1,
        // Longer than this machine may stop for.
        leaseMs: 30_000,
        log: createLog("silent", () => undefined),
        onHalt: () => undefined,
      });
    const key = keys.administration;
    const first = await start(await freePort());
    const port = await freePort();
    const second = start(port);
    const primary = [
      { url: first.url, key },
      { url: `http://127.0.0.1:${port}`, key },
    ];
    try {
      await expect.poll(() => problems({ primary }), { timeout: 100_000 }).toEqual({});
      const wrong = newAdministrationKey(key.id);
      expect(await problems({ primary: [{ url: first.url, key: wrong }] })).toEqual({
        primary: [`the LVI server at ${first.url} refuses the key "main-admin".`],
      });
      const alone = `http://127.0.0.1:${port}`;
      expect(await problems({ primary: [{ url: alone, key }] })).toEqual({
        primary: [`No LVI server leads: the LVI server at ${alone} is standby.`],
      });
      // A module that the locations run and this server does not have.
      const { location: ofDev } = await loadDeploymentKeys(join(project.folder, ".radical"));
      const sites = [{ url: dev.url, location: "near", key: ofDev }];
      expect(await problems({ primary: [primary[0]!], sites })).toMatchObject({
        modules: [
          expect.stringMatching(/^The location near runs module [0-9a-f]{12}, which the LVI server does not have\.$/),
        ],
      });
    } finally {
      await first.close(0);
      const other = await second;
      const { standby } = await problems({ primary });
      expect(standby).toEqual([
        expect.stringMatching(`^No server stands by: the LVI server at ${first.url} was not reached`),
      ]);
      await other.close(0);
      expect(await problems({ primary })).toMatchObject({
        primary: [expect.stringContaining("was not reached"), expect.stringContaining("was not reached")],
      });
      await rm(folder, { recursive: true });
    }
  });

  test("a location that is slow each time is told, one that was slow once is not", async () => {
    const trips: number[] = [];
    const server = createHttpServer((_, response) => {
      const health = { status: "ok", application: "a", module: "b", deployment: null, location: "VA" };
      response.end(JSON.stringify({ ...health, primaryMs: trips.shift() ?? 1_700 }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { location: itsKey } = newDeploymentKeys("main");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const sites = [{ url, location: null, key: itsKey }];
    trips.push(9_000, 1_600, 20);
    expect(await problems({ sites })).toEqual({});
    trips.push(1_800, 1_600, 9_000);
    expect(await problems({ sites })).toEqual({ locations: ["A round trip from VA to the primary takes 1600 ms."] });
    await new Promise((resolve) => server.close(resolve));
  });

  test("intents that the server can't bring to an end: it serves, and what they hold is locked", async () => {
    let overdue = 2;
    const server = createHttpServer((_, response) => {
      response.end(
        JSON.stringify({ state: "serving", epoch: 1, timeMs: Date.now(), pending: 3, overdue, modules: [] }),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const primary = [{ url, key: newAdministrationKey("main") }];
    expect((await problems({ primary }))["primary"]).toEqual([
      expect.stringMatching(/could not bring 2 pending intents to an end\. Their items stay locked/),
    ]);
    overdue = 0;
    expect((await problems({ primary }))["primary"]).toBeUndefined();
    await new Promise((resolve) => server.close(resolve));
  });

  test("handlers that leave their read/write set are named, with how often; those of builds that nobody serves are not", async () => {
    const [old, now] = ["ab".repeat(32), "cd".repeat(32)];
    const setsLeft = [
      { module: old, handler: "say", times: 3 },
      { module: now, handler: "say", times: 1 },
    ];
    const modules = [{ module: now, registered: true }];
    const server = createHttpServer(({ url }, response) => {
      const status = { state: "serving", epoch: 1, timeMs: Date.now(), pending: 0, setsLeft, modules };
      const health = { status: "ok", module: now, location: "VA", primaryMs: 1 };
      response.end(JSON.stringify(url === HEALTH_PATH ? health : status));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const primary = [{ url, key: newAdministrationKey("main") }];
    const words = (module: string, calls: string): unknown =>
      expect.stringMatching(
        `^The handler "say" of module ${module.slice(0, 12)} has left its read/write set in ${calls}\\.`,
      );
    expect(await problems({ primary })).toEqual({ sets: [words(old, "3 calls"), words(now, "1 call")] });
    expect(
      await problems({ primary, sites: [{ url, location: null, key: newDeploymentKeys("main").location }] }),
    ).toEqual({ sets: [words(now, "1 call")] });
    expect(await problems({ primary, served: [{ version: "v", module: now }] })).toEqual({
      sets: [words(now, "1 call")],
    });
    await new Promise((resolve) => server.close(resolve));
  });

  test("clocks: of a server that names another time, also if it refuses this machine's requests for that", async () => {
    let [aheadMs, status] = [90_000, 200];
    const server = createHttpServer((_, response) => {
      const timeMs = Date.now() + aheadMs;
      const body = JSON.stringify({ state: "serving", epoch: 1, timeMs, pending: 0, modules: [] });
      response.writeHead(status, { date: new Date(timeMs).toUTCString() }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const primary = [{ url, key: newAdministrationKey("main") }];
    const clocks = async (): Promise<readonly string[]> => (await problems({ primary }))["clock"] ?? [];
    expect(await clocks()).toEqual([
      expect.stringMatching(`^This machine's clock is [89]\\d s behind that of the LVI server at ${url}`),
    ]);
    aheadMs = -600_000;
    status = 401;
    expect(await clocks()).toEqual([expect.stringMatching(/^This machine's clock is (59|60)\d s ahead of /)]);
    aheadMs = 0;
    status = 200;
    expect(await clocks()).toEqual([]);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe.runIf(parts.includes("tail and doctor"))("the Worker's half of radical tail", () => {
  /** What wrangler writes of one request: laid out over lines. */
  const EVENT = {
    outcome: "exception",
    scriptName: "shop-production",
    exceptions: [{ name: "TypeError", message: "no", timestamp: 1 }],
    logs: [
      {
        message: [
          JSON.stringify({
            level: "info",
            event: "request",
            location: "FRA",
            handler: "show",
            execution: "e1",
            status: 200,
          }),
        ],
        level: "log",
        timestamp: 1,
      },
      { message: ["words", { a: 1 }], level: "warn", timestamp: 2 },
    ],
    event: { request: { url: "https://x/", method: "POST", headers: {}, cf: { colo: "FRA" } } },
    eventTimestamp: 1,
  };
  const script = `
    process.stdout.write(${JSON.stringify(JSON.stringify(EVENT, null, 2))} + "\\n");
    process.stderr.write("the tail has expired\\n");
    if (process.argv[1] === "stays") setInterval(() => {}, 1000);
  `;
  const tail = (mode: string, sink: TailSink, signal: AbortSignal): Promise<void> =>
    tailWorker({ command: [process.execPath, "-e", script, mode], cwd: ".", environment: process.env }, sink, signal);

  test("each line of its log, its exceptions; a tail that ends is started again", async () => {
    const stop = new AbortController();
    const [lines, states]: [TailLine[], unknown[]] = [[], []];
    const onState = (_: string, state: unknown): void => {
      states.push(state);
      if (states.length === 4) stop.abort();
    };
    await tail("ends", { onLine: (line) => lines.push(line), onState }, stop.signal);
    const lost = {
      lost: expect.stringContaining("wrangler tail: the tail has expired\nit ended with code 0") as string,
    };
    expect(states).toEqual(["connected", lost, "connected", lost]);
    expect(lines).toHaveLength(6);
    expect(lines.slice(0, 3)).toMatchObject([
      { half: "edge", location: "FRA", level: "info", handler: "show", execution: "e1" },
      { half: "edge", location: "FRA", level: "warn", line: { message: 'words {"a":1}' } },
      { half: "edge", location: "FRA", level: "error", line: { message: "TypeError: no" } },
    ]);
  });

  test("told to stop, it ends its child, and says nothing of that", async () => {
    const stop = new AbortController();
    const states: unknown[] = [];
    await tail("stays", { onLine: () => stop.abort(), onState: (_, state) => states.push(state) }, stop.signal);
    expect(states).toEqual(["connected"]);
  });
});

describe.runIf(parts.includes("record and replay"))("radical record and radical replay", () => {
  test("all paths are recorded, exactly, and the same build replays them in silence", async () => {
    const { code, stderr } = await recordWhile(["--count", "6"], async () => {
      const id = (await call("sign", { author: "ann", text: "hello" })) as string;
      expect(await call("like", { id })).toBe(1);
      // The other location's cache is cold: near storage.
      expect(await call("like", { id }, "far")).toBe(2);
      expect(await call("show", { id }, "far")).toMatchObject({ likes: 2 });
      expect(await call("read", { id })).toBe("ann: hello");
      await call("like", { id: "nobody" });
    });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/records hold what users have sent[^]*6 executions recorded/),
    ]);
    const records = await recordsOf("records.jsonl");
    expect(new Set(records.map(({ handler }) => handler))).toEqual(new Set(["sign", "like", "show", "read"]));
    const paths = new Set(records.map(({ path }) => path));
    expect(paths.has("near-storage") && (paths.has("followup") || paths.has("re-execution"))).toBe(true);
    expect(records.every(({ fuel }) => fuel > 0)).toBe(true);
    expect(records.filter(({ outcome }) => outcome.kind === "abort")).toMatchObject([
      { handler: "like", outcome: { code: "no_entry" } },
    ]);

    expect(await radical(["replay", "records.jsonl"], { cwd: project.folder })).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
  });

  test("a change of behaviour is found, that and nothing else, also where lines have moved", async () => {
    const other = await createProject({
      "radical.config.ts": CONFIG,
      "handlers/guestbook.ts": HANDLERS.replace("entry.likes += 1", "entry.likes += 2").replace(
        "export class Entry",
        "// Lines above a draw are no difference.\n\nexport class Entry",
      ),
    });
    try {
      const records = join(project.folder, "records.jsonl");
      const { code, stdout, stderr } = await radical(["replay", records], { cwd: other.folder });
      const like = (was: number, is: number): string =>
        `like [0-9a-f]{32}\n  result: ${was} → ${is}\n  writes entries/[-0-9a-f]+: likes: ${was} → ${is}\n`;
      expect([code, stdout]).toEqual([1, expect.stringMatching(new RegExp(`^${like(1, 2)}${like(2, 3)}$`))]);
      expect(stderr).toMatch(/2 of 6 recorded executions differ: like/);
    } finally {
      await other.remove();
    }
  });

  test("the records and the output of the documents' example", async () => {
    const example = fileURLToPath(new URL("../../../docs/examples/booking", import.meta.url));
    const records = join(example, "tests/records.jsonl");
    expect(await radical(["replay", records], { cwd: example })).toEqual({ code: 0, stdout: "", stderr: "" });
    const source = await readFile(join(example, "handlers/booking.ts"), "utf8");
    const other = await createProject({
      "radical.config.ts": `export default { name: "booking" };\n`,
      "handlers/booking.ts": source.replace("left <= 0", "left < 0"),
    });
    // What a compiler makes of it may take a little more or less.
    const withoutFuel = (text: string): string => text.replace(/fuel: .*/, "fuel");
    try {
      const { code, stdout } = await radical(["replay", records], { cwd: other.folder });
      const shown = await readFile(join(example, "../output/replay.txt"), "utf8");
      expect([code, withoutFuel(stdout)]).toEqual([1, withoutFuel(shown)]);
    } finally {
      await other.remove();
    }
  });

  test("what is redacted is not in the file, and what is left replays", async () => {
    const args = ["--count", "2", "--output", "redacted.jsonl", "--handler", "sign", "--handler", "show"];
    const redact = ["--redact", "@arguments.author", "--redact", "entries.author", "--redact", "entries.nothing"];
    const { code, stderr } = await recordWhile([...args, ...redact], async () => {
      const id = await call("sign", { author: "Persephone", text: "hello" });
      await call("like", { id });
      await call("show", { id });
    });
    expect([code, stderr]).toEqual([0, expect.stringContaining("nothing was found for --redact entries.nothing")]);
    const text = await readFile(join(project.folder, "redacted.jsonl"), "utf8");
    expect(text).not.toContain("Persephone");
    expect(text).toContain('"author":"xxxxxxxxxx"');
    expect(text).toContain('"logged":[{"level":"info","text":"xxxxxxxxxx signs"}]');
    const replayed = await radical(["replay", "redacted.jsonl", "--json"], { cwd: project.folder });
    expect([replayed.code, JSON.parse(replayed.stdout)]).toMatchObject([0, { records: 2, differing: [] }]);
  });

  test("of a server that is named all is redacted before it leaves, and what is left replays", async () => {
    const { lviServer } = JSON.parse(await readFile(join(project.folder, ".radical/running.json"), "utf8")) as {
      lviServer: string;
    };
    const { administration } = await loadDeploymentKeys(join(project.folder, ".radical"));
    const args = ["--count", "2", "--output", "named.jsonl", "--handler", "sign", "--handler", "show", "--plain"];
    const { code, stderr } = await recordWhile(
      [...args, "--primary", lviServer],
      async () => {
        const id = await call("sign", { author: "Persephone", text: "hello" });
        await call("show", { id });
      },
      { RADICAL_ADMIN_KEYS: privateKeyText(administration) },
    );
    expect([code, stderr]).toEqual([0, expect.stringMatching(/pseudonyms[^]*is not sealed[^]*2 executions recorded/)]);
    const text = await readFile(join(project.folder, "named.jsonl"), "utf8");
    expect(text).not.toMatch(/Persephone|hello/);
    const named = await recordsOf("named.jsonl");
    expect(named.map(({ redacted }) => redacted)).toEqual([["*"], ["*"]]);
    expect(named.flatMap(({ logged }) => logged)).toEqual([
      { level: "info", text: expect.stringMatching(/^[a-z]{10} signs$/) as string },
    ]);
    expect((await radical(["replay", "named.jsonl"], { cwd: project.folder })).code).toBe(0);
    expect((await radical(["record", "--whole", "--redact", "@caller"], { cwd: project.folder })).code).toBe(2);
  });
});

describe.runIf(parts.includes("sealed recordings"))("sealed recordings", () => {
  test("of a server that is named the file is sealed, and opened as long as the server has the key", async () => {
    const { lviServer } = JSON.parse(await readFile(join(project.folder, ".radical/running.json"), "utf8")) as {
      lviServer: string;
    };
    const { administration } = await loadDeploymentKeys(join(project.folder, ".radical"));
    const temporary = await mkdtemp(join(tmpdir(), "radical-sealed-"));
    const env = { RADICAL_ADMIN_KEYS: privateKeyText(administration), TMPDIR: temporary };
    const WORDS = ["Demeter0fEleusis", "Pomegranate5eeds"] as const;
    const args = ["--count", "2", "--output", "sealed.jsonl", "--handler", "sign", "--handler", "show", "--whole"];
    const { code, stderr } = await recordWhile(
      [...args, "--primary", lviServer],
      async () => {
        const id = await call("sign", { author: WORDS[0], text: WORDS[1] });
        await call("show", { id });
      },
      env,
    );
    expect([code, stderr]).toEqual([0, expect.stringMatching(/the file is sealed[^]*2 executions recorded/)]);
    const file = join(project.folder, "sealed.jsonl");
    const text = await readFile(file, "utf8");
    const found = async (): Promise<readonly string[]> => {
      const folders = [project.folder, temporary];
      return (await Promise.all(WORDS.flatMap((word) => folders.map((folder) => filesWith(word, folder))))).flat();
    };
    expect(await found()).toEqual([]);
    // The search finds what is there.
    await writeFile(join(temporary, "plain"), Buffer.from(`a ${WORDS[1]} of ${WORDS[0]}`).toString("base64"));
    expect(await found()).toHaveLength(2);
    await rm(join(temporary, "plain"));

    const replay = (name: string, more: readonly string[] = ["--primary", lviServer], keys: NodeJS.ProcessEnv = env) =>
      radical(["replay", name, ...more], { cwd: project.folder, env: keys });
    const replayed = await replay("sealed.jsonl", ["--primary", lviServer, "--json"]);
    expect([replayed.code, JSON.parse(replayed.stdout)]).toMatchObject([
      0,
      { records: 2, isSealed: true, isWhole: true, differing: [] },
    ]);
    // Nothing that was opened is in a file.
    expect(await found()).toEqual([]);

    const refused = async (problem: RegExp, run: ReturnType<typeof replay>): Promise<void> => {
      const { code: exit, stdout, stderr: told } = await run;
      expect([exit === 0, stdout, told]).toEqual([false, "", expect.stringMatching(problem)]);
    };
    const lines = text.trim().split("\n");
    await writeFile(join(project.folder, "cut.jsonl"), text.slice(0, -10));
    await writeFile(join(project.folder, "moved.jsonl"), [lines[0], lines[2], lines[1]].join("\n"));
    await writeFile(join(project.folder, "short.jsonl"), `${lines.slice(0, 2).join("\n")}\n`);
    await refused(/is sealed, and the LVI server that it was recorded of has the key/, replay("sealed.jsonl", []));
    await refused(/RADICAL_ADMIN_KEYS/, replay("sealed.jsonl", ["--primary", lviServer], {}));
    await refused(/cut\.jsonl:4 is cut off in its middle/, replay("cut.jsonl"));
    await refused(/moved\.jsonl:2 was changed/, replay("moved.jsonl"));
    const short = await replay("short.jsonl");
    expect([short.code, short.stderr]).toEqual([0, expect.stringContaining("the recording has no end")]);

    // The server no longer has the key, before its time and after.
    await rm(join(project.folder, ".radical/data.sqlite.keys/recordings"), { recursive: true });
    await refused(/does not have its key/, replay("sealed.jsonl"));
    const head = JSON.parse(lines[0]!) as Record<string, unknown>;
    const passed = [JSON.stringify({ ...head, untilMs: Date.now() - 1 }), ...lines.slice(1)].join("\n");
    await writeFile(join(project.folder, "passed.jsonl"), passed);
    await refused(/can't be read any more: its key was destroyed at 20/, replay("passed.jsonl"));
    await rm(temporary, { recursive: true });
  });

  test("a server that can't seal records nothing, unless it need not", async () => {
    const old = createHttpServer((_, response) => {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"error":{"code":"not_found","message":"There is nothing at /v1/recordings/keys","hint":""}}');
    });
    old.listen(0, "127.0.0.1");
    await new Promise((resolve) => old.once("listening", resolve));
    const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}`;
    try {
      const { code, stderr } = await radical(["record", "--primary", url, "--output", "none.jsonl"], {
        cwd: project.folder,
        env: { RADICAL_ADMIN_KEYS: privateKeyText(newAdministrationKey("main")) },
      });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/earlier version[^]*Nothing was recorded[^]*--plain/)]);
      await expect(readFile(join(project.folder, "none.jsonl"))).rejects.toThrow("ENOENT");
    } finally {
      old.close();
    }
  });

  test("files that hold no records, and servers that can't be asked, are refused", async () => {
    await writeFile(join(project.folder, "empty.jsonl"), "\n");
    const replayed = await radical(["replay", "empty.jsonl"], { cwd: project.folder });
    expect([replayed.code, replayed.stderr]).toEqual([2, expect.stringContaining("holds no records")]);
    const env = { RADICAL_ADMIN_KEYS: privateKeyText(newAdministrationKey("main")) };
    const { code, stderr } = await radical(["record", "--primary", "http://127.0.0.1:9", "--output", "none.jsonl"], {
      cwd: project.folder,
      env,
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining("was not reached")]);
    await expect(readFile(join(project.folder, "none.jsonl"))).rejects.toThrow("ENOENT");
  });
});
