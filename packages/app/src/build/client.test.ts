import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { DEFAULT_LIMITS, type Manifest, type ModuleHash } from "@radical/protocol";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { clientForPages, generateClient } from "./client.ts";
import { generateHandlerTypes } from "./handler-types.ts";
import { generateOpenApi } from "./openapi.ts";
import { RESERVED } from "./typescript-types.ts";
import { generateWorkerTypes } from "./worker-types.ts";

const at = { plan: "sliced", readOnly: false, file: "handlers/social.ts", line: 3 } as const;
const MANIFEST: Manifest = {
  format: 1,
  application: "social",
  module: "0".repeat(64) as ModuleHash,
  limits: DEFAULT_LIMITS,
  cache: { kind: "memory", memoryBytes: 0, maxAgeHours: 168 },
  tables: {},
  named: {
    Sort: { kind: "enum", values: { Newest: 0, Dearest: 5 }, description: "How they are sorted." },
    Status: { kind: "texts", texts: ["free", "held"] },
    Live: { kind: "enum", values: { Yes: -1 } },
    Unused: { kind: "texts", texts: ["none"] },
  },
  records: {
    Post: {
      name: "Post",
      description: "A post.",
      fields: [
        { name: "text", type: { kind: "string" }, optional: false, description: "Its words." },
        { name: "likes", type: { kind: "i32" }, optional: true },
        { name: "answers", type: { kind: "array", element: { kind: "record", name: "Post" } }, optional: true },
      ],
    },
    Promise: { name: "Promise", fields: [{ name: "kept", type: { kind: "bool" }, optional: false }] },
    Unused: { name: "Unused", fields: [] },
  },
  handlers: {
    follow: {
      ...at,
      speculative: true,
      description: "Follows someone. A comment with */ in it\n\nand a paragraph.",
      abortCodes: ["no_such_user", "self"],
      parameters: [
        { name: "me", type: { kind: "string" }, optional: false, description: "who follows" },
        { name: "since", type: { kind: "i64" }, optional: true },
        { name: "sort", type: { kind: "i32", named: "Sort" }, optional: true },
        { name: "live", type: { kind: "i32", named: "Live" }, optional: true },
        {
          name: "statuses",
          type: { kind: "array", element: { kind: "string", oneOf: ["free", "held"], named: "Status" } },
          optional: true,
        },
      ],
      result: { kind: "bool" },
    },
    post: {
      ...at,
      parameters: [{ name: "post", type: { kind: "record", name: "Post" }, optional: false }],
      result: { kind: "nullable", inner: { kind: "record", name: "Post" } },
    },
    matrix: {
      ...at,
      readOnly: true,
      parameters: [
        { name: "of", type: { kind: "string" }, optional: true },
        { name: "rows", type: { kind: "array", element: { kind: "i64" } }, optional: true },
      ],
      result: { kind: "array", element: { kind: "nullable", inner: { kind: "record", name: "Promise" } } },
    },
    reset: {
      ...at,
      abortCodes: [],
      parameters: [{ name: "hard", type: { kind: "bool" }, optional: true }],
      result: null,
    },
    "Thread.reply": {
      ...at,
      description: "Adds a post.",
      abortCodes: ["not_found"],
      parameters: [
        { name: "id", type: { kind: "string" }, optional: false },
        { name: "text", type: { kind: "string" }, optional: false },
      ],
      result: { kind: "i32" },
    },
    "Thread.title": {
      ...at,
      readOnly: true,
      parameters: [
        { name: "id", type: { kind: "string" }, optional: false },
        { name: "most", type: { kind: "i32" }, optional: true },
      ],
      result: { kind: "string" },
    },
  },
};

type Call = (
  args?: unknown,
  options?: { readonly idempotencyKey?: string; readonly signal?: AbortSignal },
) => Promise<unknown>;
interface Speculation extends AsyncIterable<unknown> {
  readonly first: Promise<unknown>;
  readonly confirmed: Promise<unknown>;
}
interface Live extends AsyncIterableIterator<unknown> {
  close(): void;
}
interface ClientModule {
  createClient(options?: object): Readonly<Record<"follow" | "post" | "matrix" | "reset", Call>> & {
    readonly speculate: { readonly follow: (...args: Parameters<Call>) => Speculation };
    readonly Thread: (id: string) => { readonly reply: Call; readonly title: Call };
    readonly live: {
      readonly matrix: (args?: unknown, options?: object) => Live;
      readonly Thread: (id: string) => { readonly title: (args?: unknown, options?: object) => Live };
    };
  };
  readonly RadicalClientError: new () => Error;
  abortCode(error: unknown, handler: string): string | null;
}

