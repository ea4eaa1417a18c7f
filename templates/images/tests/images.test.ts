/** The application as people use it: over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type CallOptions, type TestApp, startTestApp } from "@radical/cli/testing";
import type { BlobRecord, Handlers, ImagePage } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PASSWORD, signedIn } from "./accounts.ts";

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({ project: fileURLToPath(new URL("..", import.meta.url)), seeded: true });
});
afterAll(() => app?.stop());

/** Somebody of this name, logged in. */
async function join(name: string): Promise<CallOptions> {
  return signedIn(await app.call("register", { name, password: PASSWORD }));
}

function upload(session: CallOptions, tags: string[], location = "near"): Promise<number> {
  return app.result("upload", { url: "/pictures/cat.svg", width: 160, height: 120, tags }, { ...session, location });
}

/** As the page does before `publish`. */
function put(bytes: Uint8Array<ArrayBuffer>, type: string, session: CallOptions): Promise<Response> {
  return fetch(`${app.url}/blobs`, {
    method: "PUT",
    headers: { ...session.headers, "content-type": type },
    body: bytes,
  });
}

/** The numbers of the images on all pages of a search. */
async function search(tags: string[], limit = 50): Promise<number[]> {
  const found: number[] = [];
  let before = 0;
  do {
    const page: Handlers["search"]["result"] = await app.result("search", { tags, before, limit }, { location: "far" });
    found.push(...page.images.map(({ id }) => id));
    before = page.next;
  } while (before !== 0);
  return found;
}

function look(id: number, location = "far"): Promise<ImagePage> {
  return app.result("image", { id }, { location });
}

const other = (i: number): string => (i % 2 === 0 ? "near" : "far");

test("images uploaded at once at two locations have numbers of their own, and a search finds all of them", async () => {
  const session = await join("uploader");
  const ids = await Promise.all(
    Array.from({ length: 8 }, (_, i) => upload(session, ["many", `kind_${i % 2}`], other(i))),
  );
  expect(new Set(ids).size).toBe(8);
  const newestFirst = ids.toSorted((a, b) => b - a);
  expect(await search(["many"])).toEqual(newestFirst);
  expect(await search(["many"], 3)).toEqual(newestFirst);
  expect((await search([])).slice(0, 8)).toEqual(newestFirst);
  const even = ids.filter((_, i) => i % 2 === 0).toSorted((a, b) => b - a);
  expect(await search(["many", "kind_0"])).toEqual(even);
  expect(await search(["many", "-kind_1"])).toEqual(even);
  expect(await search(["many", "kind_0"], 1)).toEqual(even);
  expect(await search(["kind_0", "kind_1"])).toEqual([]);
  expect(await search(["many", "no_such_tag"])).toEqual([]);
});

test("a picture is put, published and seen at another location, byte for byte", async () => {
  const session = await join("painter");
  const bytes = Uint8Array.from({ length: 50_000 }, (_, i) => i % 251);
  const picture = (await (await put(bytes, "image/png", session)).json()) as BlobRecord;
  const id = await app.result("publish", { picture, width: 640, height: 480, tags: ["own"] }, session);
  const { image } = await look(id);
  expect(image).toMatchObject({ uploader: "painter", url: "", picture, width: 640 });
  const shown = await fetch(`${app.url}/blobs/${image.picture!.hash}`, { headers: { "x-radical-location": "far" } });
  expect(shown.headers.get("content-type")).toBe("image/png");
  expect(new Uint8Array(await shown.arrayBuffer())).toEqual(bytes);
  const missing = { ...picture, hash: "0".repeat(64) };
  const call = app.call("publish", { picture: missing, width: 1, height: 1, tags: ["own"] }, session);
  expect(await call).toMatchObject({ status: 409, error: { code: "blob_missing" } });
});

test("nobody but a member puts pictures, and nothing else is put", async () => {
  const session = await join("putter");
  const small = new Uint8Array([1, 2, 3]);
  expect((await put(small, "image/svg+xml", session)).status).toBe(403);
  expect((await put(small, "text/html", session)).status).toBe(403);
  expect((await put(small, "image/png", {})).status).toBe(401);
  expect((await put(new Uint8Array(5_000_001), "image/png", session)).status).toBe(413);
  await app.result("logout", {}, session);
  expect((await put(small, "image/png", session)).status).toBe(401);
});

