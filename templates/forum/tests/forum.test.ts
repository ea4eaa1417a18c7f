/** The application as its members meet it: over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type CallOptions, type TestApp, startTestApp } from "@radical/cli/testing";
import type { Handlers, StoryPage } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PASSWORD, signedIn } from "./accounts.ts";

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({ project: fileURLToPath(new URL("..", import.meta.url)), seeded: true });
});
afterAll(() => app?.stop());

/** A member of this name, logged in. */
async function join(name: string): Promise<CallOptions> {
  return signedIn(await app.call("register", { name, password: PASSWORD }));
}

function post(session: CallOptions, title: string): Promise<string> {
  return app.result("post", { title, text: "Text." }, session);
}

function view(story: string): Promise<StoryPage> {
  return app.result("view", { story }, { location: "far" });
}

async function karma(name: string): Promise<number> {
  return (await app.result("member", { name })).karma;
}

test("a story is on the front page at once where little happens", async () => {
  const story = await post(await join("early"), "First of the day");
  expect((await app.result("homepage", {}, { location: "far" })).map(({ id }) => id)).toContain(story);
});

test("votes count once for each member, whatever they change their mind to, wherever they are", async () => {
  const author = await join("author");
  const story = await post(author, "To be voted on");
  const voters = await Promise.all(["v-1", "v-2", "v-3", "v-4", "v-5"].map(join));
  await Promise.all(
    voters.flatMap((session, i) =>
      ["up", "down", "up"].map((vote) =>
        app.result("interact", { story, vote }, { ...session, location: i % 2 === 0 ? "near" : "far" }),
      ),
    ),
  );
  for (const session of voters) await app.result("interact", { story, vote: "up" }, session);
  expect((await view(story)).story.score).toBe(5);
  expect(await karma("author")).toBe(5);
  await app.result("interact", { story, vote: "none" }, voters[0]!);
  expect(await app.result("interact", { story, vote: "down" }, voters[1]!)).toBe(2);
  expect(await karma("author")).toBe(2);
  expect(await app.result("myVotes", { on: [story, "none"] }, { ...voters[1]!, location: "far" })).toEqual([-1, 0]);
  expect(await app.result("myVotes", { on: [story] }, voters[0]!)).toEqual([0]);
  // Voting for oneself counts for the story and earns nothing.
  expect(await app.result("interact", { story, vote: "up" }, author)).toBe(3);
  expect(await karma("author")).toBe(2);
});

test("comments that come at once at two locations are all there, each under what it answers", async () => {
  const session = await join("talker");
  const story = await post(session, "A long talk");
  const top = await app.result("comment", { story, text: "first" }, session);
  await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      app.result(
        "comment",
        { story, text: `answer ${i}`, parent: i < 3 ? top : "" },
        { ...session, location: i % 2 === 0 ? "near" : "far" },
      ),
    ),
  );
  const { story: shown, comments } = await view(story);
  expect(shown.comments).toBe(7);
  expect(comments).toHaveLength(7);
  const first = comments.findIndex(({ id }) => id === top);
  expect(comments.slice(first + 1, first + 4).map(({ depth }) => depth)).toEqual([1, 1, 1]);
  expect(comments.filter(({ depth }) => depth === 0)).toHaveLength(4);
});

test("the comment of which more is certain comes first", async () => {
  const session = await join("asker");
  const story = await post(session, "Which is better?");
  const one = await app.result("comment", { story, text: "one vote" }, session);
  const nine = await app.result("comment", { story, text: "three votes" }, session);
  const voters = await Promise.all(["w-1", "w-2", "w-3", "w-4"].map(join));
  await app.result("interact", { story, comment: one, vote: "up" }, voters[0]!);
  expect(await app.result("myVotes", { on: [`${story}/${one}`, story] }, voters[0]!)).toEqual([1, 0]);
  for (const voter of voters.slice(0, 3)) {
    await app.result("interact", { story, comment: nine, vote: "up" }, voter);
  }
  expect((await view(story)).comments.map(({ id }) => id)).toEqual([nine, one]);
});

