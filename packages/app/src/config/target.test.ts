import { expect, test } from "vitest";
import { CommandError } from "../command-error.ts";
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
