/**
 * The requests of `radical bench` to the social network: a few popular people, and many whom hardly anybody knows.
 * Everybody's time goes into reading.
 */
import { type Draw, defineBenchmark } from "@radical/cli";
import { newSession, PASSWORD, passwordHash, personOf, sessionOf, stored } from "./bench-accounts.ts";

const PEOPLE = 200;
const POSTS_EACH = 10;
const FOLLOWED_EACH = 8;
const FIRST_POST_AT = 1_767_225_600_000;

const nameOf = (person: number): string => `person-${person}`;
const postedAt = (person: number, index: number): number => FIRST_POST_AT + (index * PEOPLE + person) * 1_000;
/** The time as `ascending` writes it, and a random part. */
const placeOf = (person: number, index: number): string =>
  `8${postedAt(person, index).toString(16).padStart(15, "0")}-10000000-0000-4000-8000-${String(person * POSTS_EACH + index).padStart(12, "0")}`;
const postOf = (person: number, index: number): string => `${nameOf(person)}/${placeOf(person, index)}`;
const somebody = (draw: Draw): number => draw.zipf(PEOPLE);
const someSession = (draw: Draw): string => sessionOf(somebody(draw));

export default defineBenchmark({
  prepare({ put, draw }) {
    const hash = passwordHash();
    const everybody = Array.from({ length: PEOPLE }, (_, person) => person);
    const following = everybody.map((person) => {
      const followed = new Set<number>();
      while (followed.size < FOLLOWED_EACH) {
        const other = somebody(draw);
        if (other !== person) followed.add(other);
      }
      return [...followed];
    });
    for (const person of everybody) {
      const name = nameOf(person);
      put("accounts", name, stored.account(name, hash));
      put("sessions", sessionOf(person), stored.session(name));
      put("people", name, {
        name,
        bio: `I am number ${person}.`,
        joinedAt: FIRST_POST_AT,
      });
      for (const followed of (following[person] ?? []).map(nameOf)) {
        put("following", `${name}/${followed}`, { at: FIRST_POST_AT });
        put("followers", `${followed}/${name}`, { at: FIRST_POST_AT });
      }
      for (let index = 0; index < POSTS_EACH; index++) {
        const id = postOf(person, index);
        const text = `Post ${index} of @${name}, about #number-${person} and other things that fill a line or two.`;
        put("posts", id, { id, author: name, text, at: postedAt(person, index), likes: 0 });
      }
    }
    for (const person of everybody) {
      const authors = [person, ...(following[person] ?? [])];
      for (const author of authors)
        for (let index = 0; index < POSTS_EACH; index++)
          put("timelines", `${nameOf(person)}/${placeOf(author, index)}`, { post: postOf(author, index) });
    }
  },

  *warmUp() {
    for (let person = 0; person < PEOPLE; person++) {
      yield { handler: "timeline", args: {}, caller: sessionOf(person) };
      yield { handler: "profile", args: { name: nameOf(person) } };
      // To them a post goes.
      yield { handler: "followersOf", args: { name: nameOf(person), limit: PEOPLE } };
      // The name is taken: that is all it looks at.
      yield { handler: "register", args: { name: nameOf(person), password: PASSWORD }, caller: sessionOf(person) };
    }
  },

  requests: [
    { handler: "timeline", share: 80, caller: someSession },
    { handler: "profile", share: 9.5, args: (draw) => ({ name: nameOf(somebody(draw)) }) },
    {
      handler: "login",
      share: 9.5,
      caller: newSession,
      args: (draw) => ({ name: nameOf(somebody(draw)), password: PASSWORD }),
    },
    {
      handler: "follow",
      share: 0.5,
      caller: someSession,
      args: (draw, me) => ({ name: nameOf((personOf(me) + 1 + draw.below(PEOPLE - 1)) % PEOPLE) }),
    },
    {
      handler: "post",
      share: 0.5,
      caller: someSession,
      args: () => ({ text: "Something #new to say." }),
    },
  ],
});
