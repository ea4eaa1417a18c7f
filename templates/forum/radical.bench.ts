/**
 * What `radical bench` asks of the forum: nearly everybody reads, mostly the stories that everybody reads. Mix as told by
 * lobste.rs.
 */
import { createHash, scryptSync } from "node:crypto";
import { type Draw, defineBenchmark } from "@radical/cli";

const MEMBERS = 100;
const STORIES = 120;
const COMMENTS_EACH = 8;
const PASSWORD = "correct horse battery";
const BEGINNING = 1_767_225_600_000;

const nameOf = (member: number): string => `member-${member}`;
const tokenOf = (member: number): string => `20000000-0000-4000-8000-${String(member).padStart(12, "0")}`;
const somebody = (draw: Draw): string => tokenOf(draw.below(MEMBERS));

/** Ids, the most read first. */
const stories: string[] = [];
const storyOf = (draw: Draw): string => stories[draw.zipf(stories.length)] ?? "";

/** As the SDK has it. */
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
/** When sessions end: after each benchmark. */
const END_OF_CENTURY = 4_102_444_800_000;

/** As `hashPassword` of the SDK writes it, but always with the same salt. */
function hashOf(password: string): string {
  const salt = Buffer.from("0123456789abcdef");
  const hash = scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 5, maxmem: 2 ** 26 });
  const digits = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
  return `$scrypt$ln=14,r=8,p=5$${digits(salt)}$${digits(hash)}`;
}

export default defineBenchmark({
  prepare({ put, call, draw }) {
    const passwordHash = hashOf(PASSWORD);
    for (let member = 0; member < MEMBERS; member++) {
      const name = nameOf(member);
      put("accounts", name, { name, passwordHash, failures: 0, failuresUntil: 0 });
      put("sessions", sha256(tokenOf(member)), { name, expiresAt: END_OF_CENTURY });
      put("members", name, { name, joinedAt: BEGINNING });
      put("karma", name, 10);
    }
    stories.length = 0;
    for (let story = 0; story < STORIES; story++) {
      const title = `Story number ${story}, about something that many people know`;
      const url = `https://example.com/stories/${story}`;
      const id = call("post", { token: somebody(draw), title, url, text: `What *${story}* is about.` }) as string;
      stories.push(id);
      const comments: string[] = [];
      for (let comment = 0; comment < COMMENTS_EACH; comment++) {
        const parent = comments.length > 0 && draw.unit() < 0.5 ? draw.pick(comments) : "";
        const text = `Comment ${comment} on story ${story}, with a line or two of text.`;
        comments.push(call("comment", { token: somebody(draw), story: id, text, parent }) as string);
      }
      call("interact", { token: somebody(draw), story: id, vote: "up" });
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
      yield { handler: "interact", args: { token: tokenOf(member), story: stories[0], vote: "?" } };
      yield { handler: "register", args: { name: nameOf(member), password: PASSWORD } };
    }
  },

  requests: [
    { handler: "homepage", share: 80, args: (draw) => ({ page: draw.zipf(3) }) },
    { handler: "view", share: 8, args: (draw) => ({ story: storyOf(draw) }) },
    {
      handler: "interact",
      share: 9,
      args: (draw) => ({ token: somebody(draw), story: storyOf(draw), vote: draw.unit() < 0.8 ? "up" : "down" }),
    },
    {
      handler: "post",
      share: 1,
      args: (draw) => ({ token: somebody(draw), title: "A story of today", url: `https://example.com/${draw.unit()}` }),
    },
    { handler: "login", share: 2, args: (draw) => ({ name: nameOf(draw.below(MEMBERS)), password: PASSWORD }) },
  ],
});
