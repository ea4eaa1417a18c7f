/** `radical dev` as a process: saves, faults, signals, what is left behind. */
import { readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { loadDeploymentKeys, newAdministrationKey, privateKeyText, signedHeaders } from "@radical/admin";
import { drawn } from "@radical/command-line/short-tier";
import { HEALTH_PATH } from "@radical/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "./free-port.ts";
import {
  type Finished,
  type RadicalDev,
  type TemporaryProject,
  createProject,
  descendantsOf,
  isAlive,
  radical,
  radicalDev,
  spawnRadical,
  startDev,
} from "./radical-process.ts";

/** A read is answered where it was asked: a request has confirmed it, or a read lease. */
const AT_LOCATION = expect.stringMatching(/^(speculative|leased)$/) as string;

const SOON = { timeout: 100_000, interval: 30 };

function greeting(word: string): string {
  return `export function greet(name: string): string {\n  return "${word} " + name;\n}\n`;
}

const COUNTER = `import { Table } from "@radical/sdk";

export class Counter {
  count: i32 = 0;
}
const counters = new Table<Counter>("counters");

export function increment(): i32 {
  const found = counters.get("one");
  const counter = found == null ? new Counter() : found;
  counter.count++;
  counters.put("one", counter);
  return counter.count;
}

export function read(): i32 {
  const found = counters.get("one");
  return found == null ? 0 : found.count;
}
`;

interface Answer {
  readonly status: number;
  readonly result: unknown;
  readonly path: string | null;
  readonly headers: Headers;
}

/** A call without arguments. */
async function call(url: string, handler: string, location?: string, key?: string): Promise<Answer> {
  const headers = {
    ...(location === undefined ? {} : { "x-radical-location": location }),
    ...(key === undefined ? {} : { "idempotency-key": key }),
  };
  const response = await fetch(`${url}/api/${handler}`, { method: "POST", body: "{}", headers });
  const { result } = (await response.json()) as { readonly result: unknown };
  return { status: response.status, result, path: response.headers.get("x-radical-path"), headers: response.headers };
}

/** The short tier draws one. */
const parts = drawn("radical dev", ["saves", "own Worker", "processes", "faults", "data"], 1);

/** The option of a test that leaves it out with its part. */
const of = (part: string): { readonly skip: boolean } => ({ skip: !parts.includes(part) });

let project: TemporaryProject;
const running: Pick<RadicalDev, "child" | "closed">[] = [];

beforeEach(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "greetings", dev: { locations: { A: 0, B: 0 } } };\n',
    "handlers/greet.ts": greeting("hello"),
  });
});
afterEach(async () => {
  for (const { child, closed } of running.splice(0)) {
    child.kill("SIGTERM");
    await closed;
  }
  await project.remove();
});

async function start(args: readonly string[] = []): Promise<RadicalDev> {
  const dev = await radicalDev(project.folder, args);
  running.push(dev);
  return dev;
}

/** What `greet` answers; the connection may be refused for a moment while a new build is taken over. */
async function greet(url: string): Promise<unknown> {
  const response = await fetch(`${url}/api/greet`, { method: "POST", body: '{"name": "ada"}' }).catch(() => null);
  return response === null ? null : ((await response.json()) as { readonly result: unknown }).result;
}

/** What a path answers; the connection may be refused, as above. */
async function textOf(url: string): Promise<string> {
  return fetch(url).then(
    (response) => response.text(),
    () => "",
  );
}

/** A Worker of the application's own. */
function worker(word: string): string {
  return `import { createRadical } from "radical:worker";
const radical = createRadical();
export default {
  fetch: async (request: Request, env: unknown): Promise<Response> =>
    new Response("${word}: " + (await radical(env).call("greet", { name: "ada" }))),
};
`;
}

/** Listens on a port that nobody else can have. */
async function occupyPort(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}

