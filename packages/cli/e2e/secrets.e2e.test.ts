/**
 * What a run leaves behind of passwords and tokens: they are searched for in every file that the server and the locations
 * write, and in every line that they log, while all of them run and after they have stopped. Real workerd, with its caches
 * in Durable Objects, and a real LVI server as its own process. What the handlers store is hashed by the handlers.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  FOLLOWUP_PATH,
  LVI_PATH,
  SHOWN_SECRET,
  type TaskList,
  type TaskListQuestion,
  TASKS_PATH,
} from "@radical/protocol";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type AppBuild, buildApp, startCompiler, loadProject, valueToExactJson } from "@radical/app";
import {
  bundleRouter,
  type LviServerProcess,
  startLviServer,
  type Edge,
  startEdge,
  registerModule,
} from "@radical/local";
import { askPrimary, newDeploymentKeys } from "@radical/admin";
import { record } from "../src/replay/record.ts";
import { recordToLine } from "../src/replay/record-line.ts";
import { createFaultLink, type FaultLink, type LinkRequest, withoutUpdates } from "./fault-link.ts";
import { createProject } from "./radical-process.ts";
import { readIntents } from "./storage.ts";

const KEYS = newDeploymentKeys("test");
/** Bounded polls of conditions; none of them is a measure of time. */
const SOON = { timeout: 100_000, interval: 50 };

const HANDLERS = `import { abort, enqueue, Secret, Table, uuid } from "@radical/sdk";

class User { password: string = ""; posts: string[] = []; }
const users = new Table<User>("users");
/** By the hash of the token. */
const sessions = new Table<string>("sessions");

function hashed(text: string): string {
  let hash: u64 = 14695981039346656037;
  for (let i = 0; i < text.length; i++) hash = (hash ^ <u64>text.charCodeAt(i)) * 1099511628211;
  return hash.toString();
}

function begin(name: string): string {
  const token = uuid();
  sessions.put(hashed(token), name);
  return token;
}

export function register(name: string, password: Secret): string {
  const user = new User();
  user.password = hashed(name + password);
  users.put(name, user);
  return begin(name);
}

/** @nearstorage */
export function registerNearStorage(name: string, password: Secret): string {
  return register(name, password);
}

export function check(name: string, password: Secret): bool {
  const user = users.get(name);
  return user != null && user.password == hashed(name + password);
}

export function login(name: string, password: Secret): string {
  const user = users.get(name);
  if (user == null || user.password != hashed(name + password)) abort(403, "wrong_password", "name or password is wrong");
  return begin(name);
}

export function post(token: Secret, text: string): i32 {
  const name = sessions.get(hashed(token));
  if (name == null) abort(401, "no_session", "sign in first");
  const user = users.get(name)!;
  user.posts.push(text);
  users.put(name, user);
  return user.posts.length;
}

/** Later, with the secret among the arguments of the task. */
export function postLater(token: Secret, text: string): void {
  enqueue(post(token, text), { delay: 86_400_000 });
}

export function feed(name: string): string[] {
  const user = users.get(name);
  return user == null ? [] : user.posts;
}
`;

