/** `radical cache purge` with a `radical dev` that runs, with each kind of cache. */
import { afterEach, describe, expect, test } from "vitest";
import { createProject, radical, type RadicalDev, radicalDev, type TemporaryProject } from "./radical-process.ts";

const HANDLERS = `import { Table } from "@radical/sdk";
const names = new Table<string>("names");
const cities = new Table<string>("cities");
export function write(key: string, name: string, city: string): void {
  names.put(key, name);
  cities.put(key, city);
}
export function name(key: string): string | null { return names.get(key); }
export function city(key: string): string | null { return cities.get(key); }
`;

/** `cache`: the fields about it. */
const configOf = (cache: string): string =>
  `export default { name: "people", ${cache}, readLeaseMs: 0, dev: { locations: { near: 0, far: 0 } } };\n`;

const SOON = { timeout: 60_000 };

let project: TemporaryProject;
let dev: RadicalDev | null = null;
afterEach(async () => {
  dev?.child.kill("SIGTERM");
  await dev?.closed;
  dev = null;
  await project.remove();
});

async function started(cache: string): Promise<void> {
  project = await createProject({ "radical.config.ts": configOf(cache), "handlers/people.ts": HANDLERS });
  dev = await radicalDev(project.folder, ["--no-watch"]);
}

/** The path on which the answer came: `near-storage` if the location lacked the item. */
async function path(handler: string, location: string): Promise<unknown> {
  const headers = { "content-type": "application/json", "x-radical-location": location };
  const response = await fetch(`${dev!.url}/api/${handler}`, { method: "POST", headers, body: '{"key":"ann"}' });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get("x-radical-path");
}

async function filled(): Promise<void> {
  const body = JSON.stringify({ key: "ann", name: "Ann", city: "Oslo" });
  const headers = { "content-type": "application/json" };
  expect((await fetch(`${dev!.url}/api/write`, { method: "POST", headers, body })).status).toBe(200);
  for (const location of ["near", "far"])
    for (const handler of ["name", "city"]) await expect.poll(() => path(handler, location), SOON).toBe("speculative");
}

interface Told {
  readonly purged?: readonly { readonly location: string | null; readonly entries: number }[];
  readonly stopped?: boolean;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

async function purge(...args: readonly string[]): Promise<Told & { readonly code: number | null }> {
  const { code, stdout } = await radical(["cache", "purge", "--json", ...args], { cwd: project.folder });
  return { code, ...(JSON.parse(stdout) as Told) };
}

describe("the default, Durable Objects", () => {
  test("an item, a location, everything, and what is wrong", async () => {
    // A jurisdiction means nothing on one machine.
    await started('jurisdiction: "eu"');
    await filled();

    expect(await purge("--table", "names", "--key", "ann")).toEqual({
      code: 0,
      purged: [
        { location: "near", entries: 1 },
        { location: "far", entries: 1 },
      ],
      stopped: false,
    });
    expect(await path("city", "near")).toBe("speculative");
    expect(await path("name", "near")).toBe("near-storage");
    expect(await path("name", "far")).toBe("near-storage");

    expect(await purge("--location", "far", "--table", "cities")).toMatchObject({
      purged: [{ location: "far", entries: 1 }],
    });
    expect(await path("city", "far")).toBe("near-storage");
    expect(await path("city", "near")).toBe("speculative");

    const { code, stdout, stderr } = await radical(["cache", "purge"], { cwd: project.folder });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^✓ \d+ entries removed from 2 caches: near, far$/m);
    expect(await path("city", "near")).toBe("near-storage");

    expect(await purge("--location", "mars")).toMatchObject({
      code: 2,
      error: { code: "unknown_location", hint: "These have one: near, far." },
    });
    expect(await purge("--key", "ann")).toMatchObject({ code: 2, error: { code: "usage" } });
    expect(await purge("--table", "no table")).toMatchObject({ code: 2, error: { code: "usage" } });
  });
});

describe("others", () => {
  test("in KV, all locations at once", async () => {
    await started('cache: { kind: "kv", timeoutMs: 10_000 }');
    await filled();
    expect(await purge("--table", "names")).toMatchObject({ code: 0, purged: [{ location: null, entries: 2 }] });
    for (const location of ["near", "far"]) {
      expect(await path("name", location)).toBe("near-storage");
      expect(await path("city", location)).toBe("speculative");
    }
  });

  test("in memory alone there is nothing to empty", async () => {
    await started('cache: "memory"');
    expect(await purge()).toMatchObject({ code: 1, error: { code: "cache_in_memory" } });
  });
});