describe.runIf(parts.includes("saves"))("saves and requests", () => {
  test("a save is served in place; one with an error is told with a code frame while the last good build serves on", async () => {
    const { url, events } = await start();
    expect(await greet(url)).toBe("hello ada");

    await project.write("handlers/greet.ts", greeting("good morning"));
    await expect.poll(() => greet(url), SOON).toBe("good morning ada");

    await project.write("handlers/greet.ts", greeting("oops").replace("name;", "nam;"));
    // The last one: a slow machine may build the file while it is being written.
    await expect
      .poll(() => events.findLast(({ event }) => event === "build_failed"), SOON)
      .toMatchObject({
        serving: true,
        errors: 1,
        diagnostics: [{ severity: "error", primary: { file: "handlers/greet.ts", line: 2 } }],
      });
    const warned = await fetch(`${url}/api/greet`, { method: "POST", body: '{"name": "ada"}' });
    expect(await warned.json()).toEqual({ result: "good morning ada" });
    expect(warned.headers.get("x-radical-build-error")).toBe("1 error; GET /__radical/build");
    expect(await (await fetch(`${url}/__radical/build`)).json()).toMatchObject({
      kind: "failed",
      words: "1 error",
      serving: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
      frames: [expect.stringContaining("handlers/greet.ts:2")],
    });

    // A file that is new, in a folder that is new.
    await project.write("handlers/lib/words.ts", 'export const WORD = "good night";\n');
    await project.write(
      "handlers/greet.ts",
      `import { WORD } from "./lib/words";\n${greeting("").replace('" "', 'WORD + " "')}`,
    );
    await expect.poll(() => greet(url), SOON).toBe("good night ada");
    await project.write("handlers/lib/words.ts", 'export const WORD = "sleep well";\n');
    await expect.poll(() => greet(url), SOON).toBe("sleep well ada");
    expect((await fetch(`${url}/api/greet`)).headers.has("x-radical-build-error")).toBe(false);
  });

  test("each build writes the typed client before it serves, and an error leaves the last one", async () => {
    const client = (): Promise<string> => readFile(join(project.folder, ".radical/client.ts"), "utf8");
    const { url, events } = await start();
    expect(await client()).toContain("  greet(args: {");
    const farewell = '/** Says goodbye. */\nexport function part(name: string): string { return "bye " + name; }\n';
    await project.write("handlers/greet.ts", `${greeting("hi")}${farewell}`);
    await expect.poll(() => greet(url), SOON).toBe("hi ada");
    const written = await client();
    expect(written).toContain("   * Says goodbye.\n");
    expect(written).toContain("  part(args: {");
    await project.write("handlers/greet.ts", greeting("oops").replace("name;", "nam;"));
    await expect.poll(() => events.at(-1)?.event, SOON).toBe("build_failed");
    expect(await client()).toBe(written);
  });

  test("handlers with errors at the start: code frame, and exit code 1 if nobody watches", async () => {
    await project.write("handlers/greet.ts", greeting("x").replace("name;", "nam;"));
    const { code, stdout } = await radical(["dev", "--project", project.folder, "--port", "0", "--no-watch"]);
    expect(code).toBe(1);
    expect(stdout).toContain("handlers/greet.ts:2");
  });

  test("with errors at the start every answer tells them, until it builds; a configured port in use is not taken", async () => {
    const { server, port } = await occupyPort();
    await project.write("radical.config.ts", `export default { name: "greetings", dev: { port: ${port} } };\n`);
    await project.write("handlers/greet.ts", greeting("x").replace("name;", "nam;"));
    const starting = startDev(project.folder, []);
    running.push(starting);
    const url = (): string => {
      const waiting = starting.events.find(({ event }) => event === "waiting_for_build");
      return waiting?.event === "waiting_for_build" ? waiting.url : "";
    };
    await expect.poll(url, SOON).not.toBe("");
    server.close();
    expect(starting.events).toContainEqual({ event: "port_taken", wanted: port, port: Number(new URL(url()).port) });
    const answer = await fetch(`${url()}/api/greet`, { method: "POST", body: '{"name": "ada"}' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      error: { code: "build_failed" },
      diagnostics: [{ primary: { file: "handlers/greet.ts", line: 2 } }],
    });
    await project.write("handlers/greet.ts", greeting("hello"));
    expect(await starting.serving).toBe(url());
    expect(await greet(url())).toBe("hello ada");
  });

  test("one request is one line: handler, location, path and where the time went", async () => {
    const { url, events } = await start();
    await fetch(`${url}/api/greet`, {
      method: "POST",
      body: '{"name": "ada"}',
      headers: { "x-radical-location": "B" },
    });
    const lines = (): unknown[] => events.filter(({ event }) => event === "request");
    await expect.poll(lines, SOON).toHaveLength(1);
    expect(lines()[0]).toMatchObject({
      location: "B",
      handler: "greet",
      path: "speculative",
      status: 200,
      ms: {
        rw: expect.any(Number) as unknown,
        lvi: expect.any(Number) as unknown,
        f: expect.any(Number) as unknown,
        total: expect.any(Number) as unknown,
      },
    });
  });

  test("KV as the cache: what one request has put, another one speculates on", async () => {
    await project.write(
      "radical.config.ts",
      'export default { name: "visits", cache: { kind: "kv", memoryBytes: 0, timeoutMs: 10_000 }, dev: { locations: { A: 0 } } };\n',
    );
    await project.write(
      "handlers/greet.ts",
      `import { Table } from "@radical/sdk";
  class Visits { count: i32 = 0; }
  const visits = new Table<Visits>("visits");
  export function greet(name: string): i32 {
    let found = visits.get(name);
    if (found == null) found = new Visits();
    found.count++;
    visits.put(name, found);
    return found.count;
  }
  `,
    );
    const { url, events } = await start();
    expect(await greet(url)).toBe(1);
    const paths = (): unknown[] => events.flatMap((event) => (event.event === "request" ? [event.path] : []));
    // Its put follows the answer.
    let count = 1;
    await expect
      .poll(async () => {
        expect(await greet(url)).toBe(++count);
        return paths().at(-1);
      }, SOON)
      .toBe("speculative");
    expect(events.filter(({ event }) => event === "cache_failed")).toEqual([]);
  });
});

