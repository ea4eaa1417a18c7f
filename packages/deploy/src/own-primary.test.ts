import { expect, test } from "vitest";
import { ownPrimary } from "./own-primary.ts";

const SHOP = { name: "shop-production" };
const KEYS = { RADICAL_KEYS: `b:${"0b".repeat(32)},a:${"0a".repeat(32)}` };

test("a primary of one's own is reached over TLS, with the first of its keys", () => {
  const primary = ownPrimary("https://lvi.example.com/, https://other.example.com", SHOP, KEYS);
  expect(primary.way()).toEqual({ kind: "url", urls: "https://lvi.example.com,https://other.example.com" });
  expect(primary.key()?.id).toBe("b");
  expect(primary.admin()).toMatchObject({
    urls: ["https://lvi.example.com", "https://other.example.com"],
    deployment: "shop-production",
  });
});

test.each([
  ["http://lvi.example.com", KEYS, /plain text/],
  ["https://lvi.example.com/path", KEYS, /has a path/],
  ["lvi", KEYS, /must be a URL/],
  ["https://lvi.example.com", {}, /RADICAL_KEYS is not set/],
  ["https://lvi.example.com", { RADICAL_KEYS: "main:xyz" }, /does not begin with/],
])("--primary %s is refused with the reason", (urls, environment, reason) => {
  expect(() => ownPrimary(urls, SHOP, environment)).toThrow(reason);
});