let folder: string;
let app: AppBuild;
let server: LviServerProcess;
let edge: Edge;
let faults: FaultLink;
let closeLinks: (() => Promise<void>)[] = [];
/** All that the server and the locations have logged. */
const logged: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-secrets-"));
  // Whatever is written to files of its own for a while is searched too.
  await mkdir(join(folder, "tmp"));
  vi.stubEnv("TMPDIR", join(folder, "tmp"));
  const project = await createProject({
    "radical.config.ts": 'export default { name: "secrets" };\n',
    "handlers/accounts.ts": HANDLERS,
  });
  const compiler = await startCompiler({ colours: false });
  const built = await buildApp(await loadProject(project.folder), compiler, { optimize: false });
  await compiler.close();
  await project.remove();
  app = built.app!;
  server = await startServer({});
  faults = createFaultLink();
  faults.decide = withoutUpdates;
  const names = ["here", "there"];
  const links = await Promise.all(names.map((name) => faults.link({ name, roundTripMs: 0 }, () => server.address())));
  closeLinks = links.map((link) => () => link.close());
  const { wasm, rwWasm } = app.content;
  edge = await startEdge(
    {
      locations: names.map((name, index) => ({
        name,
        primaries: [links[index]!.address],
        nearStorageOnly: false,
      })),
      // Longer than this machine may stop for.
      vars: { RADICAL_ATTEMPT_MS: "15000" },
      key: KEYS.location,
      routerWorker: await bundleRouter(),
      storageFolder: join(folder, "caches"),
      onLog: (_level, message) => logged.push(message),
    },
    {
      worker: app.worker,
      wasm,
      rwWasm,
      manifest: JSON.stringify(app.manifest),
      cache: app.manifest.cache.kind,
      assets: null,
    },
  );
});
afterAll(async () => {
  await stopAll();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

function startServer(environment: NodeJS.ProcessEnv): Promise<LviServerProcess> {
  return startLviServer({
    stateFolder: folder,
    keys: KEYS,
    // No timer ends an intent here.
    followupTimeoutMs: 600_000,
    logLevel: "debug",
    environment,
    onStarted: ({ address }) => registerModule(address, KEYS.administration, app),
    onDied: ({ signal, stderr }) => {
      if (signal !== "SIGKILL") expect.fail(stderr);
    },
    onLog: (line) => logged.push(JSON.stringify(line)),
  });
}

async function stopAll(): Promise<void> {
  await edge?.close();
  for (const close of closeLinks.splice(0)) await close();
  await server?.stop();
}

interface Answer {
  readonly status: number;
  readonly result: unknown;
  readonly path: string | null;
  readonly reason: string | null;
}

async function call(at: string, handler: string, args: unknown, key: string | null = null): Promise<Answer> {
  const response = await fetch(`${edge.url}/api/${handler}`, {
    method: "POST",
    body: JSON.stringify(args),
    headers: {
      "content-type": "application/json",
      "x-radical-location": at,
      ...(key === null ? {} : { "idempotency-key": key }),
    },
  });
  const { headers, status } = response;
  const { result } = (await response.json()) as { readonly result?: unknown };
  return { status, result, path: headers.get("x-radical-path"), reason: headers.get("x-radical-reason") };
}

/** The arguments of all tasks, as an operator sees them. */
async function shownTasks(): Promise<readonly unknown[]> {
  const question: TaskListQuestion = { filter: {}, limit: 100, after: null, withArguments: true };
  const listed = await askPrimary(
    { url: `http://${server.address().host}:${server.address().port}`, key: KEYS.administration },
    "POST",
    TASKS_PATH,
    question,
  );
  const { tasks } = (await listed.json()) as TaskList;
  return tasks.map(
    ({ args }) => JSON.parse(valueToExactJson(new Uint8Array(Buffer.from(args!, "base64")))!) as unknown,
  );
}

/** Executions as they are recorded when nothing is to be redacted, in a file of the run. */
async function recordedWhile(count: number, act: () => Promise<void>): Promise<readonly unknown[]> {
  const lines: string[] = [];
  const started = Promise.withResolvers<void>();
  const recording = record({
    primary: { url: `http://${server.address().host}:${server.address().port}`, key: KEYS.administration },
    count,
    every: 1,
    handlers: ["check"],
    redact: [],
    signal: new AbortController().signal,
    onStarted: started.resolve,
    onRecord: (recorded) => void lines.push(recordToLine(recorded)),
  });
  await started.promise;
  await act();
  expect(await recording).toMatchObject({ recorded: count, leftOut: 0, differing: [] });
  await writeFile(join(folder, "records.jsonl"), lines.join("\n"));
  return lines.map((line) => JSON.parse(line) as unknown);
}

/** Those of the words that some file of the run holds, in any of the forms in which bytes are written down. */
async function foundIn(words: readonly string[]): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  // One may be gone since.
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0))),
  );
  return words.filter((word) => formsOf(word).some((form) => files.some((bytes) => bytes.includes(form))));
}

/** UTF-8, UTF-16, hexadecimal, and base 64 at each of the three places where it may begin. */
function formsOf(word: string): readonly Buffer[] {
  const plain = Buffer.from(word);
  const shifted = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), plain]).toString("base64");
    // What the neighbours have a part in is left out.
    return Buffer.from(text.slice(shift === 0 ? 0 : 4, Math.floor(((shift + plain.length) * 4) / 12) * 4 - 4));
  });
  return [plain, Buffer.from(word, "utf16le"), Buffer.from(plain.toString("hex")), ...shifted];
}

