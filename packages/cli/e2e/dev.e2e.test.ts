/** `radical dev` as a process: saves, signals, what is left behind. */
import { createServer } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type RadicalDev,
  type TemporaryProject,
  createProject,
  descendantsOf,
  isAlive,
  radical,
  radicalDev,
  spawnRadical,
} from "./radical-process.ts";

const SOON = { timeout: 60_000, interval: 30 };

function greeting(word: string): string {
  return `export function greet(name: string): string {\n  return "${word} " + name;\n}\n`;
}

let project: TemporaryProject;
const running: RadicalDev[] = [];

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

test("a save is served in place; one with an error is told with a code frame while the last good build serves on", async () => {
  const { url, events } = await start();
  expect(await greet(url)).toBe("hello ada");

  await project.write("handlers/greet.ts", greeting("good morning"));
  await expect.poll(() => greet(url), SOON).toBe("good morning ada");

  await project.write("handlers/greet.ts", greeting("oops").replace("name;", "nam;"));
  await expect
    .poll(() => events.find(({ event }) => event === "build_failed"), SOON)
    .toMatchObject({
      serving: true,
      errors: 1,
      diagnostics: [{ severity: "error", primary: { file: "handlers/greet.ts", line: 2 } }],
    });
  expect(await greet(url)).toBe("good morning ada");

  // A file that is new, in a folder that is new.
  await project.write("handlers/lib/words.ts", 'export const WORD = "good night";\n');
  await project.write(
    "handlers/greet.ts",
    `import { WORD } from "./lib/words";\n${greeting("").replace('" "', 'WORD + " "')}`,
  );
  await expect.poll(() => greet(url), SOON).toBe("good night ada");
  await project.write("handlers/lib/words.ts", 'export const WORD = "sleep well";\n');
  await expect.poll(() => greet(url), SOON).toBe("sleep well ada");
});

test.each(["SIGINT", "SIGTERM"] as const)("%s to its group, as Ctrl-C sends it, ends every process", async (signal) => {
  const { child, url, closed } = await start();
  await greet(url);
  const pid = child.pid ?? 0;
  const children = await descendantsOf(pid);
  // At least the LVI server and workerd.
  expect(children.length).toBeGreaterThanOrEqual(2);
  process.kill(-pid, signal);
  expect(await closed).toBe(0);
  await expect.poll(() => children.filter(isAlive), SOON).toEqual([]);
});

test("one request is one line: handler, location, path and where the time went", async () => {
  const { url, events } = await start();
  await fetch(`${url}/api/greet`, { method: "POST", body: '{"name": "ada"}', headers: { "x-radical-location": "B" } });
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

test("killed outright, it leaves processes that the next start ends; data and key are kept", async () => {
  const { child, closed, url } = await start();
  const children = await descendantsOf(child.pid ?? 0);
  child.kill("SIGKILL");
  running.pop();

  // What is left holds the port.
  const next = await start(["--port", new URL(url).port]);
  await expect.poll(() => children.filter(isAlive), SOON).toEqual([]);
  await closed;
  expect(await greet(next.url)).toBe("hello ada");
});

test("a second one in the same project is refused, and the first one runs on", async () => {
  const { url, child } = await start();
  // On the same port, as if it were forgotten.
  const { code, stderr } = await radical(["dev", "--project", project.folder, "--port", new URL(url).port]);
  expect(code).toBe(1);
  expect(stderr).toContain(`process ${child.pid}`);
  expect(await greet(url)).toBe("hello ada");
});

test("a port in use is said with the way out, before anything is started", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { code, stderr } = await radical(["dev", "--project", project.folder, "--port", String(port)]);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`port ${port} is in use\\n.*--port \\d+`));
  server.close();
});

test("handlers with errors at the start: code frame, exit code 1", async () => {
  await project.write("handlers/greet.ts", greeting("x").replace("name;", "nam;"));
  const { code, stdout } = await radical(["dev", "--project", project.folder, "--port", "0"]);
  expect(code).toBe(1);
  expect(stdout).toContain("handlers/greet.ts:2");
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