let folder: string;
let client: ClientModule;
const closers: (() => void)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-client-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module", "imports": { "#radical": "./client.ts" } }');
  await writeFile(join(folder, "client.ts"), generateClient(MANIFEST));
  await writeFile(join(folder, "handlers.d.ts"), generateHandlerTypes(MANIFEST));
  client = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "client.ts")).href)) as ClientModule;
});

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("the generated files are strict TypeScript with the types of the handlers", async () => {
  await writeFile(
    join(folder, "use.ts"),
    `import { abortCode, createClient, LiveType, type Post, type PostInput, Sort, type Status, type PromiseRecord, type Speculation } from "#radical";
import type { Handlers } from "./handlers.d.ts";
const client = createClient({ baseUrl: "http://localhost" });
export const followed: Promise<boolean> = client.follow({ me: "ada" });
export const since: Promise<boolean> = client.follow({ me: "ada", since: 2n ** 60n }, { idempotencyKey: "0" });
const statuses: readonly Status[] = ["free"];
export const sorted: Promise<boolean> = client.follow({ me: "ada", sort: Sort.Dearest, live: LiveType.Yes, statuses });
const newest: 0 = Sort.Newest;
export const sorts: readonly Sort[] = [newest, 5];
// @ts-expect-error a value that the enum does not have
void client.follow({ me: "ada", sort: 4 });
// @ts-expect-error a text that the union does not have
export const gone: Status = "gone";
const input: PostInput = { text: "hello", answers: [{ text: "hi" }] };
export const posted: Promise<Post | null> = client.post({ post: input });
export const kept: Promise<readonly (PromiseRecord | null)[]> = client.matrix();
export const nothing: Promise<null> = client.reset();
export const posts: Promise<number> = client.Thread("a").reply({ text: "hello" }, { idempotencyKey: "0" });
export const title: Promise<string> = client.Thread("a").title();
abortCode(null, "Thread.reply") satisfies "not_found" | null;
// @ts-expect-error the id is that of the object
void client.Thread("a").reply({ id: "b", text: "hello" });
// @ts-expect-error it may write
void client.live.Thread("a").reply;
export async function watch(): Promise<readonly (PromiseRecord | null)[] | null> {
  const live = client.live.matrix({ of: "me" }, { onStale: (isStale: boolean) => void isStale });
  for await (const matrix of live) return matrix;
  live.close();
  return null;
}
// @ts-expect-error it may write
void client.live.reset();
const speculation: Speculation<boolean> = client.speculate.follow({ me: "ada" }, { idempotencyKey: "0" });
export const both: readonly Promise<boolean>[] = [speculation.first, speculation.confirmed];
for await (const { kind, result: early } of speculation) if (kind === "corrected") early satisfies boolean;
// @ts-expect-error a handler without the tag
void client.speculate.post;
export const result: Handlers["follow"]["result"] = true;
export function words(error: unknown): string {
  const code = abortCode(error, "follow");
  switch (code) {
    case "no_such_user":
    case "self":
      return code;
    case null:
      return "";
  }
}
abortCode(null, "reset") satisfies null;
export const anyCode: string | null = abortCode(null, "post");
// @ts-expect-error a code that the handler does not have
export const other: "gone" | null = abortCode(null, "follow");
createClient();
// @ts-expect-error an unknown parameter
void client.follow({ me: "ada", you: "bob" });
// @ts-expect-error a missing parameter
void client.follow({});
// @ts-expect-error of another type
void client.follow({ me: 1 });
`,
  );
  const strict = [
    "strict",
    "exactOptionalPropertyTypes",
    "noUncheckedIndexedAccess",
    "noUnusedLocals",
    "noUnusedParameters",
    "erasableSyntaxOnly",
  ];
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        ...Object.fromEntries(strict.map((option) => [option, true])),
        noEmit: true,
        target: "es2024",
        lib: ["es2024", "dom"],
        types: [],
        module: "nodenext",
        allowImportingTsExtensions: true,
      },
      include: ["*.ts"],
    }),
  );
  const root = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(root, "node_modules/typescript/bin/tsc"),
    "-p",
    folder,
  ]).catch((error: unknown) => error as { readonly stdout: string });
  expect(stdout).toBe("");
}, 60_000);

test("a project's sources import it by its name, also as Node runs them", async () => {
  await writeFile(join(folder, "use.mjs"), 'import { abortCode } from "#radical";\nconsole.log(typeof abortCode);\n');
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "use.mjs")]);
  expect(stdout).toBe("function\n");
});

test("names that the generated text has itself are not given to types of the application", () => {
  const generated = `${generateClient(MANIFEST)}${generateWorkerTypes(MANIFEST)}`;
  const own = Array.from(
    generated.matchAll(/^(?: {2}(?!const ))?(?:export )?(?:async )?(?:function\*?|class|interface|type|const) (\w+)/gm),
    ([, name = ""]) => name,
  );
  const ofApplication = ["Sort", "Status", "LiveType", "Post", "PostInput", "PromiseRecord"];
  expect([...new Set(own)].filter((name) => !RESERVED.has(name) && !ofApplication.includes(name))).toEqual([]);
});