describe.runIf(parts.includes("own Worker"))("a Worker of the application's own", () => {
  test("a Worker of the application's own is taken up, served as it changes, and told of when it can't be bundled", async () => {
    const { url, events, child } = await start();
    const hello = (): Promise<string> => textOf(`${url}/hello`);
    await project.write("src/worker.ts", worker("own"));
    await expect.poll(hello, SOON).toBe("own: hello ada");
    // Files of a folder that is new, and one that goes.
    await project.write("public/deep/file.txt", "a file");
    await expect.poll(() => textOf(`${url}/deep/file.txt`), SOON).toBe("a file");
    await rm(join(project.folder, "public/deep/file.txt"));
    await expect.poll(() => textOf(`${url}/deep/file.txt`), SOON).toBe("own: hello ada");
    await project.write("src/worker.ts", `${worker("broken")}(`);
    await expect
      .poll(() => events.find(({ event }) => event === "failed"), SOON)
      .toMatchObject({ code: "worker_not_bundled", message: expect.stringContaining("src/worker.ts:7") as unknown });
    await expect
      .poll(async () => (await fetch(`${url}/hello`)).headers.get("x-radical-build-error"), SOON)
      .toMatch(/error/);
    expect(await hello()).toBe("own: hello ada");
    await project.write("src/worker.ts", `${worker("broken")}throw new TypeError("at the top");\n`);
    await expect
      .poll(() => events.find((event) => event.event === "failed" && event.code === "worker_not_started"), SOON)
      .toMatchObject({ message: expect.stringMatching(/: TypeError: at the top$/) as unknown });
    await expect.poll(hello, SOON).toBe("own: hello ada");
    const built = (await (await fetch(`${url}/__radical/build`)).json()) as { readonly frames: readonly string[] };
    expect(built).toMatchObject({ kind: "failed", serving: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown });
    expect(built.frames.join()).toContain("at the top");
    await project.write("src/worker.ts", worker("mended"));
    await expect.poll(hello, SOON).toBe("mended: hello ada");

    // The processes stay: nothing that is under way is cut off, and who wipes caches gets an answer.
    const processes = await descendantsOf(child.pid ?? 0);
    await project.write("handlers/greet.ts", greeting("bonjour"));
    await expect.poll(hello, SOON).toBe("mended: bonjour ada");
    const wiped = await fetch(`${url}/__radical/faults`, {
      method: "POST",
      body: '{"wipeCaches": "all"}',
      headers: { "content-type": "application/json" },
    });
    expect(await wiped.json()).toMatchObject({ primaryDown: false });
    expect(await hello()).toBe("mended: bonjour ada");
    const { module } = events.findLast(({ event }) => event === "serving") as { readonly module?: string };
    expect(await (await fetch(`${url}${HEALTH_PATH}`)).json()).toEqual({ status: "ok" });
    const { location } = await loadDeploymentKeys(join(project.folder, ".radical"));
    const signed = signedHeaders(location, "GET", HEALTH_PATH, new Uint8Array());
    expect(await (await fetch(`${url}${HEALTH_PATH}`, { headers: signed })).json()).toMatchObject({ module });
    expect(await descendantsOf(child.pid ?? 0)).toEqual(processes);
    // One that says nothing but who may call.
    await project.write(
      "src/worker.ts",
      `import { CallError, createRadical } from "radical:worker";
  export default createRadical({ authenticate: () => { throw new CallError(403, "closed", "Come back tomorrow."); } });
  `,
    );
    await expect.poll(async () => (await call(url, "greet")).status, SOON).toBe(403);
  });

  test("a Worker of the application's own with errors at the start: every answer tells them, until it can be started", async () => {
    await project.write("src/worker.ts", `import "./parts/part.ts";\n${worker("mended")}`);
    await project.write("src/parts/part.ts", "export const {");
    const starting = startDev(project.folder, ["--port", "0"]);
    running.push(starting);
    const urls = (): readonly string[] =>
      starting.events.flatMap((event) => (event.event === "waiting_for_build" ? [event.url] : []));
    const frames = async (): Promise<string> => {
      const response = await fetch(`${urls().at(-1)}/api/greet`, { method: "POST", body: "{}" }).catch(() => null);
      return response?.status === 503 ? response.text() : "";
    };
    await expect.poll(urls, SOON).toHaveLength(1);
    expect(await frames()).toContain("src/parts/part.ts:1");
    await project.write("src/parts/part.ts", 'throw new TypeError("at the top");\n');
    await expect.poll(frames, SOON).toContain("TypeError: at the top");
    await project.write("src/parts/part.ts", "export {};\n");
    const url = await starting.serving;
    expect(url).toBe(urls()[0]);
    await expect.poll(() => textOf(`${url}/hello`), SOON).toBe("mended: hello ada");
    expect((await fetch(`${url}/hello`)).headers.has("x-radical-build-error")).toBe(false);
  });
});