test("a search goes on behind the images that one page looks at", async () => {
  const session = await join("collector");
  const rare = await upload(session, ["common", "rare"]);
  for (let batch = 0; batch < 11; batch++)
    await Promise.all(Array.from({ length: 10 }, (_, i) => upload(session, ["common"], other(i))));
  const first = await app.result("search", { tags: ["common", "rare"] });
  expect(first).toMatchObject({ images: [] });
  expect(first.next).toBeGreaterThan(rare);
  expect(await search(["common", "rare"])).toEqual([rare]);
  expect((await search(["common", "-rare"])).length).toBe(110);
});

test("comments come in pages, the newest first", async () => {
  const session = await join("wordy");
  const image = await upload(session, ["discussed"]);
  for (let i = 0; i < 5; i++) await app.result("comment", { image, text: `Comment ${i}` }, session);
  const { comments, next } = await app.result("comments", { image, limit: 3 }, { location: "far" });
  await app.result("comment", { image, text: "Comment 5" }, session);
  const rest = await app.result("comments", { image, before: next, limit: 3 }, { location: "far" });
  expect([...comments, ...rest.comments].map(({ html }) => html)).toEqual(
    [4, 3, 2, 1, 0].map((i) => `<p>Comment ${i}</p>`),
  );
  expect(rest.next).toBeNull();
});

test("a tag counts the images that have it, whatever is tagged and untagged at once", async () => {
  const session = await join("tagger");
  const images = await Promise.all(["a", "b", "c"].map((tag) => upload(session, [`base_${tag}`])));
  await Promise.all(
    images.flatMap((image, i) => [
      app.result("tag", { image, tags: ["shared", "extra"] }, { ...session, location: other(i) }),
      app.result("tag", { image, tags: ["shared"] }, { ...session, location: other(i + 1) }),
      app.result("untag", { image, tag: "shared" }, { ...session, location: other(i) }),
    ]),
  );
  const pages = await Promise.all(images.map((id) => look(id)));
  const tagged = pages.filter(({ image }) => image.tags.includes("shared")).map(({ image }) => image.id);
  expect(await search(["shared"])).toEqual(tagged.toSorted((a, b) => b - a));
  await app.result("tag", { image: images[0]!, tags: ["shared"] }, session);
  const { tags } = await look(images[0]!);
  expect(tags.find(({ tag }) => tag === "shared")?.count).toBe((await search(["shared"])).length);
  expect(tags.find(({ tag }) => tag === "extra")?.count).toBe(3);
  expect(new Set(tags.map(({ tag }) => tag)).size).toBe(tags.length);
});

test("a favourite counts once for each person, from wherever it comes", async () => {
  const people = ["f-1", "f-2", "f-3"];
  const sessions = await Promise.all(people.map(join));
  const image = await upload(sessions[0]!, ["loved"]);
  await Promise.all(
    sessions.flatMap((session) =>
      ["near", "far"].map((location) => app.result("favourite", { image }, { ...session, location })),
    ),
  );
  expect((await look(image)).favourites).toBe(3);
  await Promise.all(
    ["near", "far"].map((location) => app.result("unfavourite", { image }, { ...sessions[0]!, location })),
  );
  expect((await look(image)).favourites).toBe(2);
  expect(await search(["fav:f-1"])).toEqual([]);
  expect(await search(["loved", "fav:f-2"])).toEqual([image]);
  expect(await app.result("favourites", { name: "f-3" })).toMatchObject({ images: [{ id: image }], next: 0 });
});

test("everybody has one vote", async () => {
  const sessions = await Promise.all(["v-1", "v-2"].map(join));
  const image = await upload(sessions[0]!, ["voted"]);
  await Promise.all(
    sessions.flatMap((session) =>
      [1, -1, 1].map((value, i) => app.result("vote", { image, value }, { ...session, location: other(i) })),
    ),
  );
  await Promise.all(sessions.map((session) => app.result("vote", { image, value: 1 }, session)));
  expect((await look(image)).score).toBe(2);
  expect(await app.result("vote", { image, value: 0 }, sessions[0]!)).toBe(1);
  const favoured = { ...sessions[1]!, location: "far" };
  await app.result("favourite", { image }, sessions[1]!);
  expect(await app.result("mine", { image }, favoured)).toEqual({ vote: 1, isFavourite: true });
  expect(await app.result("mine", { image }, sessions[0]!)).toEqual({ vote: 0, isFavourite: false });
});

