/** Indexes through real locations and a real server: who confirms a page, and who wins a unique field. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, startTestApp, type TestApp } from "../src/testing.ts";

const MEMBERS = fileURLToPath(new URL("fixtures/members", import.meta.url));

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ project: MEMBERS });
});
afterAll(() => app?.stop());

const post = (author: string, number: number, location: string): Promise<Answer> =>
  app.call("post", { key: `${author}-${number}`, author, at: number, text: `post ${number}` }, { location });
const mine = (author: string, location: string): Promise<Answer> => app.call("mine", { author }, { location });
const texts = (...numbers: readonly number[]): readonly string[] => numbers.map((number) => `post ${number}`);

async function fill(author: string, count: number): Promise<void> {
  for (let number = 1; number <= count; number++)
    expect(await post(author, number, "near")).toMatchObject({ status: 200 });
}

test("a location learns a page of an index from one execution near storage, and confirms it then", async () => {
  await fill("cold", 5);
  expect(await mine("cold", "far")).toMatchObject({ path: "near-storage", result: texts(5, 4, 3) });
  const again = await mine("cold", "far");
  expect([again.path, again.result]).toEqual([expect.stringMatching("speculative|leased"), texts(5, 4, 3)]);
});

test("a page stays confirmed while others insert and change what it does not have", async () => {
  await fill("ann", 5);
  await fill("anna", 2);
  await mine("ann", "far");
  for (let number = 3; number < 8; number++) {
    await post("anna", number, "near");
    // The oldest post of the author is not on the page.
    await app.call("edit", { key: "ann-1", text: `edit ${number}` }, { location: "near" });
    const page = await mine("ann", "far");
    expect([page.path, page.result]).toEqual([expect.stringMatching("speculative|leased"), texts(5, 4, 3)]);
  }
});

test("a new post, a changed one and one that goes are seen by every read that begins after it", async () => {
  await fill("bob", 3);
  for (let number = 4; number < 10; number++) {
    const [writer, reader] = number % 2 === 0 ? ["near", "far"] : ["far", "near"];
    await post("bob", number, writer);
    expect(await mine("bob", reader)).toMatchObject({ result: texts(number, number - 1, number - 2) });
    await app.call("edit", { key: `bob-${number}`, text: "edited" }, { location: reader });
    expect(await mine("bob", writer)).toMatchObject({ result: ["edited", ...texts(number - 1, number - 2)] });
    await app.call("edit", { key: `bob-${number}`, text: `post ${number}` }, { location: writer });
  }
  await app.call("remove", { key: "bob-9" }, { location: "near" });
  expect(await mine("bob", "far")).toMatchObject({ result: texts(8, 7, 6) });
  expect(await app.call("count", { author: "bob" }, { location: "far" })).toMatchObject({ result: 8 });
  // The post changes hands.
  await post("bob", 8, "far");
  await app.call("post", { key: "bob-8", author: "cleo", at: 1, text: "mine now" }, { location: "near" });
  expect(await mine("bob", "far")).toMatchObject({ result: texts(7, 6, 5) });
  expect(await mine("cleo", "far")).toMatchObject({ result: ["mine now"] });
});

test("of two members who want one address at once, exactly one gets it", async () => {
  for (let round = 0; round < 10; round++) {
    const email = `${round}@example.com`;
    const answers = await Promise.all(
      ["near", "far", "near", "far"].map((location, index) =>
        app.call("register", { id: `${round}-${index}`, email, name: `${round}-${index}` }, { location }),
      ),
    );
    const winners = answers.flatMap(({ status }, index) => (status === 200 ? [`${round}-${index}`] : []));
    expect(winners).toHaveLength(1);
    for (const { status, error } of answers)
      if (status !== 200) expect([status, error?.code]).toEqual([409, "not_unique"]);
    for (const location of ["near", "far"])
      expect(await app.call("whoIs", { email }, { location })).toMatchObject({ result: winners[0] });
  }
});

test("an address is free again when its member leaves or takes another, and null is no address", async () => {
  const register = (id: string, email: string | null, location: string): Promise<Answer> =>
    app.call("register", { id, email, name: id }, { location });
  expect(await register("one", "one@example.com", "near")).toMatchObject({ status: 200 });
  expect(await register("two", "one@example.com", "far")).toMatchObject({ status: 409 });
  expect(await register("one", "first@example.com", "near")).toMatchObject({ status: 200 });
  expect(await register("two", "one@example.com", "far")).toMatchObject({ status: 200 });
  await app.call("leave", { id: "two" }, { location: "near" });
  expect(await register("three", "one@example.com", "far")).toMatchObject({ status: 200 });
  expect(await register("four", null, "far")).toMatchObject({ status: 200 });
  expect(await register("five", null, "near")).toMatchObject({ status: 200 });
});
