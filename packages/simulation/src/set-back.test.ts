import { expect, test } from "vitest";
import { simulate } from "./simulate.ts";

const HISTORIES = 120;

test(`${HISTORIES} histories in which the storage is set back under locations that live on`, () => {
  let byCommand = 0;
  let byHand = 0;
  for (let seed = 0; seed < HISTORIES; seed++) {
    const { problems, counts } = simulate({ seed, weather: "set back" });
    expect(problems, `seed ${seed}`).toEqual([]);
    byCommand += counts.get("storage set back");
    byHand += counts.get("storage set back by hand");
  }
  expect(byCommand).toBeGreaterThan(HISTORIES / 4);
  expect(byHand).toBeGreaterThan(HISTORIES / 8);
});