test("doc comments of handlers and parameters stand at their methods", () => {
  const generated = generateClient(MANIFEST);
  const comment = `  /**
   * Follows someone. A comment with *\\/ in it
   *
   * and a paragraph.
   *
   * handlers/social.ts:3
   */
`;
  expect(generated).toContain(`${comment}  follow(args: {\n    /** who follows */\n    readonly me: string;`);
  expect(generated).toContain("  /** handlers/social.ts:3; reads only */\n  matrix(args?: {");
  expect(generated).toContain(
    "/** How they are sorted. */\nexport const Sort = {\n  Newest: 0,\n  Dearest: 5,\n} as const;",
  );
  expect(generateHandlerTypes(MANIFEST)).toContain(
    "/**\n * How they are sorted.\n *\n * `Newest: 0, Dearest: 5`\n */\nexport type Sort = 0 | 5;",
  );
  expect(generated).toContain("/** A post. */\nexport interface Post {\n  /** Its words. */\n  readonly text: string;");
  expect(generated).not.toContain("Unused");
  const { paths } = JSON.parse(generateOpenApi(MANIFEST)) as {
    readonly paths: Readonly<Record<string, { readonly post: Readonly<Record<string, unknown>> }>>;
  };
  expect(paths["/api/follow"]?.post).toMatchObject({
    summary: "Follows someone.",
    description:
      "Follows someone. A comment with */ in it\n\nand a paragraph.\n\nThe handler may abort with `no_such_user`, `self`.\n\nhandlers/social.ts:3",
    requestBody: {
      content: {
        "application/json": { schema: { properties: { me: { type: "string", description: "who follows" } } } },
      },
    },
  });
  expect(paths["/api/post"]?.post).toMatchObject({ summary: "post", description: "handlers/social.ts:3" });
});

test("the OpenAPI document has the abort codes of a handler beside those that every handler may have", () => {
  const { paths } = JSON.parse(generateOpenApi(MANIFEST)) as {
    readonly paths: Readonly<
      Record<string, { readonly post: { readonly responses: Readonly<Record<string, unknown>> } }>
    >;
  };
  const any = { $ref: "#/components/responses/Error" };
  expect(paths["/api/reset"]?.post.responses["default"]).toEqual(any);
  expect(paths["/api/post"]?.post.responses["default"]).toEqual(any);
  const code = { anyOf: [{ type: "string", enum: ["no_such_user", "self"] }, { type: "string" }] };
  expect(paths["/api/follow"]?.post.responses["default"]).toMatchObject({
    content: {
      "application/json": {
        schema: {
          allOf: [{ $ref: "#/components/schemas/Radical.Error" }, { properties: { error: { properties: { code } } } }],
        },
      },
    },
  });
});

test("an abort gives its code, another error none; outside of a page an origin is needed", async () => {
  const baseUrl = await serve((request, response) => {
    const isAbort = request.url === "/api/follow";
    response.writeHead(409, isAbort ? { "x-radical-path": "speculative" } : {});
    response.end('{"error":{"code":"self","message":"m","hint":""}}');
  });
  const { follow, post } = client.createClient({ baseUrl });
  const codeOf = (error: unknown): unknown => client.abortCode(error, "follow");
  expect(await follow({ me: "ada" }).catch(codeOf)).toBe("self");
  expect(await post({ post: { text: "" } }).catch(codeOf)).toBeNull();
  expect(codeOf(new Error("self"))).toBeNull();
  expect(() => client.createClient()).toThrow('createClient({ baseUrl: "http://localhost:8787" })');
  vi.stubGlobal("location", new URL("https://social.example.com/home"));
  try {
    const urls: unknown[] = [];
    const fetch = (url: unknown): Promise<Response> => {
      urls.push(url);
      return Promise.resolve(new Response('{"result":true}'));
    };
    expect(await client.createClient({ fetch }).follow({ me: "ada" })).toBe(true);
    expect(urls).toEqual(["/api/follow"]);
  } finally {
    vi.unstubAllGlobals();
  }
});

test("a call posts its arguments by name and gives the result", async () => {
  const seen: { readonly url: string | undefined; readonly body: unknown; readonly type: string | undefined }[] = [];
  const baseUrl = await serve(async (request, response) => {
    seen.push({ url: request.url, body: JSON.parse(await text(request)), type: request.headers["content-type"] });
    response.end('{"result":true}');
  });
  const { follow } = client.createClient({ baseUrl: `${baseUrl}/` });
  expect(await follow({ me: "ada", since: 2n ** 60n })).toBe(true);
  expect(seen).toEqual([
    { url: "/api/follow", body: { me: "ada", since: "1152921504606846976" }, type: "application/json" },
  ]);
});