test("comments are at most eight deep", async () => {
  const session = await join("digger");
  const story = await post(session, "Turtles");
  let parent = "";
  for (let depth = 0; depth < 8; depth++) {
    parent = await app.result("comment", { story, text: `${depth}`, parent }, session);
  }
  expect(await app.call("comment", { story, text: "8", parent }, session)).toMatchObject({
    status: 409,
    error: { code: "too_deep" },
  });
  expect((await view(story)).comments.map(({ depth }) => depth)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test("a new story with a vote is above the old ones, and markup is text", async () => {
  const session = await join("newcomer");
  const story = await app.result("post", { title: "News", text: "<script>alert(1)</script>" }, session);
  await app.result("interact", { story, vote: "up" }, session);
  const front = await app.result("homepage", { fresh: true });
  expect(front.map(({ title }) => title).indexOf("News")).toBeLessThan(
    front.map(({ title }) => title).indexOf("Notes on the Analytical Engine"),
  );
  expect((await app.result("view", { story })).html).toContain("&lt;script&gt;");
});

test("votes and comments lift a story, and age lets it sink", async () => {
  const session = await join("ranker");
  const titles = async (): Promise<string[]> => {
    const front = await app.result("homepage", { fresh: true }, { location: "far" });
    return front.flatMap(({ id, title }) => (id.includes("-20000000-0000-4000-8000-") ? [title.slice(0, 12)] : []));
  };
  // Votes in favour, minutes and comments of the seed: 21, 7, 7, 8, 5 votes, posted at 6, 8, 2, 4 and 0 o'clock.
  const seeded = ["Notes on the", "Show: a comp", "Ask: what wo", "On the cruel", "Nanoseconds,"];
  expect(await titles()).toEqual(seeded);
  const story = "8000019b77b66200-20000000-0000-4000-8000-000000000002";
  await app.result("interact", { story, vote: "up" }, session);
  expect(await titles()).toEqual(["Notes on the", "Show: a comp", "On the cruel", "Ask: what wo", "Nanoseconds,"]);
  await app.result("interact", { story, vote: "none" }, session);
  expect(await titles()).toEqual(seeded);
  await app.result("comment", { story, text: "It is." }, session);
  expect(await titles()).toEqual(["Notes on the", "Show: a comp", "On the cruel", "Ask: what wo", "Nanoseconds,"]);
});

test("stories come in pages, the newest first, whatever is posted meanwhile", async () => {
  const session = await join("reporter");
  const posted: string[] = [];
  for (let i = 0; i < 5; i++) posted.push(await post(session, `Report ${i}`));
  const first = await app.result("newest", { limit: 3 }, { location: "far" });
  await post(session, "Report 5");
  const second = await app.result("newest", { before: first.next, limit: 2 }, { location: "far" });
  expect([...first.stories, ...second.stories].map(({ id }) => id)).toEqual(posted.toReversed());
  let before = second.next;
  while (before !== null) before = (await app.result("newest", { before })).next;
});

test("a long talk comes in pages, each comment once", async () => {
  const session = await join("chatter");
  const story = await post(session, "A very long talk");
  const top = await app.result("comment", { story, text: "top" }, session);
  for (let batch = 0; batch < 21; batch++) {
    await Promise.all(
      Array.from({ length: 10 }, () => app.result("comment", { story, text: "answer", parent: top }, session)),
    );
  }
  const page = await view(story);
  expect([page.story.comments, page.comments.length]).toEqual([211, 200]);
  const rest = await app.result("view", { story, after: page.next });
  expect([rest.comments.length, rest.next]).toEqual([11, null]);
  expect(new Set([...page.comments, ...rest.comments].map(({ id }) => id)).size).toBe(211);
});

test("a new story is among the newest at once, and the front page shows what is on the stories' own pages", async () => {
  const session = await join("writer");
  const story = await post(session, "Hot off the press");
  const { stories } = await app.result("newest", {}, { location: "far" });
  expect(stories[0]?.id).toBe(story);
  const front = await app.result("homepage", { fresh: true }, { location: "far" });
  expect(front.map(({ id }) => id)).toContain(story);
  for (const shown of front) expect((await view(shown.id)).story).toEqual(shown);
});

test("the stories of a member come in pages, the newest first", async () => {
  const [session, other] = [await join("columnist"), await join("columnist-2")];
  const posted: string[] = [];
  for (let i = 0; i < 4; i++) posted.push(await post(session, `Column ${i}`));
  await post(other, "Another one's column");
  const first = await app.result("storiesOf", { name: "columnist", limit: 3 }, { location: "far" });
  await post(session, "Column 4");
  const second = await app.result("storiesOf", { name: "columnist", before: first.next }, { location: "far" });
  expect([...first.stories, ...second.stories].map(({ id }) => id)).toEqual(posted.toReversed());
  expect(second.next).toBeNull();
  expect((await app.call("storiesOf", { name: "nobody" })).error?.code).toBe("no_such_member");
});

test.each([
  [{ title: "x" }, "bad_title"],
  [{ title: "Nothing in it" }, "empty_story"],
  [{ title: "A link", url: "javascript:alert(1)" }, "bad_url"],
])("no story of %j", async (story, code) => {
  const session = await join(`bad-${code.slice(-5).replace("_", "-")}`);
  expect(await app.call("post", { ...story }, session)).toMatchObject({ status: 400, error: { code } });
});
