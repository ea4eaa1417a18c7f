/**
 * Locations that come and go: two builds of an application at once, and isolates that end between the primary's reply and
 * their followup. Real workerd, one for each location, and a real LVI server as its own process.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FOLLOWUP_PATH, LVI_PATH } from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type AppBuild, buildApp, startCompiler, loadProject } from "@radical/app";
import {
  bundleRouter,
  type LviServerProcess,
  startLviServer,
  type Edge,
  startEdge,
  type WorkerFiles,
  registerModule,
} from "@radical/local";
import { newDeploymentKeys } from "@radical/admin";
import { createFaultLink, type FaultLink } from "./fault-link.ts";
import { createProject } from "./radical-process.ts";
import { readIntents } from "./storage.ts";

const BANK = fileURLToPath(new URL("fixtures/bank", import.meta.url));
const KEYS = newDeploymentKeys("test");
/** Bounded polls of conditions; none of them is a measure of time. */
const SOON = { timeout: 100_000, interval: 20 };

interface Answer {
  readonly status: number;
  readonly result: unknown;
  readonly code: string | null;
  readonly path: string | null;
  readonly retryAfter: string | null;
}

let folder: string;
let older: AppBuild;
let newer: AppBuild;
let server: LviServerProcess;
let faults: FaultLink;
const edges = new Map<string, Edge>();
const closing: (() => Promise<void>)[] = [];
const logged: Readonly<Record<string, unknown>>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-locations-"));
  const compiler = await startCompiler({ colours: false });
  const { app } = await buildApp(await loadProject(BANK), compiler, { optimize: false });
  await compiler.close();
  older = app!;
  newer = anotherBuildOf(older, 1);
  faults = createFaultLink();
  server = await startLviServer({
    stateFolder: folder,
    keys: KEYS,
    // No timer ends an intent here.
    followupTimeoutMs: 600_000,
    onStarted: ({ address }) => registerModule(address, KEYS.administration, older),
    onDied: ({ stderr }) => expect.fail(stderr),
    onLog: (line) => logged.push(line),
  });
  await start("here", older);
  await start("there", newer);
});
afterEach(() => {
  faults.decide = () => "pass";
});
afterAll(async () => {
  for (const close of closing) await close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** An application that keeps persons. `more`: the build in which they have been given more fields. */
async function personsBuild(more: boolean): Promise<AppBuild> {
  const added = (text: string): string => (more ? text : "");
  const project = await createProject({
    "radical.config.ts": 'export default { name: "persons" };\n',
    "handlers/persons.ts": `import { Table } from "@radical/sdk";
      class Address { ${added('country: string = "";')} city: string = ""; }
      class Person { name: string = ""; ${added('mail: string = "";')} home: Address = new Address(); others: Address[] = []; visits: i32 = 0; }
      const persons = new Table<Person>("persons");
      export function create(id: string, person: Person): void { persons.put(id, person); }
      export function show(id: string): Person { return persons.get(id)!; }
      export function visit(id: string): i32 {
        const person = persons.get(id)!;
        person.visits++;
        person.others[0].city += "!";
        persons.put(id, person);
        return person.visits;
      }
      /** @nearstorage */
      export function visitNearStorage(id: string): i32 { return visit(id); }`,
  });
  const compiler = await startCompiler({ colours: false });
  try {
    const { app, report } = await buildApp(await loadProject(project.folder), compiler, { optimize: false });
    if (app === null) throw new Error(JSON.stringify(report.diagnostics));
    return app;
  } finally {
    await compiler.close();
    await project.remove();
  }
}

/** The same handlers under another hash. */
function anotherBuildOf(app: AppBuild, number: number): AppBuild {
  const limits = { ...app.content.limits, accesses: app.content.limits.accesses + number };
  const content = { ...app.content, limits };
  return { ...app, content, manifest: { ...app.manifest, limits, module: moduleHash(content) } };
}

function filesOf({ worker, content, manifest }: AppBuild): WorkerFiles {
  const { wasm, rwWasm } = content;
  return { worker, wasm, rwWasm, manifest: JSON.stringify(manifest), cache: manifest.cache.kind, assets: null };
}

async function start(name: string, app: AppBuild): Promise<void> {
  const link = await faults.link({ name, roundTripMs: 0 }, () => server.address());
  const edge = await startEdge(
    {
      locations: [{ name, primaries: [link.address], nearStorageOnly: false }],
      // Longer than this machine may stop for.
      vars: { RADICAL_ATTEMPT_MS: "15000" },
      key: KEYS.location,
      routerWorker: await bundleRouter(),
      storageFolder: join(folder, name),
      onLog: () => undefined,
    },
    filesOf(app),
  );
  edges.set(name, edge);
  closing.push(async () => {
    await edge.close();
    await link.close();
  });
}

async function call(at: string, handler: string, args: unknown, key: string = crypto.randomUUID()): Promise<Answer> {
  const response = await fetch(`${edges.get(at)!.url}/api/${handler}`, {
    method: "POST",
    body: JSON.stringify(args),
    headers: { "content-type": "application/json", "idempotency-key": key },
  });
  const body = (await response.json()) as { result?: unknown; error?: { code: string } };
  return {
    status: response.status,
    result: body.result,
    code: body.error?.code ?? null,
    path: response.headers.get("x-radical-path"),
    retryAfter: response.headers.get("retry-after"),
  };
}

test("a build that the primary does not have: 503 with Retry-After, nothing held; two builds at once are one application", async () => {
  const early = await call("there", "increment", { name: "both" });
  expect(early).toMatchObject({ status: 503, code: "unknown_module" });
  expect(Number(early.retryAfter)).toBeGreaterThan(0);
  expect(await call("here", "increment", { name: "both" })).toMatchObject({ result: 1, path: "speculative" });

  await registerModule(server.address(), KEYS.administration, newer);
  for (const [index, at] of ["there", "here", "there", "there", "here"].entries())
    expect(await call(at, "increment", { name: "both" })).toMatchObject({ status: 200, result: index + 2 });

  // What the older build has promised, the primary completes with that build, while the newer one waits for it.
  faults.decide = ({ path, location }) => (path === FOLLOWUP_PATH && location === "here" ? "lose-request" : "pass");
  expect(await call("here", "increment", { name: "promised" })).toMatchObject({ result: 1, path: "speculative" });
  expect(await call("there", "increment", { name: "promised" })).toMatchObject({ result: 2 });
  expect(logged.filter(({ event }) => event === "determinism_alarm")).toEqual([]);
});

test("an isolate that ends after the primary's reply and before its followup: the execution has happened, once", async () => {
  const key = crypto.randomUUID();
  const name = "evicted";
  const answers = (): number => faults.answered.filter(({ path }) => path === LVI_PATH).length;
  expect(await call("here", "count", { name })).toMatchObject({ result: 0 });

  // The reply is on its way, and never comes.
  const before = answers();
  faults.decide = ({ path, location }) => (path === LVI_PATH && location === "here" ? "swallow-reply" : "pass");
  const cut = call("here", "increment", { name }, key).catch(() => null);
  await expect.poll(answers, SOON).toBe(before + 1);
  await edges.get("here")!.reload(filesOf(older));
  expect(await cut).toBeNull();
  faults.decide = () => "pass";

  // Nobody waits for what has ended, and its client learns what became of it.
  expect(await call("there", "increment", { name })).toMatchObject({ result: 2 });
  for (const at of ["here", "there"]) expect(await call(at, "increment", { name }, key)).toMatchObject({ result: 1 });
  expect(await call("here", "count", { name })).toMatchObject({ result: 2 });
});

test("an isolate that ends after its answer and before its followup: what was told is there", async () => {
  const name = "answered";
  const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
  const { promise: never, resolve: end } = Promise.withResolvers<"lose-request">();
  faults.decide = ({ path, location }) => {
    if (path !== FOLLOWUP_PATH || location !== "here") return "pass";
    isHeld();
    return never;
  };
  expect(await call("here", "increment", { name })).toMatchObject({ result: 1, path: "speculative" });
  await held;
  await edges.get("here")!.reload(filesOf(older));
  end("lose-request");
  faults.decide = () => "pass";
  expect(await call("there", "count", { name })).toMatchObject({ result: 1 });
  expect(await call("here", "increment", { name })).toMatchObject({ result: 2 });
  expect(await call("there", "count", { name })).toMatchObject({ result: 2 });
  await expect.poll(() => readIntents(folder).pending, SOON).toEqual([]);
});

test("two builds at once, and a rollback: the older one writes records and keeps the fields that only the newer one has", async () => {
  const [lacking, having] = [await personsBuild(false), await personsBuild(true)];
  for (const app of [lacking, having]) await registerModule(server.address(), KEYS.administration, app);
  await edges.get("here")!.reload(filesOf(lacking));
  await edges.get("there")!.reload(filesOf(having));
  const ann = {
    name: "Ann",
    mail: "ann@example.org",
    home: { country: "IS", city: "Vik" },
    others: [{ country: "NO", city: "Bergen" }],
    visits: 0,
  };
  await call("there", "create", { id: "ann", person: ann });

  // Its cache does not know the person yet.
  expect(await call("here", "visit", { id: "ann" })).toMatchObject({ result: 1, path: "near-storage" });
  expect(await call("here", "visit", { id: "ann" })).toMatchObject({ result: 2, path: "speculative" });
  expect(await call("here", "visitNearStorage", { id: "ann" })).toMatchObject({ result: 3, path: "near-storage" });
  // The primary runs the older build in place of a followup.
  faults.decide = ({ path, location }) => (path === FOLLOWUP_PATH && location === "here" ? "lose-request" : "pass");
  await expect.poll(() => call("here", "visit", { id: "ann" }), SOON).toMatchObject({ path: "speculative" });
  faults.decide = () => "pass";
  const seen = await call("there", "show", { id: "ann" });
  const { visits } = seen.result as { readonly visits: number };
  expect(visits).toBeGreaterThan(3);
  expect(seen.result).toEqual({ ...ann, visits, others: [{ country: "NO", city: `Bergen${"!".repeat(visits)}` }] });
  expect((await call("here", "show", { id: "ann" })).result).toEqual({
    name: "Ann",
    home: { city: "Vik" },
    others: [{ city: `Bergen${"!".repeat(visits)}` }],
    visits,
  });

  // The newer one is rolled back, and comes again.
  await edges.get("there")!.reload(filesOf(lacking));
  expect(await call("there", "visit", { id: "ann" })).toMatchObject({ result: visits + 1 });
  await edges.get("there")!.reload(filesOf(having));
  expect((await call("there", "show", { id: "ann" })).result).toMatchObject({
    mail: "ann@example.org",
    home: { country: "IS" },
    others: [{ country: "NO" }],
    visits: visits + 1,
  });
  expect(logged.filter(({ event }) => event === "determinism_alarm")).toEqual([]);
});