describe.runIf(parts.includes("processes"))("processes", () => {
  test.each(["SIGINT", "SIGTERM"] as const)(
    "%s to its group, as Ctrl-C sends it, ends every process",
    async (signal) => {
      const { child, url, closed } = await start();
      await greet(url);
      const pid = child.pid ?? 0;
      const children = await descendantsOf(pid);
      // At least the LVI server and workerd.
      expect(children.length).toBeGreaterThanOrEqual(2);
      process.kill(-pid, signal);
      expect(await closed).toBe(0);
      await expect.poll(() => children.filter(isAlive), SOON).toEqual([]);
    },
  );

  test("killed outright, it leaves processes that the next start ends; data and key are kept, until --reset", async () => {
    await project.write("handlers/greet.ts", COUNTER);
    const port = String(await freePort());
    const { child, closed, url } = await start(["--port", port]);
    expect(await call(url, "increment")).toMatchObject({ status: 200, result: 1 });
    const children = await descendantsOf(child.pid ?? 0);
    child.kill("SIGKILL");
    running.pop();

    // What is left holds the port.
    const next = await start(["--port", port]);
    await expect.poll(() => children.filter(isAlive), SOON).toEqual([]);
    await closed;
    expect(await call(next.url, "increment")).toMatchObject({ status: 200, result: 2 });
    next.child.kill("SIGTERM");
    await next.closed;

    const last = await start(["--reset"]);
    expect(last.events.find(({ event }) => event === "reset")).toMatchObject({
      deleted: expect.arrayContaining([".radical/edge", ".radical/data.sqlite"]) as unknown,
    });
    expect(await call(last.url, "increment")).toMatchObject({ status: 200, result: 1 });
  });

  test("a second one in the same project is refused, and the first one runs on", async () => {
    const { url, child } = await start();
    // On the same port, as if it were forgotten.
    const { code, stderr } = await radical(["dev", "--project", project.folder, "--port", new URL(url).port]);
    expect(code).toBe(1);
    expect(stderr).toContain(`process ${child.pid}`);
    expect(await greet(url)).toBe("hello ada");
  });

  test("a port that was asked for and is in use is said with the way out, before anything is started", async () => {
    const { server, port } = await occupyPort();
    const { code, stderr } = await radical(["dev", "--project", project.folder, "--port", String(port)]);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`Port ${port} is in use\\.\\n.*--port \\d+`));
    server.close();
  });

  test("a signal during the start calls it off", async () => {
    const child = spawnRadical(["dev", "--project", project.folder, "--port", "0", "--json"]);
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    const children = await descendantsOf(child.pid ?? 0);
    child.kill("SIGINT");
    expect(await closed).toBe(0);
    await expect.poll(() => children.filter(isAlive), SOON).toEqual([]);
  });
});

