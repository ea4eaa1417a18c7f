/** A real server that can't keep up: what it refuses, what it goes on with, and that it is well again. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, expect, test } from "vitest";
import { ABSENT, incrementFollowup, incrementUnits, TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { logged, runToEnd, spawnServer } from "./test-process.ts";

const folder = mkdtempSync(join(tmpdir(), "radical-shedding-"));
let stop = (): void => {};
afterEach(() => stop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function planted(code: string): NodeJS.ProcessEnv {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

const MB = 2 ** 20;
const MEMORY_MB = 700;

/** A signal makes the event loop late from then on; another one ends it. */
const LATE = `let late = false;
process.on("SIGUSR2", () => { late = !late; });
setInterval(() => { const until = Date.now() + 1000; while (late && Date.now() < until); }, 20).unref();`;
/** The same with memory. */
const FULL = `let kept = null;
process.on("SIGUSR2", () => { kept = kept === null ? Buffer.alloc(${MEMORY_MB * MB}, 1) : null; globalThis.gc(); });`;

test.each([
  ["event_loop", LATE],
  ["memory", FULL],
])("new requests are shed, and what is under way goes on: %s", { timeout: 120_000 }, async (reason, code) => {
  const storage = `sqlite:${join(folder, `${reason}.sqlite`)}`;
  const options = ["--shed-delay-ms", "300", "--memory-mb", String(MEMORY_MB), "--followup-timeout-ms", "3600000"];
  const environment = planted(
    `import v8 from "node:v8"; import vm from "node:vm"; v8.setFlagsFromString("--expose-gc"); globalThis.gc = vm.runInNewContext("gc"); ${code}`,
  );
  const child = spawnServer(["--storage", storage, ...options], environment);
  stop = () => void child.kill("SIGKILL");
  const listening = (once(createInterface(child.stdout!), "line") as Promise<[string]>).then(([line]) => line);
  expect(await logged(child, "memory_budget")).toMatchObject({ bytes: MEMORY_MB * MB, origin: "option", workers: 1 });
  const { port } = JSON.parse(await listening) as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const client = new TestClient(url, await testModule());
  await client.register();
  await client.read("a");
  const begun = client.requestOf("increment", "a", incrementUnits("a", ABSENT));
  const valid = await client.lvi(begun);
  if (valid.kind !== "valid" || valid.commitId === null) throw new Error(`not valid: ${JSON.stringify(valid)}`);

  child.kill("SIGUSR2");
  expect(await logged(child, "shedding_load")).toMatchObject({ level: "warn", reason });
  const request = client.requestOf("increment", "b", null);
  const shed = await client.lvi(request);
  expect(shed).toMatchObject({ kind: "refused", code: "busy", retryAfterMs: 1_000 });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await client.send("GET", "/v1/status", new Uint8Array())).status).toBe(200);
  const followup = incrementFollowup(begun.executionId, valid.commitId, "a", ABSENT);
  expect(await client.followup(followup)).toBe("applied");
  // A known execution is answered as ever.
  expect(await client.lvi({ ...begun, attempt: 2 })).toMatchObject({ code: "answer_not_kept" });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain(`radical_shed_requests_total{reason="${reason}"} 1`);

  child.kill("SIGUSR2");
  await logged(child, "shedding_ended");
  // As its location repeats it.
  expect(await client.lvi({ ...request, attempt: 2 })).toMatchObject({ kind: "executed" });
  expect(await client.read("b")).toBe(1);
});

test("a server with too little memory does not start, and says what it needs", async () => {
  const { code, errors } = await runToEnd(
    spawnServer(["--storage", `sqlite:${join(folder, "none.sqlite")}`, "--memory-mb", "256"]),
  );
  expect(code).toBe(2);
  const last = JSON.parse(errors.trim().split("\n").at(-1) ?? "") as Readonly<Record<string, unknown>>;
  expect(last).toMatchObject({ event: "not_started", exitCode: 2 });
  expect(last["reason"]).toMatch(/^--memory-mb gives 256 MiB, and \d+ MiB are needed with 1 worker\./);
});
