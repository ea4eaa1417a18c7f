/**
 * What `radical bench` asks of the social network: a few popular people, and many whom hardly anybody knows. Everybody's time
 * goes into reading.
 */
import { createHash, scryptSync } from "node:crypto";
import { type Draw, defineBenchmark } from "@radical/cli";

const PEOPLE = 200;
const POSTS_EACH = 10;
const FOLLOWED_EACH = 8;
const PASSWORD = "correct horse battery";
const FIRST_POST_AT = 1_767_225_600_000;

const nameOf = (person: number): string => `person-${person}`;
const tokenOf = (person: number): string => `20000000-0000-4000-8000-${String(person).padStart(12, "0")}`;
const postedAt = (person: number, index: number): number => FIRST_POST_AT + (index * PEOPLE + person) * 1_000;
/** The time as `ascending` writes it, and a random part. */
const placeOf = (person: number, index: number): string =>
  `8${postedAt(person, index).toString(16).padStart(15, "0")}-10000000-0000-4000-8000-${String(person * POSTS_EACH + index).padStart(12, "0")}`;
const postOf = (person: number, index: number): string => `${nameOf(person)}/${placeOf(person, index)}`;
const somebody = (draw: Draw): number => draw.zipf(PEOPLE);

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
  prepare({ put, draw }) {
    const passwordHash = hashOf(PASSWORD);
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
      put("accounts", name, { name, passwordHash, failures: 0, failuresUntil: 0 });
      put("sessions", sha256(tokenOf(person)), { name, expiresAt: END_OF_CENTURY });
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
      yield { handler: "timeline", args: { token: tokenOf(person) } };
      yield { handler: "profile", args: { name: nameOf(person) } };
      // To them a post goes.
      yield { handler: "followersOf", args: { name: nameOf(person), limit: PEOPLE } };
      // The name is taken: that is all it looks at.
      yield { handler: "register", args: { name: nameOf(person), password: PASSWORD } };
    }
  },

  requests: [
    { handler: "timeline", share: 80, args: (draw) => ({ token: tokenOf(somebody(draw)) }) },
    { handler: "profile", share: 9.5, args: (draw) => ({ name: nameOf(somebody(draw)) }) },
    { handler: "login", share: 9.5, args: (draw) => ({ name: nameOf(somebody(draw)), password: PASSWORD }) },
    {
      handler: "follow",
      share: 0.5,
      args: (draw) => {
        const person = somebody(draw);
        return { token: tokenOf(person), name: nameOf((person + 1 + draw.below(PEOPLE - 1)) % PEOPLE) };
      },
    },
    {
      handler: "post",
      share: 0.5,
      args: (draw) => ({ token: tokenOf(somebody(draw)), text: "Something #new to say." }),
    },
  ],
});
