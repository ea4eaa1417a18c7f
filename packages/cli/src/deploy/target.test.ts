import { expect, test } from "vitest";
import { CommandError } from "../command-error.ts";
import { ownPrimary } from "./own-primary.ts";
import { bucketOf, targetOf } from "./target.ts";

test("names follow from application and environment, and two of these never share one", () => {
  expect(targetOf("my-shop", "staging")).toEqual({
    application: "my-shop",
    environment: "staging",
    name: "my-shop-staging",
    relay: "my-shop-staging-primary",
    cacheNamespace: "my-shop-staging-cache",
    bucket: "my-shop-staging-blobs",
  });
});

// Each collects the bytes that its own items do not name.
test("two environments never share a bucket, whatever the config names", () => {
  const [production, staging] = [targetOf("shop", "production"), targetOf("shop", "staging")];
  expect([bucketOf(production, null), bucketOf(staging, null)]).toEqual([
    "shop-production-blobs",
    "shop-staging-blobs",
  ]);
  expect([bucketOf(production, "media"), bucketOf(staging, "media")]).toEqual(["media", "media-staging"]);
});

test.each(["a-b", "Staging", "", "primary", "9a", "abcdefghijklmnopq"])("%j is no environment", (environment) => {
  expect(() => targetOf("shop", environment)).toThrow(CommandError);
});

test("a name that Cloudflare would not take is refused", () => {
  expect(() => targetOf("s".repeat(60), "staging")).toThrow(/longer than the 63 characters/);
});

const KEYS = { RADICAL_KEYS: `b:${"0b".repeat(32)},a:${"0a".repeat(32)}` };

test("a primary of one's own is reached over TLS, with the first of its keys", () => {
  const primary = ownPrimary("https://lvi.example.com/, https://other.example.com", KEYS);
  expect(primary.way()).toEqual({ kind: "url", urls: "https://lvi.example.com,https://other.example.com" });
  expect(primary.key()?.id).toBe("b");
  expect(primary.admin()?.urls).toEqual(["https://lvi.example.com", "https://other.example.com"]);
});

test.each([
  ["http://lvi.example.com", KEYS, /plain text/],
  ["https://lvi.example.com/path", KEYS, /has a path/],
  ["lvi", KEYS, /must be a URL/],
  ["https://lvi.example.com", {}, /RADICAL_KEYS is not set/],
  ["https://lvi.example.com", { RADICAL_KEYS: "main:xyz" }, /does not begin with/],
])("--primary %s is refused with the reason", (urls, environment, reason) => {
  expect(() => ownPrimary(urls, environment)).toThrow(reason);
});
