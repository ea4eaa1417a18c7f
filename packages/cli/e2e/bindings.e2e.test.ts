/**
 * An application's own wrangler configuration in `radical dev`: every binding that can exist on this machine, the words about
 * the others, and scheduled events and queues. One project has all of it, and real workerd serves it.
 */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type RadicalDev, type TemporaryProject, createProject, radicalDev, startDev } from "./radical-process.ts";

const WRANGLER_CONFIG = `{
  // Comments and trailing commas, as wrangler takes them.
  "name": "bound",
  "compatibility_date": "2026-10-01",
  "vars": { "GREETING": "hello", "LIMITS": { "most": 3 }, "OVERRIDDEN": "by the file" },
  "kv_namespaces": [{ "binding": "SESSIONS", "id": "s1" }],
  "r2_buckets": [{ "binding": "FILES", "bucket_name": "files", "remote": true }],
  "d1_databases": [{ "binding": "DB", "database_name": "counts", "database_id": "d1" }],
  "queues": {
    "producers": [{ "binding": "JOBS", "queue": "jobs" }],
    "consumers": [{ "queue": "jobs", "max_batch_size": 1, "max_batch_timeout": 0 }],
  },
  "triggers": { "crons": ["*/5 * * * *"] },
  "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room", "RadicalCache"] }],
  "workflows": [{ "binding": "FLOW", "name": "flow", "class_name": "Flow" }],
  "services": [{ "binding": "SELF", "service": "bound" }, { "binding": "OTHER", "service": "other" }],
  "analytics_engine_datasets": [{ "binding": "EVENTS" }],
  "ratelimits": [{ "name": "LIMITER", "namespace_id": "1", "simple": { "limit": 1, "period": 60 } }],
  "hyperdrive": [
    { "binding": "SQL", "id": "h1", "localConnectionString": "postgres://user:word@127.0.0.1:5432/shop" },
    { "binding": "FAR_SQL", "id": "h2" },
  ],
  "version_metadata": { "binding": "VERSION" },
  "assets": { "binding": "ASSETS" },
  "ai": { "binding": "AI" },
  "vectorize": [{ "binding": "VECTORS", "index_name": "words" }],
  "browser": { "binding": "BROWSER" },
  "secrets": { "required": ["TOKEN", "ABSENT"] },
  "env": { "staging": { "vars": { "GREETING": "staged" } } },
}
`;

const WORKER = `import { DurableObject, WorkflowEntrypoint } from "cloudflare:workers";
import { createRadical } from "radical:worker";

const radical = createRadical<any>();

export class Room extends DurableObject {
  async add(): Promise<number> {
    const { storage } = (this as any).ctx;
    const count = ((await storage.get("count")) ?? 0) + 1;
    await storage.put("count", count);
    return count;
  }
}

export class Flow extends WorkflowEntrypoint {
  run(event: any, step: any): Promise<string> {
    return step.do("greet", async () => "hello " + event.payload.who);
  }
}

async function routed(path: string, env: any): Promise<unknown> {
  switch (path) {
    case "/vars":
      return [env.GREETING, env.LIMITS, env.OVERRIDDEN, env.TOKEN];
    case "/missing":
      return ["OTHER", "FAR_SQL", "AI", "VECTORS", "BROWSER", "ABSENT"].filter((name) => name in env);
    case "/kv": {
      const count = Number(await env.SESSIONS.get("count")) + 1;
      await env.SESSIONS.put("count", String(count));
      return count;
    }
    case "/r2": {
      const found = await env.FILES.get("count");
      const count = (found === null ? 0 : Number(await found.text())) + 1;
      await env.FILES.put("count", String(count));
      return count;
    }
    case "/d1": {
      await env.DB.exec("CREATE TABLE IF NOT EXISTS visits (at INTEGER)");
      await env.DB.prepare("INSERT INTO visits VALUES (1)").run();
      return (await env.DB.prepare("SELECT count(*) AS count FROM visits").first()).count;
    }
    case "/object":
      return env.ROOM.get(env.ROOM.idFromName("one")).add();
    case "/queue":
      await env.JOBS.send({ key: "job", text: "from the queue" });
      return "sent";
    case "/flow": {
      const flow = await env.FLOW.create({ params: { who: "ann" } });
      for (;;) {
        const { status, output } = await flow.status();
        if (status === "complete" || status === "errored") return [status, output];
        await scheduler.wait(20);
      }
    }
    case "/self":
      return (await env.SELF.fetch("http://self/vars")).json();
    case "/analytics":
      env.EVENTS.writeDataPoint({ blobs: ["one"] });
      return "written";
    case "/limit":
      return env.LIMITER.limit({ key: "ann" });
    case "/sql":
      return env.SQL.connectionString;
    case "/version":
      return typeof env.VERSION.id;
    case "/asset":
      return (await env.ASSETS.fetch("http://assets/page.txt")).text();
    case "/throws":
      throw new Error("a fault of the route");
    default:
      return null;
  }
}

export default {
  async fetch(request: Request, env: any, context: any): Promise<Response> {
    const answer = await routed(new URL(request.url).pathname, env);
    return answer === null ? radical.fetch(request, env, context) : Response.json(answer);
  },
  async scheduled({ cron, scheduledTime }: any, env: any): Promise<void> {
    if (cron === "wrong") throw new Error("a fault of the event");
    await radical(env).call("write", { key: "cron", text: cron + " at " + scheduledTime });
  },
  async queue(batch: any, env: any): Promise<void> {
    for (const message of batch.messages) await radical(env).call("write", message.body);
  },
};
`;

