/**
 * The requests of `radical bench` to the forum: nearly everybody reads, mostly the stories that everybody reads. Mix as told by
 * lobste.rs.
 */
import { type Draw, defineBenchmark } from "@radical/cli";
import { newSession, PASSWORD, passwordHash, sessionOf, stored } from "./bench-accounts.ts";

const MEMBERS = 100;
const STORIES = 120;
const COMMENTS_EACH = 8;
const BEGINNING = 1_767_225_600_000;

const nameOf = (member: number): string => `member-${member}`;
const somebody = (draw: Draw): string => sessionOf(draw.below(MEMBERS));

/** Ids, the most read first. */
const stories: string[] = [];
const storyOf = (draw: Draw): string => stories[draw.zipf(stories.length)] ?? "";

export default defineBenchmark({
  prepare({ put, call, draw }) {
    const hash = passwordHash();
    for (let member = 0; member < MEMBERS; member++) {
      const name = nameOf(member);
      put("accounts", name, stored.account(name, hash));
      put("sessions", sessionOf(member), stored.session(name));
      put("members", name, { name, joinedAt: BEGINNING });
      put("karma", name, 10);
    }
    stories.length = 0;
    for (let story = 0; story < STORIES; story++) {
      const title = `Story number ${story}, about something that many people know`;
      const url = `https://example.com/stories/${story}`;
      const id = call("post", { title, url, text: `What *${story}* is about.` }, somebody(draw)) as string;
      stories.push(id);
      const comments: string[] = [];
      for (let comment = 0; comment < COMMENTS_EACH; comment++) {
        const parent = comments.length > 0 && draw.unit() < 0.5 ? draw.pick(comments) : "";
        const text = `Comment ${comment} on story ${story}, with a line or two of text.`;
        comments.push(call("comment", { story: id, text, parent }, somebody(draw)) as string);
      }
      call("interact", { story: id, vote: "up" }, somebody(draw));
    }
    stories.reverse();
  },

  *warmUp() {
    for (const story of stories) yield { handler: "view", args: { story } };
    for (let page = 0; page < 3; page++) yield { handler: "homepage", args: { page } };
    // As whoever ranks it does.
    yield { handler: "homepage", args: { fresh: true } };
    for (let member = 0; member < MEMBERS; member++) {
      yield { handler: "member", args: { name: nameOf(member) } };
      // It looks who asks, and refuses.
      yield { handler: "interact", args: { story: stories[0], vote: "?" }, caller: sessionOf(member) };
      yield { handler: "register", args: { name: nameOf(member), password: PASSWORD }, caller: sessionOf(member) };
    }
  },

  requests: [
    { handler: "homepage", share: 80, args: (draw) => ({ page: draw.zipf(3) }) },
    { handler: "view", share: 8, args: (draw) => ({ story: storyOf(draw) }) },
    {
      handler: "interact",
      share: 9,
      caller: somebody,
      args: (draw) => ({ story: storyOf(draw), vote: draw.unit() < 0.8 ? "up" : "down" }),
    },
    {
      handler: "post",
      share: 1,
      caller: somebody,
      args: (draw) => ({ title: "A story of today", url: `https://example.com/${draw.unit()}` }),
    },
    {
      handler: "login",
      share: 2,
      caller: newSession,
      args: (draw) => ({ name: nameOf(draw.below(MEMBERS)), password: PASSWORD }),
    },
  ],
});