test("a method of an object is called by the class and the id, which are in the path", async () => {
  const seen: unknown[] = [];
  const baseUrl = await serve(async (request, response) => {
    seen.push([request.method, request.url, await text(request)]);
    if (request.method === "GET") response.setHeader("content-type", "text/event-stream");
    response.end(request.method === "GET" ? 'id: 1\ndata: {"result":"A"}\n\n' : '{"result":3}');
  });
  const made = client.createClient({ baseUrl });
  const thread = made.Thread("a/b c");
  expect(await thread.reply({ text: "hello" })).toBe(3);
  expect(await thread.title()).toBe(3);
  const live = made.live.Thread("a/b c").title({ most: 2 });
  expect(await live.next()).toEqual({ done: false, value: "A" });
  live.close();
  expect(seen.slice(0, 3)).toEqual([
    ["POST", "/api/Thread/a%2Fb%20c/reply", '{"text":"hello"}'],
    ["POST", "/api/Thread/a%2Fb%20c/title", "{}"],
    ["GET", "/api/Thread/a%2Fb%20c/title?most=2", ""],
  ]);
  const { paths } = JSON.parse(generateOpenApi(MANIFEST)) as { readonly paths: Readonly<Record<string, object>> };
  expect(paths["/api/Thread/{id}/title"]).toMatchObject({
    get: { parameters: [{ name: "id", in: "path", required: true }, {}, { name: "most", in: "query" }] },
    post: { parameters: [{ name: "id", in: "path" }, {}], requestBody: { required: false } },
  });
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("one key is kept over all retries; another call has another one", async () => {
  const keys: unknown[] = [];
  const baseUrl = await serve((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    // The first answer is lost, the second says that the primary is down.
    if (keys.length === 1) request.socket.destroy();
    else if (keys.length === 2)
      response.writeHead(503, { "retry-after": "0.001" }).end('{"error":{"code":"primary_unreachable","message":"m"}}');
    else response.end('{"result":null}');
  });
  const { reset } = client.createClient({ baseUrl, maxWaitMs: 1 });
  expect(await reset()).toBeNull();
  expect(keys).toHaveLength(3);
  expect(keys[0]).toMatch(UUID);
  expect(new Set(keys).size).toBe(1);
  await reset({});
  expect(new Set(keys).size).toBe(2);
  await reset({}, { idempotencyKey: "00112233445566778899aabbccddeeff" });
  expect(keys.at(-1)).toBe("00112233445566778899aabbccddeeff");
});

test("a handler that only reads is sent no key of the client's making: read leases do not answer a call with a key", async () => {
  const keys: unknown[] = [];
  const baseUrl = await serve((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    if (keys.length === 1) request.socket.destroy();
    else response.end('{"result":[]}');
  });
  const { matrix } = client.createClient({ baseUrl, maxWaitMs: 1 });
  await matrix();
  await matrix({}, { idempotencyKey: "of the caller's own" });
  expect(keys).toEqual([undefined, undefined, "of the caller's own"]);
});

test("an error that a retry can't help is thrown at once, with all its fields", async () => {
  let requests = 0;
  const baseUrl = await serve((_request, response) => {
    requests++;
    response
      .writeHead(409)
      .end('{"error":{"code":"name_taken","message":"the name is taken","hint":"choose another"}}');
  });
  const error = await client
    .createClient({ baseUrl })
    .follow({ me: "ada" })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(client.RadicalClientError);
  expect(error).toMatchObject({
    code: "name_taken",
    status: 409,
    message: "the name is taken",
    hint: "choose another",
    handler: "follow",
  });
  expect(requests).toBe(1);
});

test("after the last attempt the error tells with which key to go on", async () => {
  let requests = 0;
  const baseUrl = await serve((request) => {
    requests++;
    request.socket.destroy();
  });
  const { follow } = client.createClient({ baseUrl, attempts: 3, maxWaitMs: 1 });
  const error = await follow({ me: "ada" }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "network_error",
    status: 0,
    idempotencyKey: expect.stringMatching(UUID) as unknown,
  });
  expect(requests).toBe(3);
});

test("what a handler itself answers is not asked for again, whatever its status", async () => {
  let requests = 0;
  const baseUrl = await serve((_request, response) => {
    requests++;
    response
      .writeHead(503, { "x-radical-path": "speculative" })
      .end('{"error":{"code":"closed","message":"closed today","hint":""}}');
  });
  const error = await client
    .createClient({ baseUrl })
    .follow({ me: "ada" })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "closed", status: 503 });
  expect(requests).toBe(1);
});