test("a pool keeps its order, with each image once", async () => {
  const session = await join("curator");
  const images = await Promise.all(Array.from({ length: 4 }, () => upload(session, ["pooled"])));
  const id = await app.result("createPool", { name: "Four" }, session);
  await Promise.all(
    images.flatMap((image) =>
      ["near", "far"].map((location) => app.result("addToPool", { pool: id, image }, { ...session, location })),
    ),
  );
  const order = async (): Promise<number[]> =>
    (await app.result("pool", { id }, { location: "far" })).images.map((image) => image.id);
  const before = await order();
  expect(before.toSorted((a, b) => a - b)).toEqual(images.toSorted((a, b) => a - b));
  const last = before[3]!;
  await app.result("addToPool", { pool: id, image: last, at: 0 }, session);
  expect(await order()).toEqual([last, ...before.slice(0, 3)]);
  // One place after the other, so often that positions between two become long.
  for (let i = 0; i < 12; i++) await app.result("addToPool", { pool: id, image: before[i % 3]!, at: 1 }, session);
  expect(await order()).toEqual([last, before[2]!, before[1]!, before[0]!]);
  for (const image of before.slice(0, 3).toReversed())
    await app.result("addToPool", { pool: id, image, at: 1 }, session);
  await app.result("removeFromPool", { pool: id, image: before[0]! }, session);
  expect(await order()).toEqual([last, ...before.slice(1, 3)]);
});

test("pools come in pages, in the order of their names", async () => {
  const session = await join("librarian");
  for (const name of ["Zebras", "Antelopes", "Meerkats"]) await app.result("createPool", { name }, session);
  const first = await app.result("listPools", { limit: 2 }, { location: "far" });
  await app.result("createPool", { name: "Aardvarks" }, session);
  const rest = await app.result("listPools", { after: first.next });
  const names = [...first.pools, ...rest.pools].map(({ name }) => name);
  expect(names).toEqual(names.toSorted());
  expect(names).toEqual(expect.arrayContaining(["Antelopes", "Meerkats", "Zebras"]));
  expect(names).not.toContain("Aardvarks");
});

test("another word for a tag means the tag, in tagging and in searching", async () => {
  const session = await join("namer");
  const image = await upload(session, ["feline"]);
  expect(await app.result("alias", { word: "puss", tag: "feline" }, session)).toBe("feline");
  expect(await app.result("tag", { image, tags: ["puss", "grey"] }, session)).toEqual(["feline", "grey"]);
  expect(await search(["puss", "-night"])).toEqual([image]);
  // The seed's image of the sea.
  expect(await search(["ocean", "boat"])).toEqual([5]);
  for (const [word, tag, code] of [
    ["puss", "grey", "word_taken"],
    ["grey", "feline", "word_taken"],
    ["unused", "unused", "same_word"],
    ["-x", "grey", "bad_tag"],
  ] as const) {
    expect((await app.call("alias", { word, tag }, session)).error?.code).toBe(code);
  }
});

test("markup of comments is text, and an image keeps its last tag", async () => {
  const session = await join("talker");
  const image = await upload(session, ["only"]);
  await app.result("comment", { image, text: "<script>alert(1)</script>" }, session);
  expect((await look(image)).comments.comments[0]?.html).toContain("&lt;script&gt;");
  expect((await app.call("untag", { image, tag: "only" }, session)).error?.code).toBe("last_tag");
});

test.each([
  ["a", { url: "javascript:alert(1)" }, "bad_url"],
  ["b", { width: 0 }, "bad_size"],
  ["c", { tags: [] }, "no_tags"],
  ["d", { tags: ["Big Cat"] }, "bad_tag"],
])("person %s: no upload with %j", async (name, wrong, code) => {
  const session = await join(`bad-${name}`);
  const image = { url: "https://example.org/1.png", width: 1, height: 1, tags: ["x"] };
  expect(await app.call("upload", { ...image, ...wrong }, session)).toMatchObject({ status: 400, error: { code } });
});
