/** The part of the client that puts bytes, and what the interface says of it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DEFAULT_LIMITS, type Manifest, type ModuleHash } from "@radical/protocol";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateClient } from "./client.ts";
import { generateOpenApi } from "./openapi.ts";

const FIELDS = [
  { name: "hash", type: { kind: "string" }, optional: false },
  { name: "size", type: { kind: "i64" }, optional: false },
  { name: "type", type: { kind: "string" }, optional: false },
] as const;
const MANIFEST: Manifest = {
  format: 1,
  application: "album",
  module: "0".repeat(64) as ModuleHash,
  limits: DEFAULT_LIMITS,
  cache: { kind: "memory", memoryBytes: 0, maxAgeHours: 168 },
  tables: {},
  records: { Blob: { name: "Blob", isBlob: true, fields: FIELDS } },
  handlers: {
    setPicture: {
      plan: "sliced",
      readOnly: false,
      file: "handlers/users.ts",
      line: 3,
      parameters: [{ name: "picture", type: { kind: "record", name: "Blob" }, optional: false }],
      result: null,
    },
  },
};
const BLOB = { hash: "ab".repeat(32), size: 3, type: "image/png" };

interface ClientModule {
  createClient(options: object): {
    readonly blobs: {
      put(bytes: unknown, options?: object): Promise<unknown>;
      url(blob: { readonly hash: string }): string;
    };
  };
}

let folder: string;
let client: ClientModule;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-blob-client-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "client.ts"), generateClient(MANIFEST));
  client = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "client.ts")).href)) as ClientModule;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A server that gives these answers, one after the other, and the requests that it got. */
function serverOf(...answers: readonly (readonly [status: number, body: object])[]) {
  const requests: { readonly url: string; readonly init: RequestInit }[] = [];
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    requests.push({ url, init });
    const [status, body] = answers[requests.length - 1]!;
    return Promise.resolve(Response.json(body, { status, headers: status === 503 ? { "retry-after": "0" } : {} }));
  };
  return { requests, of: client.createClient({ baseUrl: "https://album.example.com/", fetch, maxWaitMs: 1 }) };
}

const BUSY = { error: { code: "blob_busy", message: "busy", hint: "again" } };

test("bytes are put with their type, and again while the location is busy", async () => {
  const { requests, of } = serverOf([503, BUSY], [201, BLOB]);
  expect(await of.blobs.put(new Blob(["abc"], { type: "image/png" }))).toEqual(BLOB);
  expect(requests.map(({ url, init }) => [url, init.method, new Headers(init.headers).get("content-type")])).toEqual([
    ["https://album.example.com/blobs", "PUT", "image/png"],
    ["https://album.example.com/blobs", "PUT", "image/png"],
  ]);
});

test("bytes without a type have that of any bytes, and a given type counts", async () => {
  const { requests, of } = serverOf([200, BLOB], [200, BLOB]);
  await of.blobs.put(new Uint8Array([1, 2, 3]));
  await of.blobs.put("abc", { type: "text/plain" });
  expect(requests.map(({ init }) => new Headers(init.headers).get("content-type"))).toEqual([
    "application/octet-stream",
    "text/plain",
  ]);
});

test("a put that is refused says why, at once", async () => {
  const refused = { error: { code: "blob_too_large", message: "too large", hint: "less" } };
  const { requests, of } = serverOf([413, refused]);
  await expect(of.blobs.put("x")).rejects.toMatchObject({ code: "blob_too_large", status: 413, hint: "less" });
  expect(requests).toHaveLength(1);
});

test("the bytes of a Blob have one address", () => {
  expect(serverOf().of.blobs.url(BLOB)).toBe(`https://album.example.com/blobs/${BLOB.hash}`);
});

test("a Blob of the application does not hide the platform's, and an application without any has no such methods", () => {
  const text = generateClient(MANIFEST);
  expect(text).toContain("export interface BlobRecord {");
  expect(text).not.toMatch(/interface Blob \{/);
  expect(text).toContain("readonly picture: BlobRecord;");
  const without = generateClient({ ...MANIFEST, records: {}, handlers: {} });
  expect(without).not.toMatch(/blob/i);
});

test("the interface says how bytes are put and read", async () => {
  const document = JSON.parse(generateOpenApi(MANIFEST)) as { readonly paths: object };
  expect(await new Validator().validate(document)).toMatchObject({ valid: true });
  expect(Object.keys(document.paths)).toEqual(["/api/setPicture", "/blobs", "/blobs/{hash}"]);
});