const FILES = {
  "radical.config.ts": 'export default { name: "bound", dev: { locations: { A: 0, B: 0 } } };\n',
  "handlers/notes.ts": `import { Table } from "@radical/sdk";

const notes = new Table<string>("notes");

export function write(key: string, text: string): void {
  notes.put(key, text);
}

export function read(key: string): string | null {
  return notes.get(key);
}
`,
  "public/page.txt": "a page",
  "src/worker.ts": WORKER,
  "wrangler.jsonc": WRANGLER_CONFIG,
  ".dev.vars": "TOKEN=secret\nOVERRIDDEN=by .dev.vars\n",
};

const SOON = { timeout: 60_000 };
const LOCATIONS = ["A", "B"] as const;

let project: TemporaryProject;
let dev: RadicalDev;

async function at(path: string, location: string): Promise<unknown> {
  const response = await fetch(`${dev.url}${path}`, { headers: { "x-radical-location": location } });
  return response.json();
}

async function stop(): Promise<void> {
  dev.child.kill("SIGTERM");
  await dev.closed;
}

beforeAll(async () => {
  project = await createProject(FILES);
  dev = await radicalDev(project.folder, ["--no-watch"]);
});
afterAll(async () => {
  if (dev !== undefined) await stop();
  await project?.remove();
});

describe("a binding", () => {
  test("is told at the start, and so is each that is missing", () => {
    const [told] = dev.events.filter((event) => event.event === "bindings");
    const names = (of: readonly { readonly name: string }[] | undefined) => of?.map(({ name }) => name).toSorted();
    const present = "DB EVENTS FILES FLOW JOBS LIMITER ROOM SELF SESSIONS SQL VERSION";
    expect(names(told?.present)).toEqual(present.split(" "));
    expect(names(told?.missing)).toEqual(["AI", "BROWSER", "FAR_SQL", "OTHER", "VECTORS"]);
    expect(told).toMatchObject({
      file: "wrangler.jsonc",
      url: dev.url,
      madeLocal: [{ name: "FILES", field: "r2_buckets" }],
      crons: ["*/5 * * * *"],
      missingSecrets: ["ABSENT"],
    });
  });

  test("that is a variable has the value of .dev.vars first", async () => {
    for (const location of LOCATIONS)
      expect(await at("/vars", location)).toEqual(["hello", { most: 3 }, "by .dev.vars", "secret"]);
    expect(await at("/missing", "A")).toEqual([]);
  });

  test.each(["kv", "r2", "d1", "object"])("that stores is shared by all locations: %s", async (kind) => {
    expect(await at(`/${kind}`, "A")).toBe(1);
    expect(await at(`/${kind}`, "B")).toBe(2);
  });

  test("that limits counts the calls of all locations", async () => {
    // A limit counts loosely within its first moments, and never lets all of these through.
    const answers = [];
    for (let call = 0; call < 6; call++) answers.push(await at("/limit", LOCATIONS[call % 2]!));
    expect(answers).toContainEqual({ success: false });
  });

  test.each<readonly [string, unknown]>([
    ["/flow", ["complete", "hello ann"]],
    ["/self", ["hello", { most: 3 }, "by .dev.vars", "secret"]],
    ["/analytics", "written"],
    ["/sql", expect.stringMatching(/^postgres:\/\/user:word@.*\/shop/)],
    ["/version", "string"],
    ["/asset", "a page"],
  ])("exists at every location: %s", async (path, answer) => {
    for (const location of LOCATIONS) expect(await at(path, location)).toEqual(answer);
  });

  test("that is a queue calls the Worker, which calls handlers", async () => {
    expect(await at("/queue", "B")).toBe("sent");
    await expect.poll(() => at("/api/read?key=job", "B"), SOON).toEqual({ result: "from the queue" });
  });
});

