/** `radical build` and `radical analyze` as processes: what they print, write and exit with. */
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TemporaryProject, createProject, radical } from "./radical-process.ts";

const CONFIG = 'export default { name: "visits" };\n';
const HANDLERS = `import { Table } from "@radical/sdk";

export class Visits {
  count: i32 = 0;
}
const visits = new Table<Visits>("visits");

export function visit(page: string): i32 {
  const found = visits.get(page);
  const counted = found == null ? new Visits() : found;
  counted.count += 1;
  visits.put(page, counted);
  return counted.count;
}
`;

let good: TemporaryProject;
let bad: TemporaryProject;

beforeAll(async () => {
  good = await createProject({ "radical.config.ts": CONFIG, "handlers/visits.ts": HANDLERS });
  bad = await createProject({
    "radical.config.ts": CONFIG,
    "handlers/visits.ts": HANDLERS.replace("counted.count += 1;", "counted.total += 1;"),
  });
});
afterAll(async () => {
  await good.remove();
  await bad.remove();
});

describe("radical", () => {
  test.each([
    ["--help"],
    ["dev", "--help"],
    ["build", "--help"],
    ["analyze", "--help"],
    ["explain", "--help"],
    ["data", "--help"],
    ["record", "--help"],
    ["replay", "--help"],
    ["doctor", "--help"],
    ["tail", "--help"],
    ["primary", "--help"],
    ["deploy", "--help"],
    ["deployments", "--help"],
    ["rollback", "--help"],
    ["lsp", "--help"],
    ["completion", "--help"],
  ])("%s %s explains itself with examples", async (...args) => {
    const { code, stdout } = await radical(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Examples:\n {2}\$ radical/);
  });

  test("--help documents the exit codes, --version prints the version", async () => {
    expect((await radical(["--help"])).stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 /);
    expect((await radical(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test.each([
    [["biuld"], /^error Unknown command 'biuld'\.\n\(Did you mean build\?\)\n {2}radical --help shows the usage\.\n$/],
    [["build", "--fast"], /^error Unknown option '--fast'\.\n {2}radical build --help shows the usage\.\n$/],
    [["dev", "--port", "http"], /--port must be an integer from 0 to 65535, and is "http"\./],
    [[], /Usage: radical \[options\] \[command\]/],
    [["data", "get", "users"], /Missing required argument 'key'/],
    [["restore", "--from", "a", "--storage", "dynamodb:a?region=eu-west-1"], /a-\* are those that are to be replaced/],
    [["backup", "list", "--region", "eu-west-1"], /no environment is named/],
    [["dev", "--locations", "VA"], /--locations/],
    [["build", "--project", "/nonexistent"], /has no radical\.config\.ts/],
  ])("%j is wrong usage: exit code 2, nothing on stdout", async (args, message) => {
    const { code, stdout, stderr } = await radical(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
  });

  test.each([["list"], ["export"]])(
    "data %s of a database that is not there: exit code 2, and nothing is made",
    async (verb) => {
      const file = join(good.folder, "mistyped.sqlite");
      const args = ["data", verb, "--project", good.folder, "--storage", `sqlite:${file}`];
      const { code, stdout, stderr } = await radical(args);
      expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(`There is no database ${file}.`)]);
      expect(existsSync(file)).toBe(false);
    },
  );

  test("a location of the name that --central takes: exit code 2", async () => {
    const args = ["dev", "--project", good.folder, "--locations", "central=5", "--central"];
    const { code, stderr } = await radical(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining('already has a location "central"')]);
  });

  test("a configuration that can't be used: exit code 2, the field named", async () => {
    const project = await createProject({ "radical.config.ts": 'export default { name: "My App" };' });
    const { code, stderr } = await radical(["build", "--project", project.folder]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/radical\.config\.ts: name must be .*"My App"/);
    await project.write("radical.config.ts", 'import { defineConfig } from "@radical/cli";\n');
    const bare = await radical(["build", "--project", project.folder]);
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("`npm install`")]);
    await project.remove();
  });
});

describe("radical build", () => {
  test("writes what is deployed; the same sources give the same module", async () => {
    const { code, stdout } = await radical(["build", "--json"], { cwd: good.folder });
    expect(code).toBe(0);
    const result = JSON.parse(stdout) as { readonly module: string; readonly handlers: unknown };
    expect(result).toMatchObject({
      ok: true,
      handlers: [{ name: "visit", file: "handlers/visits.ts", line: 8, readOnly: false }],
    });
    const dist = join(good.folder, "dist");
    expect((await readdir(dist)).toSorted()).toEqual([
      "bindings.json",
      "client.ts",
      "handlers.d.ts",
      "manifest.json",
      "module.rw.wasm",
      "module.wasm",
      "openapi.json",
      "worker.js",
    ]);
    expect(WebAssembly.validate(await readFile(join(dist, "module.wasm")))).toBe(true);
    expect(WebAssembly.validate(await readFile(join(dist, "module.rw.wasm")))).toBe(true);
    expect(await readFile(join(dist, "client.ts"), "utf8")).toContain("visit(args: {");
    expect(JSON.parse(await readFile(join(dist, "manifest.json"), "utf8"))).toMatchObject({
      application: "visits",
      module: result.module,
      cache: { kind: "durable-object" },
    });
    expect(JSON.parse(await readFile(join(dist, "bindings.json"), "utf8"))).toMatchObject({
      durable_objects: { bindings: [{ name: "RADICAL_CACHE", class_name: "RadicalCache" }] },
    });

    const again = await radical(["build", "--json"], { cwd: good.folder });
    expect((JSON.parse(again.stdout) as typeof result).module).toBe(result.module);
  });

  test("a handler with an error: exit code 1, a code frame, nothing written", async () => {
    const { code, stdout, stderr } = await radical(["build", "--project", bad.folder], { env: { NO_COLOR: "1" } });
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain("handlers/visits.ts:11");
    expect(stderr).toMatch(/11 \| {3}counted\.total \+= 1;\n.*\^/);
    expect(stderr).not.toContain("\u001b");
    expect(await readdir(bad.folder)).not.toContain("dist");
  });
});

describe("radical analyze", () => {
  test("shows the units, and --json everything", async () => {
    const { code, stdout } = await radical(["analyze", "visit", "--json", "--project", good.folder]);
    expect(code).toBe(0);
    const { handlers } = JSON.parse(stdout) as { readonly handlers: readonly [{ readonly rwSource: string }] };
    expect(handlers[0]).toMatchObject({
      name: "visit",
      plan: { kind: "sliced" },
      reads: [{ table: "visits", pattern: "visits/{page}", source: "page" }],
      writes: [{ table: "visits", pattern: "visits/{page}", source: "page" }],
    });
    expect(handlers[0].rwSource).toContain("willPut(page)");
  });

  test("an unknown handler is wrong usage, and the handlers are named", async () => {
    const { code, stderr } = await radical(["analyze", "visits", "--project", good.folder]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/The handler "visits" does not exist\.\n.*handlers: visit\./);
  });
});
