/** What `radical bench` asks of the image board: people look for tags, look at images, and now and then say something. */
import { createHash } from "node:crypto";
import { type Draw, defineBenchmark } from "@radical/cli";

const MEMBERS = 60;
const IMAGES = 150;
const TAGS = 30;
const BEGINNING = 1_767_225_600_000;

const nameOf = (member: number): string => `member-${member}`;
const tokenOf = (member: number): string => `20000000-0000-4000-8000-${String(member).padStart(12, "0")}`;
const tagOf = (tag: number): string => `tag_${tag}`;
const somebody = (draw: Draw): string => tokenOf(draw.below(MEMBERS));
const someImage = (draw: Draw): number => IMAGES - draw.zipf(IMAGES);
const someTags = (draw: Draw, count: number): string[] => [
  ...new Set(Array.from({ length: count }, () => tagOf(draw.zipf(TAGS)))),
];

/** As the SDK has it. */
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
/** When sessions end: after each benchmark. */
const END_OF_CENTURY = 4_102_444_800_000;

export default defineBenchmark({
  prepare({ put, call, draw }) {
    for (let member = 0; member < MEMBERS; member++) {
      put("sessions", sha256(tokenOf(member)), { name: nameOf(member), expiresAt: END_OF_CENTURY });
    }
    for (let image = 1; image <= IMAGES; image++) {
      const url = `https://example.com/images/${image}.png`;
      call("upload", { token: somebody(draw), url, width: 800, height: 600, tags: someTags(draw, 5) });
      call("comment", { token: somebody(draw), image, text: `What I see in number ${image}.` });
      call("favourite", { token: somebody(draw), image });
    }
  },

  *warmUp() {
    for (let image = 1; image <= IMAGES; image++) yield { handler: "image", args: { id: image } };
    for (let tag = 0; tag < TAGS; tag++) {
      yield { handler: "search", args: { tags: [tagOf(tag)] } };
      // A search for two tags looks further back.
      yield { handler: "search", args: { tags: [tagOf(tag), tagOf((tag + 1) % TAGS)] } };
    }
    for (let member = 0; member < MEMBERS; member++) {
      yield { handler: "favourites", args: { name: nameOf(member) } };
      // It looks who asks, and refuses.
      yield { handler: "vote", args: { token: tokenOf(member), image: 1, value: 2 } };
    }
    // It looks for the last number, and refuses.
    const image = { url: "/no.png", width: 1, height: 1, tags: ["No tag"] };
    yield { handler: "upload", args: { token: tokenOf(0), ...image } };
  },

  requests: [
    { handler: "search", share: 50, args: (draw) => ({ tags: someTags(draw, 1 + draw.below(2)) }) },
    { handler: "image", share: 35, args: (draw) => ({ id: someImage(draw) }) },
    { handler: "favourites", share: 5, args: (draw) => ({ name: nameOf(draw.below(MEMBERS)) }) },
    { handler: "vote", share: 4, args: (draw) => ({ token: somebody(draw), image: someImage(draw), value: 1 }) },
    { handler: "favourite", share: 3, args: (draw) => ({ token: somebody(draw), image: someImage(draw) }) },
    {
      handler: "comment",
      share: 2,
      args: (draw) => ({ token: somebody(draw), image: someImage(draw), text: "I like it." }),
    },
    {
      handler: "upload",
      share: 0.5,
      args: (draw) => ({
        token: somebody(draw),
        url: `https://example.com/images/${draw.unit()}.png`,
        width: 640,
        height: 480,
        tags: someTags(draw, 4),
      }),
    },
    {
      handler: "tag",
      share: 0.5,
      args: (draw) => ({ token: somebody(draw), image: someImage(draw), tags: someTags(draw, 1) }),
    },
  ],
});