test("passwords and tokens are in no file and in no log, however their executions ended, and while they are promises or tasks", async () => {
  const secrets: string[] = [];
  const secret = (of: string): string => {
    const password = `Sup3rSecretOf${of}W0rd`;
    secrets.push(password);
    return password;
  };
  const tokenOf = ({ status, result }: Answer): string => {
    expect(status).toBe(200);
    secrets.push(String(result));
    return String(result);
  };
  const lose = ({ path, location }: LinkRequest) =>
    path === FOLLOWUP_PATH && location === "here" ? "lose-request" : "pass";

  // The usual path, near storage, and an answer that is read from storage alone.
  const annsPassword = secret("Ann");
  const ann = await call("here", "register", { name: "ann", password: annsPassword });
  expect(ann.path).toBe("speculative");
  const annsToken = tokenOf(ann);
  const bob = await call("here", "registerNearStorage", { name: "bob", password: secret("Bob") });
  expect(bob).toMatchObject({ path: "near-storage", reason: "plan" });
  tokenOf(bob);
  expect(await call("there", "login", { name: "ann", password: secret("Wrong") })).toMatchObject({ status: 403 });
  expect(await call("here", "post", { token: annsToken, text: "one" })).toMatchObject({
    result: 1,
    path: "speculative",
  });

  // Nobody is shown a secret, whatever they ask for: a record of all as it is, and a list of tasks with their arguments.
  expect(await call("here", "postLater", { token: annsToken, text: "much later" })).toMatchObject({
    status: 200,
  });
  await expect.poll(shownTasks, SOON).toEqual([{ token: SHOWN_SECRET, text: "much later" }]);
  const recorded = await recordedWhile(1, async () => {
    expect(await call("here", "check", { name: "ann", password: annsPassword })).toMatchObject({ result: true });
  });
  expect(recorded).toMatchObject([
    {
      handler: "check",
      args: { value: { name: "ann", password: SHOWN_SECRET } },
      // Of a run with these arguments.
      outcome: { kind: "result", value: false },
      redacted: ["@arguments.password"],
    },
  ]);

  // A location that does not know what another one has written.
  await call("there", "feed", { name: "ann" });
  expect(await call("here", "post", { token: annsToken, text: "two" })).toMatchObject({ result: 2 });
  const stale = await call("there", "post", { token: annsToken, text: "three" });
  expect(stale).toMatchObject({ result: 3, path: "near-storage" });

  // A reply that is lost, so that the location asks again.
  let replies = 0;
  faults.decide = ({ path }) => (path === LVI_PATH && replies++ === 0 ? "lose-reply" : "pass");
  tokenOf(await call("there", "login", { name: "ann", password: annsPassword }));
  expect(replies).toBeGreaterThan(1);

  // A followup that is lost: what is promised is there, sealed.
  faults.decide = lose;
  const cleosPassword = secret("Cleo");
  const cleo = await call("here", "register", { name: "cleo", password: cleosPassword });
  expect(cleo.path).toBe("speculative");
  const cleosToken = tokenOf(cleo);
  expect(readIntents(folder).pending).toEqual(["register"]);
  expect(await foundIn(secrets)).toEqual([]);
  // Who waits for it has the primary run it again.
  expect(await call("there", "post", { token: cleosToken, text: "four" })).toMatchObject({ result: 1 });

  // A kill with a promise, which the server that comes next keeps.
  const doras = await call("here", "register", { name: "dora", password: secret("Dora") });
  expect(doras.path).toBe("speculative");
  const dorasToken = tokenOf(doras);
  await server.kill();
  expect(readIntents(folder).pending).toEqual(["register"]);
  expect(await foundIn(secrets)).toEqual([]);
  expect(await call("there", "post", { token: dorasToken, text: "five" })).toMatchObject({ result: 1 });
  faults.decide = withoutUpdates;

  // Under a key that the client has chosen the answer is kept for the client, sealed; its arguments are not.
  const key = crypto.randomUUID();
  const kept = tokenOf(await call("here", "login", { name: "ann", password: annsPassword }, key));

  await expect.poll(() => readIntents(folder).pending, SOON).toEqual([]);
  // The time for which other answers are kept is over.
  await server.stop();
  server = await startServer({ RADICAL_OUTCOME_RETENTION_MS: "0", RADICAL_COLLECT_INTERVAL_MS: "100" });
  expect(await foundIn(secrets)).toEqual([]);
  // What is left is enough: to tell the client its answer, and to go on.
  expect((await call("there", "login", { name: "ann", password: annsPassword }, key)).result).toBe(kept);
  expect(await call("here", "post", { token: kept, text: "post-that-anybody-may-read" })).toMatchObject({ result: 4 });
  tokenOf(await call("here", "register", { name: "eve", password: secret("Eve") }));
  await expect.poll(() => readIntents(folder).pending, SOON).toEqual([]);
  expect(await foundIn(secrets)).toEqual([]);

  await stopAll();
  expect(await foundIn(secrets)).toEqual([]);
  // The search finds what is there: a post is the application's own.
  expect(await foundIn(["post-that-anybody-may-read"])).toHaveLength(1);
  expect(secrets.filter((word) => logged.some((line) => line.includes(word)))).toEqual([]);
  expect(logged.length).toBeGreaterThan(secrets.length);
});
