import { CommandError } from "@radical/app/command-error";
import { expect, test } from "vitest";
import { jurisdictionWords } from "./jurisdiction.ts";

const EU = { jurisdiction: "eu", region: "eu-central-1", hasBlobs: false } as const;

test("the plan says where the data is kept", () => {
  expect(jurisdictionWords(EU)).toBe(
    "jurisdiction eu: caches of locations are stored there, and the primary is in eu-central-1",
  );
  expect(jurisdictionWords({ ...EU, region: null })).toContain("your primary is where you host it");
});

test.each([
  [{ ...EU, region: "eu-west-2" }, "The primary would be in eu-west-2"],
  [{ ...EU, region: "us-east-1" }, "The primary would be in us-east-1"],
  [{ ...EU, jurisdiction: "us" as const }, 'is not in the jurisdiction "us"'],
  [{ ...EU, hasBlobs: true }, "The application has Blobs"],
])("what would leave the jurisdiction is refused before anything is made", (plan, words) => {
  expect(() => jurisdictionWords(plan)).toThrow(CommandError);
  expect(() => jurisdictionWords(plan)).toThrow(words);
});