test.each([
  ["7", 7_000],
  ["3600", 10_000],
])("after a Retry-After of %s s the next attempt is made in %i ms", async (retryAfter, waitMs) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  closers.push(() => vi.useRealTimers());
  let asked = 0;
  const answer = async (): Promise<Response> =>
    ++asked > 1
      ? new Response('{"result":true}')
      : new Response('{"error":{"code":"primary_busy","message":"m"}}', {
          status: 503,
          headers: { "retry-after": retryAfter },
        });
  const { follow } = client.createClient({ baseUrl: "http://application", fetch: answer });
  const called = follow({ me: "ada" });
  while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(waitMs - 1);
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await called).toBe(true);
});

test("waiting for the next attempt ends with the signal", async () => {
  const controller = new AbortController();
  const baseUrl = await serve((_request, response) => {
    response.writeHead(503, { "retry-after": "3600" }).end('{"error":{"code":"primary_busy","message":"m"}}', () => {
      controller.abort(new Error("no longer wanted"));
    });
  });
  const { follow } = client.createClient({ baseUrl, maxWaitMs: 3_600_000 });
  await expect(follow({ me: "ada" }, { signal: controller.signal })).rejects.toThrow(/no longer wanted|abort/i);
});

describe("a result before its confirmation", () => {
  const STREAM = { "content-type": "application/x-ndjson; charset=utf-8" };
  const SPECULATIVE = '{"speculative":{"result":"früh"},"execution":"execution-0"}\n';
  const HTTP = '{"path":"speculative","reason":"valid","ms":{}}'.slice(1);
  const line = (fields: object): string => `${JSON.stringify(fields).slice(0, -1)},${HTTP}\n`;
  const eventsOf = async (speculation: Speculation): Promise<unknown[]> => {
    const events: unknown[] = [];
    for await (const event of speculation) events.push(event);
    return events;
  };
  /** Answers the n-th request with the n-th text, as a stream. */
  const streams = async (...texts: readonly string[]): Promise<{ baseUrl: string; seen: IncomingMessage[] }> => {
    const seen: IncomingMessage[] = [];
    const baseUrl = await serve((request, response) => {
      response.writeHead(200, STREAM).end(texts[seen.length]);
      seen.push(request);
    });
    return { baseUrl, seen };
  };

  test("is there while the answer is not, whatever pieces the lines come in", async () => {
    const answer = Promise.withResolvers<void>();
    const baseUrl = await serve(async (_request, response) => {
      response.writeHead(200, STREAM);
      // In the middle of a letter.
      const bytes = Buffer.from(SPECULATIVE);
      const cut = bytes.indexOf("ü") + 1;
      response.write(bytes.subarray(0, cut));
      setImmediate(() => response.write(bytes.subarray(cut)));
      await answer.promise;
      response.end(line({ confirmed: true }));
    });
    const speculation = client.createClient({ baseUrl }).speculate.follow({ me: "ada" });
    expect(await speculation.first).toBe("früh");
    answer.resolve();
    expect(await speculation.confirmed).toBe("früh");
    expect(await eventsOf(speculation)).toEqual([
      { kind: "speculative", result: "früh" },
      { kind: "confirmed", result: "früh" },
    ]);
  });

  test("is asked for with the preference and a key", async () => {
    const { baseUrl, seen } = await streams(SPECULATIVE + line({ confirmed: true }));
    const { speculate } = client.createClient({ baseUrl });
    await speculate.follow({ me: "ada" }, { idempotencyKey: "0".repeat(16) }).confirmed;
    expect(seen[0]!.headers).toMatchObject({ prefer: "speculative", "idempotency-key": "0".repeat(16) });
  });

  test("that is wrong is corrected", async () => {
    const { baseUrl } = await streams(SPECULATIVE + line({ corrected: { result: "late" } }));
    const speculation = client.createClient({ baseUrl }).speculate.follow({ me: "ada" });
    expect([await speculation.first, await speculation.confirmed]).toEqual(["früh", "late"]);
    expect(await eventsOf(speculation)).toEqual([
      { kind: "speculative", result: "früh" },
      { kind: "corrected", result: "late" },
    ]);
  });

  test("whose call fails is void, with the error of the call; nobody need look at it", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    closers.push(() => process.off("unhandledRejection", onUnhandled));
    const failed = { code: "closed", message: "closed today", hint: "", status: 409, retryAfterMs: null };
    const { baseUrl, seen } = await streams(...Array.from({ length: 4 }, () => SPECULATIVE + line({ failed })));
    const { speculate } = client.createClient({ baseUrl });
    expect(await speculate.follow({ me: "ada" }).first).toBe("früh");
    await expect(speculate.follow({ me: "ada" }).confirmed).rejects.toMatchObject({ code: "closed", status: 409 });
    await expect(eventsOf(speculate.follow({ me: "ada" }))).rejects.toBeInstanceOf(client.RadicalClientError);
    expect(seen).toHaveLength(3);
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });

  test("that is not there leaves the answer alone", async () => {
    const { baseUrl } = await streams(line({ corrected: { result: "late" } }));
    const speculation = client.createClient({ baseUrl }).speculate.follow({ me: "ada" });
    expect(await speculation.first).toBe("late");
    expect(await eventsOf(speculation)).toEqual([{ kind: "confirmed", result: "late" }]);
  });

  test("a location that knows of no streams answers all the same, with a result or an error", async () => {
    let status = 200;
    const baseUrl = await serve((_request, response) =>
      response.writeHead(status).end(status === 200 ? '{"result":true}' : '{"error":{"code":"no","message":"No."}}'),
    );
    const { speculate } = client.createClient({ baseUrl });
    expect(await eventsOf(speculate.follow({ me: "ada" }))).toEqual([{ kind: "confirmed", result: true }]);
    status = 403;
    const refused = speculate.follow({ me: "ada" });
    await expect(refused.first).rejects.toMatchObject({ code: "no", status: 403 });
  });

  test.each([
    ["without a last line", SPECULATIVE],
    ["in the middle of it", SPECULATIVE + line({ confirmed: true }).slice(0, 12)],
  ])("a stream that ends %s is an ordinary call again, with the same key", async (_, text_) => {
    const requests: IncomingMessage[] = [];
    const baseUrl = await serve((request, response) => {
      requests.push(request);
      if (requests.length === 1) response.writeHead(200, STREAM).end(text_);
      else response.end('{"result":"late"}');
    });
    const speculation = client.createClient({ baseUrl, maxWaitMs: 1 }).speculate.follow({ me: "ada" });
    expect(await eventsOf(speculation)).toEqual([
      { kind: "speculative", result: "früh" },
      { kind: "corrected", result: "late" },
    ]);
    expect(requests.map(({ headers }) => headers["prefer"])).toEqual(["speculative", undefined]);
    expect(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  });

  test("a failure that may pass is tried again; of a handler's own it is not", async () => {
    const failed = { code: "primary_busy", message: "busy", hint: "", status: 503, retryAfterMs: 1 };
    const mayPass = `${JSON.stringify({ failed, path: null })}\n`;
    const passing = await streams(mayPass, SPECULATIVE + line({ confirmed: true }));
    const { speculate } = client.createClient({ baseUrl: passing.baseUrl, maxWaitMs: 1 });
    expect(await eventsOf(speculate.follow({ me: "ada" }))).toMatchObject([
      { kind: "speculative" },
      { kind: "confirmed" },
    ]);
    const own = await streams(line({ failed }));
    const refused = client.createClient({ baseUrl: own.baseUrl }).speculate.follow({ me: "ada" });
    await expect(refused.confirmed).rejects.toMatchObject({ code: "primary_busy" });
    expect([passing.seen.length, own.seen.length]).toEqual([2, 1]);
  });

  test("the signal ends it", async () => {
    const controller = new AbortController();
    const baseUrl = await serve((_request, response) => void response.writeHead(200, STREAM).write(SPECULATIVE));
    const { speculate } = client.createClient({ baseUrl });
    const speculation = speculate.follow({ me: "ada" }, { signal: controller.signal });
    expect(await speculation.first).toBe("früh");
    controller.abort();
    await expect(speculation.confirmed).rejects.toThrow(/abort/i);
  });

  test("handlers without the tag have none; nor has a client without such handlers", async () => {
    expect(Object.keys(client.createClient({ baseUrl: "" }).speculate)).toEqual(["follow"]);
    const { follow, ...others } = MANIFEST.handlers;
    expect(generateClient({ ...MANIFEST, handlers: others })).not.toContain("readonly speculate:");
    expect(follow).toBeDefined();
  });

  test("pages get the same as JavaScript", async () => {
    await writeFile(join(folder, "page.js"), await clientForPages(generateClient(MANIFEST)));
    const page = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "page.js")).href)) as ClientModule;
    const { baseUrl } = await streams(SPECULATIVE + line({ confirmed: true }));
    expect(await page.createClient({ baseUrl }).speculate.follow({ me: "ada" }).confirmed).toBe("früh");
  });
});

