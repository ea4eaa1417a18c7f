import { expect, test } from "vitest";
import { shortenedTo } from "./data-work.ts";

test("a line is as long as the terminal is wide, and whole where there is none", () => {
  expect(shortenedTo(undefined, "ann  a long value")).toBe("ann  a long value");
  expect(shortenedTo(17, "ann  a long value")).toBe("ann  a long value");
  expect(shortenedTo(8, "ann  a long value")).toBe("ann  a …");
  expect(shortenedTo(6, "ann  😀😀")).toBe("ann  …");
  expect(shortenedTo(7, "ann  😀😀")).toBe("ann  😀😀");
});
