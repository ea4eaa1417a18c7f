import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { DEFAULT_LIMITS, type Manifest, type ModuleHash } from "@radical/protocol";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientForPages, generateClient } from "./client.ts";
import { generateOpenApi } from "./openapi.ts";
import { RESERVED } from "./typescript-types.ts";

const at = { readOnly: false, file: "handlers/shop.ts", line: 3 } as const;
const MANIFEST: Manifest = {
  format: 1,
  application: "shop",
  module: "0".repeat(64) as ModuleHash,
  limits: DEFAULT_LIMITS,
  cache: { kind: "memory", memoryBytes: 0, maxAgeHours: 168 },
  tables: {},
  records: {},
  handlers: {
    buy: {
      ...at,
      plan: "workflow",
      mayEffect: true,
      description: "Buys a seat.",
      parameters: [{ name: "seat", type: { kind: "string" }, optional: false }],
      result: { kind: "string" },
    },
    seats: { ...at, plan: "sliced", readOnly: true, parameters: [], result: { kind: "i32" } },
  },
};

const ID = "8a".repeat(16);
const PATH = `/api/buy/${ID}`;

interface Workflow {
  readonly id: string;
  result(options?: object): Promise<unknown>;
  state(): Promise<string>;
  cancel(): Promise<void>;
}
interface ClientModule {
  createClient(options: object): {
    readonly buy: (args: object, options?: object) => Promise<unknown>;
    readonly start: { readonly buy: (args: object, options?: object) => Promise<Workflow> };
    readonly workflow: { readonly buy: (id: string) => Workflow };
    readonly seats: () => Promise<unknown>;
  };
}

let folder: string;
let module: ClientModule;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-workflow-client-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module", "imports": { "#radical": "./client.ts" } }');
  await writeFile(join(folder, "client.ts"), generateClient(MANIFEST));
  module = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "client.ts")).href)) as ClientModule;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Seen {
  readonly call: string;
  readonly prefer: string | undefined;
  readonly key: string | undefined;
}

/** A client, and what it sends. Each request gets the next answer. */
function clientWith(answers: readonly Response[]) {
  const seen: Seen[] = [];
  const left = [...answers];
  const fetch = (url: string, { method, headers }: { method: string; headers: Record<string, string> }) => {
    seen.push({ call: `${method} ${url}`, prefer: headers["prefer"], key: headers["idempotency-key"] });
    return Promise.resolve(left.shift() ?? new Response("nothing is left", { status: 500 }));
  };
  return { client: module.createClient({ baseUrl: "", fetch, maxWaitMs: 1 }), seen };
}

const working = (state: string): Response =>
  new Response(JSON.stringify({ workflow: ID, state }), { status: 202, headers: { location: PATH } });
const result = (value: unknown): Response =>
  new Response(JSON.stringify({ result: value }), { headers: { "x-radical-path": "near-storage" } });
const failed = (status: number, code: string, isAbort: boolean): Response =>
  new Response(JSON.stringify({ error: { code, message: "no", hint: "" } }), {
    status,
    headers: { "x-radical-execution": `execution-${ID}`, ...(isAbort ? { "x-radical-path": "near-storage" } : {}) },
  });

describe("a call of a workflow", () => {
  test("gives the result that the first answer has", async () => {
    const { client, seen } = clientWith([result("o1")]);
    expect(await client.buy({ seat: "A" })).toBe("o1");
    expect(seen).toEqual([{ call: "POST /api/buy", prefer: "wait=20", key: expect.any(String) as string }]);
  });

  test("waits for the end, however often it has to ask, and over a failure that may pass", async () => {
    const { client, seen } = clientWith([
      working("running"),
      working("waiting"),
      failed(503, "primary_busy", false),
      result("o1"),
    ]);
    expect(await client.buy({ seat: "A" }, { idempotencyKey: "k" })).toBe("o1");
    expect(seen).toEqual([
      { call: "POST /api/buy", prefer: "wait=20", key: "k" },
      ...[1, 2, 3].map(() => ({ call: `GET ${PATH}`, prefer: "wait=20", key: undefined })),
    ]);
  });

  test("fails as the workflow does", async () => {
    const { client } = clientWith([working("running"), failed(409, "cancelled", true)]);
    const error: unknown = await client.buy({ seat: "A" }, { idempotencyKey: "k" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "cancelled", status: 409, isAbort: true, idempotencyKey: "k", handler: "buy" });
  });
});

