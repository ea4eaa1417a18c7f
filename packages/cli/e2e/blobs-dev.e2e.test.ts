/**
 * Blobs in `radical dev`: with `radical data`, live queries and `radical replay`, and after everything was killed in the middle of a
 * collection.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COLLECT_BLOBS_PATH } from "../src/dev/control-server.ts";
import { eventsOf } from "./event-stream.ts";
import {
  createProject,
  descendantsOf,
  type Finished,
  isAlive,
  radical,
  type RadicalDev,
  radicalDev,
  spawnRadical,
  type TemporaryProject,
} from "./radical-process.ts";

const SOON = { timeout: 60_000, interval: 20 };

interface Blob {
  readonly hash: string;
  readonly size: number;
  readonly type: string;
}

let project: TemporaryProject;
let dev: RadicalDev;

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "album", dev: { locations: { A: 0 } } };\n',
    ".dev.vars": "RADICAL_BLOB_KEEP_MS=1\n",
    "handlers/users.ts": `import { Blob, Table } from "@radical/sdk";
export class User { picture: Blob | null = null; }
const users = new Table<User>("users");
export function setPicture(name: string, picture: Blob | null): void {
  const user = new User();
  user.picture = picture;
  users.put(name, user);
}
export function pictureOf(name: string): Blob | null {
  const user = users.get(name);
  return user == null ? null : user.picture;
}
`,
  });
  dev = await radicalDev(project.folder);
});
afterAll(async () => {
  dev?.child.kill("SIGTERM");
  await dev?.closed;
  await project?.remove();
});

async function put(bytes: string): Promise<Blob> {
  const response = await fetch(`${dev.url}/blobs`, {
    method: "PUT",
    body: bytes,
    headers: { "content-type": "text/plain" },
  });
  expect([200, 201]).toContain(response.status);
  return (await response.json()) as Blob;
}

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${dev.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
/** The result, or the code of the error. */
const call = async (handler: string, args: object): Promise<unknown> => {
  const { result, error } = (await (await post(`/api/${handler}`, args)).json()) as {
    readonly result?: unknown;
    readonly error?: { readonly code: string };
  };
  return error?.code ?? result;
};
const isThere = async ({ hash }: Blob): Promise<boolean> => (await fetch(`${dev.url}/blobs/${hash}`)).status === 200;
const collect = async (): Promise<void> => {
  for (let times = 0; times < 2; times++) expect((await post(COLLECT_BLOBS_PATH, {})).status).toBe(200);
};
const data = (...args: readonly string[]): Promise<Finished> => radical(["data", ...args], { cwd: project.folder });

test("radical data writes, exports, deletes and imports records with Blobs, whose bytes must be there", async () => {
  const missing = { picture: { hash: "ab".repeat(32), size: 1, type: "a/b" } };
  const refused = await data("put", "users", "ann", JSON.stringify(missing));
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("There are no bytes") as unknown });
  const wrong = await data("put", "users", "ann", JSON.stringify({ picture: { hash: "x", size: 1, type: "a/b" } }));
  expect(wrong.stderr).toContain("a SHA-256 as 64 lower-case hexadecimal digits");
  const picture = await put("a picture");
  expect(await data("put", "users", "ann", JSON.stringify({ picture }))).toMatchObject({ code: 0 });
  await collect();
  expect([await isThere(picture), await call("pictureOf", { name: "ann" })]).toEqual([true, picture]);
  const { stdout } = await data("export");
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([{ table: "users", key: "ann", value: { picture } }]);
  await project.write("items.jsonl", stdout);
  expect(await data("delete", "users", "ann")).toMatchObject({ code: 0 });
  await collect();
  expect(await isThere(picture)).toBe(false);
  expect(await data("import", "items.jsonl")).toMatchObject({ code: 1 });
  await put("a picture");
  expect(await data("import", "items.jsonl")).toMatchObject({ code: 0 });
  await collect();
  expect(await isThere(picture)).toBe(true);
});

test("a live query shows the Blob that another client stores", async () => {
  const events = eventsOf(`${dev.url}/api/pictureOf?name=live`);
  const next = async (): Promise<unknown> => ((await events.next()).value as { readonly data: unknown }).data;
  expect(await next()).toEqual({ result: null });
  const picture = await put("a live picture");
  await call("setPicture", { name: "live", picture });
  expect(await next()).toEqual({ result: picture });
  await events.return();
});

test("executions with Blobs are recorded and replayed", async () => {
  const picture = await put("a recorded picture");
  const child = spawnRadical(["record", "--count", "3", "--whole"], { cwd: project.folder });
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  let words = "";
  child.stderr?.on("data", (chunk: Buffer) => (words += chunk.toString()));
  await expect.poll(() => words, SOON).not.toBe("");
  for (let n = 0; child.exitCode === null && n < 500; n++) {
    await call("setPicture", { name: `r${n}`, picture: n % 3 === 0 ? null : picture });
    await put(`recorded ${n}`);
  }
  expect([await closed, words]).toEqual([0, expect.any(String)]);
  expect(await readFile(join(project.folder, "records.jsonl"), "utf8")).toContain("setPicture");
  const replayed = await radical(["replay", "records.jsonl"], { cwd: project.folder });
  expect(replayed).toMatchObject({ code: 0 });
});

test("after a kill in the middle of a collection no item lacks its bytes, and what was put before is there", async () => {
  const named = await Promise.all(Array.from({ length: 12 }, (_, n) => put(`named ${n}`)));
  const unnamed = await Promise.all(Array.from({ length: 30 }, (_, n) => put(`unnamed ${n}`)));
  for (const [n, picture] of named.entries()) await call("setPicture", { name: `kept ${n}`, picture });
  await post(COLLECT_BLOBS_PATH, {});
  const before = dev.events.length;
  const collecting = post(COLLECT_BLOBS_PATH, {}).catch(() => null);
  // The sweep has marked hashes: their bytes are going.
  const hasSwept = (): boolean =>
    dev.events.slice(before).some((event) => event.event === "request" && event.handler === "blobs.sweep");
  await expect.poll(hasSwept, { timeout: 60_000, interval: 1 }).toBe(true);
  const pids = [dev.child.pid!, ...(await descendantsOf(dev.child.pid!))];
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await Promise.all([collecting, dev.closed]);
  dev = await radicalDev(project.folder);
  for (const [n, picture] of named.entries()) {
    expect([await call("pictureOf", { name: `kept ${n}` }), await isThere(picture)]).toEqual([picture, true]);
  }
  // Bytes that were going can't be named, unless they have come again.
  for (const [n, picture] of unnamed.entries()) {
    const answer = await call("setPicture", { name: `late ${n}`, picture });
    if (answer === null) expect(await isThere(picture)).toBe(true);
    else expect(answer).toBe("blob_missing");
  }
  await collect();
  for (const [n, picture] of named.entries()) expect([n, await isThere(picture)]).toEqual([n, true]);
});