describe.runIf(parts.includes("faults") || parts.includes("data"))("while it runs: faults and data", () => {
  let counters: TemporaryProject;
  let dev: RadicalDev;
  /** As many as were answered with a result. */
  let count = 0;

  beforeAll(async () => {
    counters = await createProject({
      "radical.config.ts": 'export default { name: "counters", dev: { locations: { A: 0, B: 0 } } };\n',
      "handlers/counter.ts": COUNTER,
    });
    dev = await radicalDev(counters.folder);
  });
  afterAll(async () => {
    dev.child.kill("SIGTERM");
    await dev.closed;
    await counters.remove();
  });

  const faults = async (change?: unknown, status = 200): Promise<unknown> => {
    const response = await fetch(`${dev.url}/__radical/faults`, {
      method: change === undefined ? "GET" : "POST",
      ...(change === undefined
        ? {}
        : { body: JSON.stringify(change), headers: { "content-type": "application/json" } }),
    });
    expect(response.status).toBe(status);
    return response.json();
  };
  const increment = async (location: string, key?: string): Promise<Answer> => {
    const answer = await call(dev.url, "increment", location, key);
    if (answer.status === 200) expect(answer.result).toBe(++count);
    return answer;
  };
  const read = (location: string): Promise<Answer> => call(dev.url, "read", location);

  test(
    "the primary is down: 503 with Retry-After at every location; up again, nothing is lost",
    of("faults"),
    async () => {
      expect(await increment("A")).toMatchObject({ status: 200 });
      expect(await faults({ primaryDown: true })).toMatchObject({ primaryDown: true, partitioned: [] });
      for (const answer of await Promise.all([read("A"), read("B")])) {
        expect(answer.status).toBe(503);
        expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      }
      expect(await faults({ primaryDown: false })).toMatchObject({ primaryDown: false });
      expect(await read("B")).toMatchObject({ status: 200, result: count });
      expect(await increment("A")).toMatchObject({ status: 200 });
    },
  );

  test(
    "a location is cut off: it can't answer while others go on; healed, what it has sent happens once",
    of("faults"),
    async () => {
      await faults({ partitioned: ["A"] });
      const key = crypto.randomUUID();
      let answered = false;
      const cutOff = call(dev.url, "increment", "A", key).finally(() => (answered = true));
      for (let i = 0; i < 3; i++) expect(await increment("B")).toMatchObject({ status: 200 });
      expect(answered).toBe(false);
      expect(await faults({ partitioned: [] })).toMatchObject({ partitioned: [] });
      const first = await cutOff;
      const again = await call(dev.url, "increment", "A", key);
      count++;
      expect(again).toMatchObject({ status: 200, result: count });
      if (first.status === 200) expect(first.result).toBe(count);
      expect(await read("B")).toMatchObject({ status: 200, result: count });
    },
  );

  test(
    "followups are dropped: the primary runs the handler in their place, and nobody sees a difference",
    of("faults"),
    async () => {
      await faults({ dropFollowups: true });
      for (let i = 0; i < 4; i++) expect(await increment(i % 2 === 0 ? "A" : "B")).toMatchObject({ status: 200 });
      expect(await read("A")).toMatchObject({ status: 200, result: count });
      expect(await read("B")).toMatchObject({ status: 200, result: count });
      await faults({ dropFollowups: false });
    },
  );

  test("a cache is wiped: the primary runs what misses it, and fills it again", of("faults"), async () => {
    await read("A");
    expect(await read("A")).toMatchObject({ path: AT_LOCATION, result: count });
    await faults({ wipeCaches: ["A"] });
    expect(await read("A")).toMatchObject({ status: 200, path: "near-storage", result: count });
    expect(await read("A")).toMatchObject({ status: 200, path: AT_LOCATION, result: count });
    // In its storage still.
    expect(await read("B")).toMatchObject({ status: 200, path: AT_LOCATION, result: count });
  });

  test("the LVI server is killed: it is started again with what it had promised", of("faults"), async () => {
    const pids = (): readonly unknown[] =>
      dev.events.flatMap((event) => (event.event === "server_started" ? [event.pid] : []));
    await expect.poll(pids, SOON).toHaveLength(1);
    await faults({ dropFollowups: true });
    expect(await increment("A")).toMatchObject({ status: 200 });
    await faults({ killServer: true, dropFollowups: false });
    await expect.poll(() => new Set(pids()).size, SOON).toBe(2);
    expect(await read("B")).toMatchObject({ status: 200, result: count });
    expect(await increment("B")).toMatchObject({ status: 200 });
  });

  const data = (...args: string[]): Promise<Finished> => radical(["data", ...args, "--project", counters.folder]);

  test(
    "data is written by the LVI server that runs: locations with older values in their caches find out",
    of("data"),
    async () => {
      await read("A");
      expect(await read("A")).toMatchObject({ path: AT_LOCATION, result: count });
      expect(await data("put", "counters", "one", '{"count": 100}', "--json")).toMatchObject({
        code: 0,
        stdout: '{"written":1,"tables":["counters"]}\n',
      });
      count = 100;
      expect(await read("A")).toMatchObject({ result: count });
      await increment("B");
      // Answered, and perhaps not applied yet.
      expect(await data("get", "counters", "one")).toMatchObject({ code: 0, stdout: '{"count":101}\n' });
      const refused = await data("put", "counters", "one", '{"count": "many"}');
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain('"value.count" must be of type i32');
      expect(await data("delete", "counters", "none", "--json")).toMatchObject({
        code: 0,
        stdout: '{"written":0,"tables":[]}\n',
      });
      // Nobody else may write to the file.
      const storage = `sqlite:${join(counters.folder, ".radical/data.sqlite")}`;
      const beside = await data("delete", "counters", "one", "--storage", storage);
      expect(beside).toMatchObject({ code: 1 });
      expect(beside.stderr).toContain("An LVI server has this storage");
      expect(await read("B")).toMatchObject({ result: count });
    },
  );

  test("data is written by a server that is named, for which the key is given", of("data"), async () => {
    const { lviServer } = JSON.parse(await readFile(join(counters.folder, ".radical/running.json"), "utf8")) as {
      readonly lviServer: string;
    };
    const { location, administration } = await loadDeploymentKeys(join(counters.folder, ".radical"));
    const at = ["--storage", `sqlite:${join(counters.folder, ".radical/data.sqlite")}`, "--server", lviServer];
    const put = (keys: Readonly<Record<string, string>>): Promise<Finished> =>
      radical(["data", "put", "counters", "one", `{"count": ${count}}`, "--project", counters.folder, ...at], {
        env: { ...process.env, ...keys },
      });
    await read("A");
    count += 900;
    expect(await put({ RADICAL_ADMIN_KEYS: privateKeyText(administration) })).toMatchObject({ code: 0 });
    expect(await read("A")).toMatchObject({ result: count });
    // Of locations, as it was before there were two kinds.
    const ofLocation = await put({ RADICAL_KEYS: `${location.id}:${location.secret}` });
    expect([ofLocation.code, ofLocation.stderr]).toEqual([2, expect.stringContaining("RADICAL_ADMIN_KEYS is not set")]);
    const stranger = await put({ RADICAL_ADMIN_KEYS: privateKeyText(newAdministrationKey(administration.id)) });
    expect(stranger).toMatchObject({ code: 1 });
    expect(stranger.stderr).toContain("401");
    expect(await read("A")).toMatchObject({ path: AT_LOCATION, result: count });
  });

  test("what can't be switched is said; pages of the web can't switch anything", of("faults"), async () => {
    expect(await faults({ partitioned: ["C"] }, 400)).toMatchObject({
      error: { code: "invalid_faults", message: expect.stringContaining("A, B") as unknown },
    });
    const simple = await fetch(`${dev.url}/__radical/faults`, { method: "POST", body: '{"primaryDown": true}' });
    expect(simple.status).toBe(415);
    expect(await faults()).toEqual({
      primaryDown: false,
      partitioned: [],
      dropFollowups: false,
      distances: {},
      services: {},
    });
  });

  test(
    "stopped, data is written under the next epoch; what is exported can be imported again",
    of("data"),
    async () => {
      dev.child.kill("SIGTERM");
      await dev.closed;
      const items = (): unknown => {
        const database = new DatabaseSync(join(counters.folder, ".radical/data.sqlite"), { readOnly: true });
        try {
          return database.prepare("SELECT key, commit_id FROM items ORDER BY key").all();
        } finally {
          database.close();
        }
      };
      const [before] = items() as { readonly commit_id: string }[];
      const line = '{"table":"counters","key":"one","value":{"count":101}}';
      await counters.write("seed.ndjson", `${line}\n{"table":"counters","key":"two","value":{"count":2}}\n`);
      expect(await data("seed", "--json")).toMatchObject({ code: 0, stdout: '{"written":2,"tables":["counters"]}\n' });
      const [one, two] = items() as { readonly commit_id: string }[];
      expect(one).toEqual({ key: "one", commit_id: two!.commit_id });
      expect(one!.commit_id > before!.commit_id).toBe(true);
      const exported = await data("export");
      expect(exported.stdout.split("\n").slice(0, -1)).toEqual([
        line,
        '{"table":"counters","key":"two","value":{"count":2}}',
      ]);
      await counters.write(
        "bad.ndjson",
        `${exported.stdout}{"table":"counters","key":"three","value":{"count":0.5}}\n`,
      );
      const refused = await data("import", join(counters.folder, "bad.ndjson"));
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/bad\.ndjson:3 has a wrong value.*i32/);
      const poison = "\u001b]0;pwn\u0007\n\u009b31m\u202e";
      expect(await data("put", "counters", poison, '{"count":3}')).toMatchObject({ code: 0 });
      const shown = [
        await data("list", "counters"),
        await data("list", "counters", "--json"),
        await data("export"),
        await data("get", "counters", poison),
        await data("get", "counters", `${poison}2`),
        await data("get", "counters", `${poison}2`, "--json"),
        await data(`get${poison}`),
        await data("get", "counters", poison, `--un${poison}`),
        await data("delete", "counters", poison),
      ].flatMap(({ stdout, stderr }) => [stdout, stderr]);
      expect(shown.join("")).toContain("\\u001b]0;pwn\\u0007");
      // Nothing but lines.
      for (const text of shown) expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
      const deletion = await data("delete", "counters", "two");
      expect(deletion).toMatchObject({ code: 0, stderr: expect.stringContaining("✓ counters/two deleted") as unknown });
      const again = await data("delete", "counters", "two");
      expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining("there was no counters/two") as unknown });
    },
  );
});
