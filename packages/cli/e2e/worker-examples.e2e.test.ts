/** Applications of the documents whose Workers take files, forms, queues and schedules: docs/examples/album and newsletter. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../src/testing.ts";

const EXAMPLES = fileURLToPath(new URL("../../../docs/examples", import.meta.url));
const SOON = { timeout: 100_000, interval: 30 };

const started: TestApp[] = [];

async function start(name: string, vars: Readonly<Record<string, string>> = {}): Promise<TestApp> {
  const app = await startTestApp({ project: join(EXAMPLES, name), vars });
  started.push(app);
  return app;
}

afterAll(async () => {
  for (const app of started) await app.stop();
  for (const name of ["album", "newsletter"])
    await rm(join(EXAMPLES, name, ".radical"), { recursive: true, force: true });
  await rm(join(EXAMPLES, "album/public"), { recursive: true, force: true });
});

describe("the album", () => {
  let app: TestApp;
  const asAnn = { authorization: "Bearer t1" };

  beforeAll(async () => {
    app = await start("album", { TOKENS: "t1=ann,t2=bob" });
  });

  const put = (headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(new URL("/blobs", app.url), { method: "PUT", body: "bytes", headers });

  test("takes pictures of known people alone, and shows them to everybody", async () => {
    for (const headers of [{}, { "content-type": "image/png" }, { ...asAnn, "content-type": "text/plain" }]) {
      const refused = await put(headers);
      expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "blob_not_allowed" } }]);
    }
    const answer = await put({ ...asAnn, "content-type": "image/png" });
    const picture = (await answer.json()) as { readonly hash: string };
    expect(picture).toMatchObject({ size: 5, type: "image/png" });
    expect((await app.call("setPicture", { picture })).status).toBe(401);
    await app.result("setPicture", { picture }, { headers: asAnn });
    expect(await app.result("pictureOf", { name: "ann" }, { location: "far" })).toEqual(picture);
    expect(await app.result("like", { post: "7" }, { headers: { cookie: "token=t2" } })).toBe(1);
    expect((await app.call("like", { post: "7/8" }, { headers: asAnn })).error?.code).toBe("bad_post");
    expect(await (await fetch(new URL(`/blobs/${picture.hash}`, app.url))).text()).toBe("bytes");
  });

  test("lets pages of one other site call", async () => {
    const ask = (origin: string): Promise<number> =>
      app.call("like", { post: "7" }, { headers: { ...asAnn, origin } }).then(({ status }) => status);
    expect([await ask("https://app.example.com"), await ask("https://evil.example")]).toEqual([200, 403]);
  });

  test("serves the client that its page imports", async () => {
    expect(await (await fetch(new URL("/client.js", app.url))).text()).toContain("speculate");
  });
});

describe("the newsletter", () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await start("newsletter", { LIST_SECRET: "s1" });
  });

  const post = (path: string, body: BodyInit, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(new URL(path, app.url), { method: "POST", body, headers });

  test("answers its form by a call in process, and a wrong address as the handler does", async () => {
    const asked = await post("/form", new URLSearchParams({ address: "ann@example.com" }));
    expect(await asked.text()).toMatch(/^Confirm it before \d{4}-/);
    const wrong = await post("/form", new URLSearchParams({ address: "nobody" }));
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { code: "bad_address" } }]);
  });

  test("takes addresses from its queue, and no client hands them in", async () => {
    const list = "bob@example.com\ncyd@example.com\n";
    expect((await post("/list", list)).status).toBe(403);
    expect((await post("/list", list, { authorization: "Bearer s1" })).status).toBe(202);
    await expect.poll(() => app.result("countReaders"), SOON).toBe(2);
    expect((await app.call("importReader", { address: "dan@example.com" })).error?.code).toBe("not_for_clients");
  });

  test("deletes old requests when its schedule fires, and no young ones", async () => {
    await app.advance("2 days");
    await app.result("subscribe", { address: "eve@example.com" });
    const fired = await fetch(new URL("/cdn-cgi/handler/scheduled?cron=*/5+*+*+*+*", app.url));
    expect(await fired.text()).toBe("ok");
    expect(await app.result("deleteOldRequests")).toBe(0);
    await app.advance("2 days");
    expect(await app.result("deleteOldRequests")).toBe(1);
  });
});