describe("a workflow that is started", () => {
  test("is there at once, and tells its state and its result", async () => {
    const { client, seen } = clientWith([
      working("running"),
      working("waiting"),
      result("o1"),
      failed(402, "declined", true),
      working("stuck"),
      result("o1"),
    ]);
    const workflow = await client.start.buy({ seat: "A" });
    expect(workflow.id).toBe(ID);
    expect([await workflow.state(), await workflow.state(), await workflow.state()]).toEqual([
      "waiting",
      "ended",
      "ended",
    ]);
    expect(await workflow.result()).toBe("o1");
    expect(seen.map(({ call, prefer }) => `${call} ${prefer}`)).toEqual([
      "POST /api/buy wait=0",
      ...[1, 2, 3].map(() => `GET ${PATH} wait=0`),
      ...[1, 2].map(() => `GET ${PATH} wait=20`),
    ]);
  });

  test("may have failed by then: its result says so", async () => {
    const { client } = clientWith([failed(402, "declined", true), failed(402, "declined", true)]);
    const workflow = await client.start.buy({ seat: "A" });
    expect(workflow.id).toBe(ID);
    await expect(workflow.result()).rejects.toMatchObject({ code: "declined" });
  });

  test("is not there if nothing was started", async () => {
    const { client } = clientWith([failed(400, "invalid_argument", false)]);
    await expect(client.start.buy({ seat: "A" })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("is found by its id, and cancelled", async () => {
    const { client, seen } = clientWith([working("cancelling"), failed(409, "cancelled", true)]);
    const workflow = client.workflow.buy(ID);
    await workflow.cancel();
    await workflow.cancel();
    expect(seen.map(({ call }) => call)).toEqual([`DELETE ${PATH}`, `DELETE ${PATH}`]);
  });

  test("of somebody else is unknown", async () => {
    const { client } = clientWith([failed(404, "unknown_workflow", false)]);
    await expect(client.workflow.buy(ID).state()).rejects.toMatchObject({ code: "unknown_workflow", status: 404 });
  });
});

test("other handlers are called as ever", async () => {
  const { client, seen } = clientWith([result(3)]);
  expect(await client.seats()).toBe(3);
  expect(seen).toEqual([{ call: "POST /api/seats", prefer: undefined, key: undefined }]);
});

test("the client is strict TypeScript with the types of results, and pages get the same as JavaScript", async () => {
  await writeFile(
    join(folder, "use.ts"),
    `import { createClient, type Workflow, type WorkflowState } from "#radical";
const client = createClient();
const order: string = await client.buy({ seat: "A" });
const workflow: Workflow<string> = await client.start.buy({ seat: "A" }, { idempotencyKey: "k" });
const state: WorkflowState = await client.workflow.buy(workflow.id).state();
const again: string = await workflow.result({ signal: AbortSignal.timeout(1) });
// @ts-expect-error: the result is a text
const wrong: number = await workflow.result();
// @ts-expect-error: it is not a workflow
void client.start.seats;
export { order, state, again, wrong };
`,
  );
  const compiler = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));
  const options =
    "--noEmit --strict --noUnusedLocals --target es2024 --module nodenext --lib es2024,dom,dom.asynciterable";
  const files = ["--allowImportingTsExtensions", "use.ts", "client.ts"];
  await promisify(execFile)(process.execPath, [compiler, ...options.split(" "), ...files], { cwd: folder }).catch(
    ({ stdout }: { stdout: string }) => expect(stdout).toBe(""),
  );
  await writeFile(join(folder, "page.js"), await clientForPages(generateClient(MANIFEST)));
  const page = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "page.js")).href)) as ClientModule;
  const fetch = (): Promise<Response> => Promise.resolve(result("o1"));
  expect(await page.createClient({ baseUrl: "", fetch }).buy({ seat: "A" })).toBe("o1");
});

test("names of the client are not given to types of the application", () => {
  const declared = generateClient(MANIFEST).matchAll(
    /^(?:export )?(?:async )?(?:function|class|interface|type|const) (\w+)/gm,
  );
  expect(Array.from(declared, ([, name]) => name!).filter((name) => !RESERVED.has(name))).toEqual([]);
});

test("the OpenAPI document has the paths of workflows, and is valid", async () => {
  const document = JSON.parse(generateOpenApi(MANIFEST)) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: object }>>>>;
  };
  expect((await new Validator().validate(document)).valid).toBe(true);
  expect(Object.keys(document.paths)).toEqual(["/api/buy", "/api/buy/{id}", "/api/seats"]);
  expect(Object.keys(document.paths["/api/buy/{id}"]!)).toEqual(["get", "delete"]);
  expect(Object.keys(document.paths["/api/buy"]!["post"]!.responses)).toContain("202");
  expect(Object.keys(document.paths["/api/seats"]!["post"]!.responses)).not.toContain("202");
});
