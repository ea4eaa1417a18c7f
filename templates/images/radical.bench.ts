/** The requests of `radical bench` to the image board: people look for tags, look at images, and now and then say something. */
import { type Draw, defineBenchmark } from "@radical/cli";
import { sessionOf, stored } from "./bench-accounts.ts";

const MEMBERS = 60;
const IMAGES = 150;
const TAGS = 30;
const BEGINNING = 1_767_225_600_000;

const nameOf = (member: number): string => `member-${member}`;
const tagOf = (tag: number): string => `tag_${tag}`;
const somebody = (draw: Draw): string => sessionOf(draw.below(MEMBERS));
const someImage = (draw: Draw): number => IMAGES - draw.zipf(IMAGES);
const someTags = (draw: Draw, count: number): string[] => [
  ...new Set(Array.from({ length: count }, () => tagOf(draw.zipf(TAGS)))),
];

export default defineBenchmark({
  prepare({ put, call, draw }) {
    for (let member = 0; member < MEMBERS; member++) {
      put("sessions", sessionOf(member), stored.session(nameOf(member)));
    }
    for (let image = 1; image <= IMAGES; image++) {
      const url = `https://example.com/images/${image}.png`;
      call("upload", { url, width: 800, height: 600, tags: someTags(draw, 5) }, somebody(draw));
      call("comment", { image, text: `What I see in number ${image}.` }, somebody(draw));
      call("favourite", { image }, somebody(draw));
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
      yield { handler: "vote", args: { image: 1, value: 2 }, caller: sessionOf(member) };
    }
    // It looks for the last number, and refuses.
    const image = { url: "/no.png", width: 1, height: 1, tags: ["No tag"] };
    yield { handler: "upload", args: image, caller: sessionOf(0) };
  },

  requests: [
    { handler: "search", share: 50, args: (draw) => ({ tags: someTags(draw, 1 + draw.below(2)) }) },
    { handler: "image", share: 35, args: (draw) => ({ id: someImage(draw) }) },
    { handler: "favourites", share: 5, args: (draw) => ({ name: nameOf(draw.below(MEMBERS)) }) },
    { handler: "vote", share: 4, caller: somebody, args: (draw) => ({ image: someImage(draw), value: 1 }) },
    { handler: "favourite", share: 3, caller: somebody, args: (draw) => ({ image: someImage(draw) }) },
    {
      handler: "comment",
      share: 2,
      caller: somebody,
      args: (draw) => ({ image: someImage(draw), text: "I like it." }),
    },
    {
      handler: "upload",
      share: 0.5,
      caller: somebody,
      args: (draw) => ({
        url: `https://example.com/images/${draw.unit()}.png`,
        width: 640,
        height: 480,
        tags: someTags(draw, 4),
      }),
    },
    {
      handler: "tag",
      share: 0.5,
      caller: somebody,
      args: (draw) => ({ image: someImage(draw), tags: someTags(draw, 1) }),
    },
  ],
});