describe("a live query", () => {
  const EVENTS = { "content-type": "text/event-stream; charset=utf-8" };
  const event = (id: string, result: unknown): string => `id: ${id}\ndata: ${JSON.stringify({ result })}\n\n`;
  const END = "retry: 1\n\n";

  interface Asked {
    readonly url: string | undefined;
    readonly accept: string | undefined;
    readonly known: unknown;
  }

  /** Each connection is answered by the next of these. The last one stays open. */
  async function streams(
    ...answers: readonly (string | ((response: ServerResponse) => void))[]
  ): Promise<{ readonly baseUrl: string; readonly asked: Asked[]; readonly send: (sent: string) => void }> {
    const asked: Asked[] = [];
    let last: ServerResponse | null = null;
    const baseUrl = await serve(({ url, headers }, response) => {
      asked.push({ url, accept: headers.accept, known: headers["last-event-id"] });
      const answer = answers[asked.length - 1];
      if (typeof answer === "function") return answer(response);
      last = response.writeHead(200, EVENTS);
      last.flushHeaders();
      if (answer !== undefined) last.write(answer);
      if (asked.length < answers.length) last.end();
    });
    return { baseUrl, asked, send: (sent) => void last?.write(sent) };
  }

  test("gives the present result and each that follows, and is closed", async () => {
    const { baseUrl, asked, send } = await streams(`:\n\n${event("1", [])}`);
    const live = client.createClient({ baseUrl }).live.matrix({ of: "ä b", rows: [1n, 2n ** 60n] });
    expect(await live.next()).toEqual({ done: false, value: [] });
    send(event("2", [{ kept: true }]).slice(0, 20));
    const next = live.next();
    send(event("2", [{ kept: true }]).slice(20));
    expect(await next).toEqual({ done: false, value: [{ kept: true }] });
    const last = live.next();
    live.close();
    expect(await last).toEqual({ done: true, value: undefined });
    const url = `/api/matrix?${new URLSearchParams({ of: "ä b", rows: '["1","1152921504606846976"]' }).toString()}`;
    expect(asked).toEqual([{ url, accept: "text/event-stream", known: undefined }]);
  });

  test("comes back where it was when a stream ends or breaks, and gives no result twice", async () => {
    const broken = (response: ServerResponse): void =>
      void response.writeHead(200, EVENTS).write(event("2", "two"), () => response.socket?.destroy());
    const busy = (response: ServerResponse): void => void response.writeHead(503).end("{}");
    const { baseUrl, asked } = await streams(
      event("1", "one") + END,
      broken,
      busy,
      event("2", "two") + event("3", "three"),
    );
    const seen: unknown[] = [];
    for await (const result of client.createClient({ baseUrl, maxWaitMs: 1 }).live.matrix()) {
      seen.push(result);
      if (result === "three") break;
    }
    expect(seen).toEqual(["one", "two", "three"]);
    expect(asked.map(({ known }) => known)).toEqual([undefined, "1", "2", "2"]);
  });

  test("says that its result may be old, and that it is the newest again", async () => {
    const told: boolean[] = [];
    const stale = "event: stale\nid\ndata: {}\n\n";
    const { baseUrl, asked } = await streams(event("1", "one") + stale + END, event("1", "one") + event("2", "two"));
    const options = { onStale: (isStale: boolean) => told.push(isStale) };
    const live = client.createClient({ baseUrl, maxWaitMs: 1 }).live.matrix({}, options);
    expect([(await live.next()).value, (await live.next()).value]).toEqual(["one", "two"]);
    expect(told).toEqual([true, false]);
    // Only the state itself shows that it is the newest.
    expect(asked.map(({ known }) => known)).toEqual([undefined, undefined]);
    live.close();
  });

  test.each([
    [
      "the handler refuses, with the status of a call",
      'event: error\nstatus: 404\nid: 1\ndata: {"error":{"code":"gone","message":"m","hint":"h"}}\n\n',
      { code: "gone", status: 404, hint: "h", handler: "matrix" },
    ],
    [
      "the application refuses the request",
      (response: ServerResponse): void =>
        void response.writeHead(401).end('{"error":{"code":"signed_out","message":"m"}}'),
      { code: "signed_out", status: 401 },
    ],
    [
      "the answer is not a stream",
      (response: ServerResponse): void => void response.end("<html>"),
      { code: "unexpected_answer" },
    ],
  ])("throws when %s", async (_, answer, expected) => {
    const { baseUrl, asked } = await streams(answer);
    await expect(client.createClient({ baseUrl }).live.matrix().next()).rejects.toMatchObject(expected);
    expect(asked).toHaveLength(1);
  });

  test("gives up after some attempts as long as there was no result", async () => {
    const destroyed = (response: ServerResponse): void => void response.socket?.destroy();
    const { baseUrl, asked } = await streams(...Array.from({ length: 9 }, () => destroyed));
    const live = client.createClient({ baseUrl, attempts: 3, maxWaitMs: 1 }).live.matrix();
    await expect(live.next()).rejects.toMatchObject({ code: "network_error" });
    expect(asked).toHaveLength(3);
  });

  test("is there for handlers that only read, unless a handler has its name", async () => {
    expect(Object.keys(client.createClient({ baseUrl: "" }).live)).toEqual(["matrix", "Thread"]);
    const { matrix, reset, "Thread.title": title, ...handlers } = MANIFEST.handlers;
    expect(title?.readOnly).toBe(true);
    expect(generateClient(MANIFEST)).toContain("their results as they change");
    expect(generateClient({ ...MANIFEST, handlers })).not.toContain("their results as they change");
    const named = generateClient({ ...MANIFEST, handlers: { matrix: matrix!, live: reset! } });
    expect(named).not.toContain("their results as they change");
  });
});

