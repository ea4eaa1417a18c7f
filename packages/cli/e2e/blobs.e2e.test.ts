/**
 * Blobs in a real application: put by HTTP, named by items, read by their hash, and collected when nobody names them. The bytes lie in
 * R2, and in a bucket of S3: both stores have to do the same.
 */
import { createHash } from "node:crypto";
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../src/testing.ts";
import { hasPython, type Moto, startMoto } from "./primary/moto.ts";
import { createProject, type TemporaryProject } from "./radical-process.ts";

interface Blob {
  readonly hash: string;
  readonly size: number;
  readonly type: string;
}

const credentials = { accessKeyId: "local", secretAccessKey: "local" };

function clientOf({ endpoint }: Moto): S3Client {
  return new S3Client({ endpoint, credentials, region: "us-east-1", forcePathStyle: true });
}

/** A bucket, and the variables by which a location finds it. */
async function bucketIn(moto: Moto): Promise<Readonly<Record<string, string>>> {
  const client = clientOf(moto);
  await client.send(new CreateBucketCommand({ Bucket: "album" }));
  return {
    BLOBS_S3_URL: `${moto.endpoint}/album`,
    BLOBS_S3_REGION: "us-east-1",
    BLOBS_S3_KEY_ID: credentials.accessKeyId,
    BLOBS_S3_SECRET: credentials.secretAccessKey,
  };
}

const STORES = ["R2", ...(hasPython() ? ["S3"] : [])];

