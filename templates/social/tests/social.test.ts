/** The application as its users meet it: over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type CallOptions, type TestApp, startTestApp } from "@radical/cli/testing";
import type { Handlers, PostPage } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PASSWORD, signedIn } from "./accounts.ts";

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({ project: fileURLToPath(new URL("..", import.meta.url)) });
});
afterAll(() => app?.stop());

/** A person of this name, logged in. */
async function join(name: string): Promise<CallOptions> {
  return signedIn(await app.call("register", { name, password: PASSWORD }));
}

test("names are taken once, and a password opens only its own account", async () => {
  await join("ada");
  expect((await app.call("register", { name: "ada", password: "battery staple" })).error?.code).toBe("name_taken");
  expect(await app.result("login", { name: "ada", password: "battery staple" })).toBeNull();
  expect(await app.result("login", { name: "nobody", password: PASSWORD })).toBeNull();
  const session = signedIn(await app.call("login", { name: "ada", password: PASSWORD }, { location: "far" }));
  expect(await app.result("timeline", {}, session)).toEqual({ posts: [], next: null });
  await app.result("logout", {}, session);
  expect((await app.call("timeline", {}, session)).error?.code).toBe("not_logged_in");
});

test("a post reaches the timelines of those who follow, and of nobody else", async () => {
  const [author, reader, stranger] = [await join("author"), await join("reader"), await join("stranger")];
  expect(await app.result("follow", { name: "author" }, { ...reader, location: "far" })).toBe(1);
  const id = await app.result("post", { text: "Hello @reader <3 #radical" }, author);

  const [post] = (await app.result("timeline", {}, { ...reader, location: "far" })).posts;
  expect(post).toMatchObject({
    id,
    author: "author",
    html: '<p>Hello <a href="#/people/reader">@reader</a> &lt;3 <b>#radical</b></p>',
  });
  expect((await app.result("timeline", {}, stranger)).posts).toEqual([]);

  expect(await app.result("unfollow", { name: "author" }, reader)).toBe(0);
  await app.result("post", { text: "Anybody there?" }, author);
  expect((await app.result("timeline", {}, reader)).posts).toHaveLength(1);
  const { posts } = await app.result("timeline", { limit: 1 }, author);
  expect(posts).toMatchObject([{ html: "<p>Anybody there?</p>" }]);
});

test("following twice counts once, and so does liking", async () => {
  const [one, two] = [await join("one"), await join("two")];
  for (let i = 0; i < 2; i++) expect(await app.result("follow", { name: "two" }, one)).toBe(1);
  const id = await app.result("post", { text: "hi" }, two);
  for (const location of ["near", "far"]) expect(await app.result("like", { id }, { ...one, location })).toBe(1);
  expect(await app.result("like", { id }, two)).toBe(2);
  expect(await app.result("myLikes", { ids: [id, "one/nothing", ""] }, one)).toEqual([true, false, false]);
  expect(await app.result("profile", { name: "two" })).toMatchObject({
    followers: 1,
    following: 0,
    posts: { posts: [{ id, likes: 2 }], next: null },
  });
});

test("a like is taken back once, from wherever it comes", async () => {
  const [fan, idol] = [await join("fan"), await join("idol")];
  const id = await app.result("post", { text: "hi" }, idol);
  await app.result("like", { id }, idol);
  expect(await app.result("unlike", { id }, fan)).toBe(1);
  await app.result("like", { id }, fan);
  const left = await Promise.all(["near", "far"].map((location) => app.result("unlike", { id }, { ...fan, location })));
  expect(left).toEqual([1, 1]);
  expect(await app.result("myLikes", { ids: [id] }, fan)).toEqual([false]);
  expect(await app.result("myLikes", { ids: [id] }, idol)).toEqual([true]);
});

test("pages of a timeline and of a person have each post once, whatever is posted meanwhile", async () => {
  const [author, reader] = [await join("prolific"), await join("patient")];
  await app.result("follow", { name: "prolific" }, reader);
  const written: string[] = [];
  const write = async (): Promise<void> => {
    written.push(await app.result("post", { text: `Post ${written.length}` }, author));
  };
  for (let i = 0; i < 7; i++) await write();
  const pages: Readonly<Record<string, (before: string | null) => Promise<PostPage>>> = {
    timeline: (before) => app.result("timeline", { before, limit: 3 }, { ...reader, location: "far" }),
    posts: (before) => app.result("posts", { name: "prolific", before, limit: 3 }, { location: "far" }),
  };
  for (const pageOf of Object.values(pages)) {
    const expected = written.toReversed();
    const seen: string[] = [];
    for (let before: string | null = null, end = false; !end;) {
      const { posts, next } = await pageOf(before);
      seen.push(...posts.map(({ id }) => id));
      await write();
      before = next;
      end = next === null;
    }
    expect(seen).toEqual(expected);
  }
});

test("people who follow somebody at once at two locations are all counted", async () => {
  await join("star");
  const fans = await Promise.all(["fan-1", "fan-2", "fan-3", "fan-4", "fan-5", "fan-6"].map(join));
  await Promise.all(
    fans.map((session, index) =>
      app.result("follow", { name: "star" }, { ...session, location: index % 2 === 0 ? "near" : "far" }),
    ),
  );
  expect(await app.result("profile", { name: "star" })).toMatchObject({ followers: 6 });
  const first = await app.result("followersOf", { name: "star", limit: 4 }, { location: "far" });
  await app.result("unfollow", { name: "star" }, fans[0]!);
  const rest = await app.result("followersOf", { name: "star", after: first.next, limit: 4 });
  expect([...first.names, ...rest.names]).toEqual(["fan-1", "fan-2", "fan-3", "fan-4", "fan-5", "fan-6"]);
  expect(rest.next).toBeNull();
  expect(await app.result("followingOf", { name: "fan-2" })).toEqual({ names: ["star"], next: null });
  expect((await app.result("followingOf", { name: "fan-1" })).names).toEqual([]);
});

test.each([
  [400, "bad_name", () => app.call("register", { name: "X", password: PASSWORD })],
  [400, "weak_password", () => app.call("register", { name: "zed", password: "short" })],
  [404, "no_such_person", () => app.call("profile", { name: "nobody" })],
  [401, "not_logged_in", () => app.call("timeline", {}, { headers: { cookie: `session=${"x".repeat(43)}` } })],
])("%i %s", async (status, code, call) => {
  const answer = await call();
  expect(answer.status).toBe(status);
  expect(answer.error?.code).toBe(code);
});

test("posts that can't be liked or written", async () => {
  const session = await join("writer");
  expect((await app.call("post", { text: "  " }, session)).error?.code).toBe("bad_text");
  expect((await app.call("like", { id: "no such post" }, session)).error?.code).toBe("no_such_post");
  expect((await app.call("follow", { name: "writer" }, session)).error?.code).toBe("own_name");
});