test("the OpenAPI document of all these types is valid, and every reference leads somewhere", async () => {
  const validator = new Validator();
  const document = JSON.parse(generateOpenApi(MANIFEST)) as {
    readonly components: { readonly schemas: Readonly<Record<string, { readonly required?: readonly string[] }>> };
  };
  expect(await validator.validate(document)).toEqual({ valid: true });
  expect(() => validator.resolveRefs()).not.toThrow();
  const { schemas } = document.components;
  expect(Object.keys(schemas)).toEqual(["Radical.Error", "Sort", "Status", "Live", "Post", "Post.Input", "Promise"]);
  expect(schemas["Sort"]).toEqual({
    type: "integer",
    enum: [0, 5],
    "x-enum-varnames": ["Newest", "Dearest"],
    description: "How they are sorted.",
  });
  expect(schemas["Status"]).toEqual({ type: "string", enum: ["free", "held"] });
  expect(schemas["Post"]).toMatchObject({
    description: "A post.",
    properties: { text: { description: "Its words." } },
  });
  expect([schemas["Post"]?.required, schemas["Post.Input"]?.required]).toEqual([
    ["text", "likes", "answers"],
    ["text"],
  ]);
});

test("what is no answer of the application is named as such", async () => {
  const baseUrl = await serve((_request, response) => response.writeHead(404).end("<html>"));
  const error = await client
    .createClient({ baseUrl })
    .follow({ me: "ada" })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "unexpected_answer", status: 404 });
});