describe.each(STORES)("in %s", (kind) => {
  let project: TemporaryProject;
  let moto: Moto | null = null;
  let app: TestApp;

  beforeAll(async () => {
    project = await createProject({
      "radical.config.ts": 'export default { name: "album", blobs: { maxBytes: 100000 } };\n',
      "handlers/users.ts": `import { Blob, Table } from "@radical/sdk";
export class User { name: string = ""; picture: Blob | null = null; album: Blob[] = []; }
const users = new Table<User>("users");
export function setPicture(name: string, picture: Blob | null): void {
  const user = users.get(name) ?? new User();
  user.name = name;
  user.picture = picture;
  users.put(name, user);
}
export function pictureOf(name: string): Blob | null {
  const user = users.get(name);
  return user == null ? null : user.picture;
}
export function copy(from: string, to: string): void {
  const one = users.get(from);
  if (one == null) return;
  const other = users.get(to) ?? new User();
  other.picture = one.picture;
  users.put(to, other);
}
export function remove(name: string): void { users.delete(name); }
`,
    });
    if (kind === "S3") moto = await startMoto();
    const store = moto === null ? {} : await bucketIn(moto);
    app = await startTestApp({
      project: project.folder,
      locations: { near: 0, far: 0 },
      vars: { RADICAL_BLOB_KEEP_MS: "1", ...store },
    });
  });
  afterAll(async () => {
    await app?.stop();
    await moto?.stop();
    await project?.remove();
  });

  const putBytes = (body: string | Uint8Array<ArrayBuffer>, type = "image/png"): Promise<Response> =>
    fetch(`${app.url}/blobs`, { method: "PUT", body, headers: { "content-type": type } });
  const put = async (body: string): Promise<Blob> => (await (await putBytes(body)).json()) as Blob;
  const read = (hash: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${app.url}/blobs/${hash}`, { headers });
  const collect = (): Promise<void> => app.control.collectBlobs("near");

  test("bytes are put once under their hash, and read by it for ever", async () => {
    const bytes = "a picture";
    const hash = createHash("sha256").update(bytes).digest("hex");
    const first = await putBytes(bytes);
    expect([first.status, await first.json()]).toEqual([201, { hash, size: 9, type: "image/png" }]);
    const again = await putBytes(bytes, "text/html");
    expect([again.status, await again.json()]).toEqual([200, { hash, size: 9, type: "image/png" }]);
    const response = await read(hash);
    expect(await response.text()).toBe(bytes);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      etag: `"${hash}"`,
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
    });
    expect((await read(hash, { "if-none-match": `"${hash}"` })).status).toBe(304);
    if (moto === null) return;
    const { Contents = [] } = await clientOf(moto).send(new ListObjectsV2Command({ Bucket: "album" }));
    expect(Contents.map(({ Key }) => Key)).toEqual([`blobs/${hash}`]);
  });

  test("a part of the bytes is read by a range, as players and resumed downloads do", async () => {
    const { hash } = await put("0123456789");
    const part = async (range: string): Promise<readonly unknown[]> => {
      const response = await read(hash, { range });
      return [response.status, response.headers.get("content-range"), await response.text()];
    };
    expect(await part("bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
    expect(await part("bytes=7-")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await part("bytes=-2")).toEqual([206, "bytes 8-9/10", "89"]);
    expect(await part("bytes=5-99")).toEqual([206, "bytes 5-9/10", "56789"]);
    expect(await part("bytes=10-")).toEqual([416, "bytes */10", ""]);
    expect(await part("bytes=0-1,3-4")).toEqual([200, null, "0123456789"]);
    const head = await fetch(`${app.url}/blobs/${hash}`, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), head.headers.get("accept-ranges")]).toEqual([
      200,
      "10",
      "bytes",
    ]);
  });

  test("types in which something could run are saved, and not shown", async () => {
    for (const type of ["text/html", "image/svg+xml", "application/xhtml+xml", "text/javascript"]) {
      const { hash } = (await (await putBytes(`of type ${type}`, type)).json()) as Blob;
      const { headers } = await read(hash);
      expect([headers.get("content-type"), headers.get("content-disposition")]).toEqual([type, "attachment"]);
    }
  });

  test("bad requests have clear errors", async () => {
    const told = async (asked: Promise<Response>): Promise<readonly unknown[]> => {
      const response = await asked;
      const { status, headers } = response;
      const { error } = (await response.json()) as { readonly error: { readonly code: string; readonly hint: string } };
      expect(error.hint).not.toBe("");
      return [status, error.code, headers.get("allow")];
    };
    const at = (path: string, init?: RequestInit): Promise<Response> => fetch(`${app.url}${path}`, init);
    expect(await told(putBytes("x".repeat(100_001)))).toEqual([413, "blob_too_large", null]);
    expect(await told(putBytes("x", "picture"))).toEqual([415, "unsupported_media_type", null]);
    expect(await told(at("/blobs", { method: "POST", body: "x" }))).toEqual([405, "method_not_allowed", "PUT"]);
    expect(await told(at(`/blobs/${"0".repeat(64)}`, { method: "PUT", body: "x" }))).toEqual([
      405,
      "method_not_allowed",
      "GET, HEAD",
    ]);
    expect(await told(at(`/blobs/${"0".repeat(64)}`))).toEqual([404, "not_found", null]);
    expect(await told(at("/blobs/picture.png"))).toEqual([404, "not_found", null]);
    expect((await putBytes(new Uint8Array(0))).status).toBe(201);
  });

  test("an execution that is given a Blob whose bytes are not there is refused, everywhere", async () => {
    const picture = { hash: "ab".repeat(32), size: 1, type: "image/png" };
    for (const location of ["near", "far"]) {
      const answer = await app.call("setPicture", { name: "bob", picture }, { location });
      expect([answer.status, answer.error?.code]).toEqual([409, "blob_missing"]);
    }
    const wrong = await app.call("setPicture", { name: "bob", picture: { ...picture, hash: "x" } });
    expect([wrong.status, wrong.error?.code]).toEqual([400, "invalid_argument"]);
  });

  test("bytes are collected when no item names them, and only then", async () => {
    const isThere = async (hash: string): Promise<boolean> => (await read(hash)).status === 200;
    const picture = await put("named by two");
    await app.result("setPicture", { name: "ann", picture });
    await app.result("copy", { from: "ann", to: "eve" }, { location: "far" });
    // A first collection sees since when nobody names bytes, and a later one removes them.
    const collectTwice = async (): Promise<void> => {
      await collect();
      await collect();
    };
    await collectTwice();
    expect(await isThere(picture.hash)).toBe(true);
    await app.result("remove", { name: "ann" });
    await collectTwice();
    expect([await isThere(picture.hash), await app.result("pictureOf", { name: "eve" })]).toEqual([true, picture]);
    await app.result("setPicture", { name: "eve", picture: null });
    await collectTwice();
    expect(await isThere(picture.hash)).toBe(false);
    const answer = await app.call("setPicture", { name: "eve", picture });
    expect(answer.error?.code).toBe("blob_missing");
    expect(await put("named by two")).toEqual(picture);
    await app.result("setPicture", { name: "eve", picture });
    await collectTwice();
    expect(await isThere(picture.hash)).toBe(true);
  });
});