describe("a scheduled event", () => {
  const fire = (query: string, headers: Record<string, string> = {}, path = "/cdn-cgi/handler/scheduled") =>
    fetch(`${dev.url}${path}?${query}`, { headers });

  test("is fired by hand, under each name that wrangler has had, and its Worker calls handlers", async () => {
    for (const path of ["/cdn-cgi/handler/scheduled", "/cdn-cgi/local/scheduled", "/cdn-cgi/mf/scheduled"]) {
      const fired = await fire(`cron=*/5+*+*+*+*&time=${path.length}`, { "x-radical-location": "B" }, path);
      expect([fired.status, await fired.text()]).toEqual([200, "ok"]);
      expect(await at("/api/read?key=cron", "A")).toEqual({ result: `*/5 * * * * at ${path.length}` });
    }
  });

  test("that fails is told, with the Worker's own words in the log", async () => {
    const fired = await fire("cron=wrong&format=json");
    expect([fired.status, await fired.json()]).toEqual([500, { outcome: "exception", noRetry: false }]);
    const logged = (): unknown => dev.events.findLast((event) => event.event === "worker_log");
    await expect.poll(logged, SOON).toMatchObject({
      level: "error",
      message: expect.stringMatching(/^scheduled: Error: a fault of the event\n/) as unknown,
    });
  });

  test("is not fired by pages of the web", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
      const refused = await fire("cron=evil", headers);
      expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "not_local" } }]);
    }
    expect((await fire("cron=wanted&time=7", { origin: dev.url, "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect(await at("/api/read?key=cron", "A")).toEqual({ result: "wanted at 7" });
  });
});

test("an answer that is not a call's is a line of the log, by whom it was made", async () => {
  const answered = (): readonly unknown[] =>
    dev.events.flatMap((event) =>
      event.event === "answered" ? [[event.method, event.path, event.location, event.status, event.by].join(" ")] : [],
    );
  await at("/version?token=secret", "B");
  await fetch(`${dev.url}/page.txt`);
  await fetch(`${dev.url}/throws`, { method: "PUT" });
  await at("/api/read?key=none", "A");
  await expect
    .poll(answered, SOON)
    .toEqual(
      expect.arrayContaining([
        "GET /version B 200 route",
        "GET /page.txt A 200 file",
        "PUT /throws A 500 route",
        "GET /cdn-cgi/handler/scheduled A 200 event",
      ]),
    );
  expect(answered().filter((line) => String(line).includes("/api/"))).toEqual([]);
  const words = dev.events.filter((event) => event.event === "worker_log").map(({ message }) => message);
  expect(words).toContainEqual(expect.stringMatching(/^fetch: Error: a fault of the route\n/));
});

describe("after another start", () => {
  test("what bindings stored is there, and wrangler finds the same database", async () => {
    await stop();
    const wrangler = join(dirname(createRequire(import.meta.url).resolve("wrangler/package.json")), "bin/wrangler.js");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      `${wrangler} d1 execute DB --local --persist-to .radical/edge --json --command`
        .split(" ")
        .concat("SELECT count(*) AS count FROM visits"),
      { cwd: project.folder, env: { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" } },
    );
    expect(JSON.parse(stdout)).toMatchObject([{ results: [{ count: 2 }] }]);
    dev = await radicalDev(project.folder, ["--no-watch", "--env", "staging"]);
    // Lists of bindings are not inherited by an environment, and wrangler keeps the rest.
    expect(await at("/vars", "A")).toEqual(["staged", null, "by .dev.vars", "secret"]);
    await stop();
    dev = await radicalDev(project.folder, ["--no-watch"]);
    for (const kind of ["kv", "r2", "d1", "object"]) expect(await at(`/${kind}`, "B")).toBe(3);
  });
});

describe("a wrangler configuration that can't be taken", () => {
  const started = async (config: string, args: readonly string[] = []): Promise<string> => {
    const other = await createProject({ ...FILES, "wrangler.jsonc": config });
    try {
      const { serving, child, closed } = startDev(other.folder, ["--port", "0", "--no-watch", ...args]);
      const words = await serving.then(
        () => "it serves",
        (error: unknown) => String(error),
      );
      child.kill("SIGTERM");
      await closed;
      return words;
    } finally {
      await other.remove();
    }
  };

  test("ends the start with its file, what is wrong, and what to do", async () => {
    const words = await Promise.all([
      started('{ "kv_namespaces": [{ "id": 3 }] }'),
      started('{ "vars": { "RADICAL_KEY": "mine" } }'),
      started("{}", ["--env", "staging"]),
      started('{ "durable_objects": { "bindings": [{ "name": "HALL", "class_name": "Hall" }] } }'),
    ]);
    expect(words[0]).toMatch(/wrangler_config_invalid.*wrangler\.jsonc can't be read.*kv_namespaces\[0\]/s);
    expect(words[1]).toMatch(/wrangler_config_conflict.*RADICAL_KEY: names that begin with RADICAL_/s);
    expect(words[2]).toMatch(/usage.*wrangler\.jsonc has no environment of that name.*Leave --env out/s);
    expect(words[3]).toMatch(/worker_not_started.*Hall/s);
  });
});

test("startTestApp has them too, in storage of its own", async () => {
  const app: TestApp = await startTestApp({ project: project.folder, vars: { OVERRIDDEN: "by the test" } });
  try {
    const get = async (path: string): Promise<unknown> => (await fetch(`${app.url}${path}`)).json();
    expect(await get("/vars")).toEqual(["hello", { most: 3 }, "by the test", "secret"]);
    expect(await get("/kv")).toBe(1);
  } finally {
    await app.stop();
  }
});
