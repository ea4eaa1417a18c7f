import { describe, expect, test } from "vitest";
import { verdictOn, wordsOf } from "./verdict.ts";

const mutant = { name: "wrong" };
/** In the history of seed 12 this happens; the others are right. */
const inHistory12 =
  (happens: () => readonly string[]) =>
  ({ seed }: { readonly seed: number }): { readonly problems: readonly string[] } => ({
    problems: seed === 12 ? happens() : [],
  });
const throwing = (error: Error) =>
  inHistory12(() => {
    throw error;
  });

describe("the verdict on a variant", () => {
  test("is that it is caught, when a checker or an assertion finds it", () => {
    const found = verdictOn(
      mutant,
      inHistory12(() => ["lost", "more"]),
      10,
      5,
    );
    expect(found).toEqual({ name: "wrong", kind: "caught", histories: 3, problem: "lost" });
    const asserted = verdictOn(mutant, throwing(new Error("Broken invariant: one holder")), 10, 5);
    expect(asserted).toMatchObject({ kind: "caught", problem: "Error: Broken invariant: one holder" });
  });

  test("is that it is not caught, when all histories are right", () => {
    expect(
      verdictOn(
        mutant,
        inHistory12(() => ["lost"]),
        10,
        2,
      ),
    ).toMatchObject({ kind: "not-caught", histories: 2 });
  });

  test.each([new TypeError("x is not a function"), new ReferenceError("x is not defined"), new RangeError("x")])(
    "is that the variant itself throws: %s",
    (error) => {
      const verdict = verdictOn(mutant, throwing(error), 10, 5);
      expect(verdict).toMatchObject({ kind: "throws", histories: 3 });
      expect(wordsOf(verdict)).toContain(`the variant itself throws, in history 3: ${String(error)} at `);
    },
  );
});