test("an aborted call ends without retries", async () => {
  const controller = new AbortController();
  const baseUrl = await serve(() => controller.abort());
  const { follow } = client.createClient({ baseUrl });
  await expect(follow({ me: "ada" }, { signal: controller.signal })).rejects.toThrow(/abort/i);
});

async function serve(answer: (...exchange: Parameters<RequestListener>) => unknown): Promise<string> {
  const server = createServer((...exchange) => void answer(...exchange));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

test("optional members, unions of texts, maps and tuples are what they are in TypeScript and OpenAPI", () => {
  const manifest: Manifest = {
    ...MANIFEST,
    records: {
      Seat: {
        name: "Seat",
        fields: [
          { name: "label", type: { kind: "string" }, optional: false },
          { name: "status", type: { kind: "string", oneOf: ["free", "held"] }, optional: false },
          { name: "until", type: { kind: "f64" }, optional: true, absent: true },
          { name: "prices", type: { kind: "map", value: { kind: "record", name: "Price" } }, optional: false },
          {
            name: "best",
            type: { kind: "tuple", elements: [{ kind: "string" }, { kind: "record", name: "Price" }] },
            optional: false,
          },
        ],
      },
      Price: { name: "Price", fields: [{ name: "cents", type: { kind: "i64" }, optional: false }] },
    },
    handlers: {
      hold: {
        ...at,
        parameters: [
          { name: "seat", type: { kind: "record", name: "Seat" }, optional: false },
          { name: "note", type: { kind: "string" }, optional: true, absent: true },
        ],
        result: { kind: "array", element: { kind: "string", oneOf: ["yes", "no"] } },
      },
      show: { ...at, readOnly: true, parameters: [], result: { kind: "record", name: "Seat" } },
    },
  };
  const types = generateHandlerTypes(manifest);
  expect(types).toContain('readonly status: "free" | "held";');
  expect(types).toContain("readonly until?: number;");
  expect(types).toContain("readonly note?: string;");
  expect(types).toContain("readonly prices: Readonly<Record<string, Price>>;");
  expect(types).toContain("readonly prices: Readonly<Record<string, PriceInput>>;");
  expect(types).toContain("readonly best: readonly [string, Price];");
  expect(types).toContain("readonly best: readonly [string, PriceInput];");
  expect(types).toContain('readonly result: readonly ("yes" | "no")[];');
  const { components } = JSON.parse(generateOpenApi(manifest)) as {
    components: { schemas: Record<string, { properties: Record<string, unknown>; required: string[] }> };
  };
  const seat = components.schemas["Seat"]!;
  expect(seat.required).toEqual(["label", "status", "prices", "best"]);
  expect(seat.properties["status"]).toEqual({ type: "string", enum: ["free", "held"] });
  expect(seat.properties["prices"]).toEqual({
    type: "object",
    additionalProperties: { $ref: "#/components/schemas/Price" },
  });
  expect(seat.properties["best"]).toEqual({
    type: "array",
    prefixItems: [{ type: "string" }, { $ref: "#/components/schemas/Price" }],
    minItems: 2,
    maxItems: 2,
  });
});
