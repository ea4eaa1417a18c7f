import { expect, test } from "vitest";
import { newAdministrationKey, privateKeyText } from "@radical/admin";
import { ownPrimary } from "./own-primary.ts";

const SHOP = { name: "shop-production" };
const ADMIN = newAdministrationKey("admin");
const KEYS = {
  RADICAL_KEYS: `admin:ed25519:${"0c".repeat(32)},b:${"0b".repeat(32)},a:${"0a".repeat(32)}`,
  RADICAL_ADMIN_KEYS: `${privateKeyText(ADMIN)},${privateKeyText(newAdministrationKey("older"))}`,
};

test("a primary of one's own is reached over TLS, with the first of its keys", () => {
  const primary = ownPrimary("https://lvi.example.com/, https://other.example.com", SHOP, KEYS);
  expect(primary.way()).toEqual({ kind: "url", urls: "https://lvi.example.com,https://other.example.com" });
  expect(primary.key()?.id).toBe("b");
  expect(primary.admin()).toMatchObject({
    urls: ["https://lvi.example.com", "https://other.example.com"],
    deployment: "shop-production",
    key: ADMIN,
  });
});

test.each([
  ["http://lvi.example.com", KEYS, /plain text/],
  ["https://lvi.example.com/path", KEYS, /has a path/],
  ["lvi", KEYS, /must be a URL/],
  ["https://lvi.example.com", { RADICAL_ADMIN_KEYS: KEYS.RADICAL_ADMIN_KEYS }, /RADICAL_KEYS is not set/],
  ["https://lvi.example.com", { ...KEYS, RADICAL_KEYS: "main:xyz" }, /has no <id>:<hex>/],
  ["https://lvi.example.com", { RADICAL_KEYS: KEYS.RADICAL_KEYS }, /RADICAL_ADMIN_KEYS is not set/],
  ["https://lvi.example.com", { ...KEYS, RADICAL_ADMIN_KEYS: KEYS.RADICAL_KEYS }, /does not consist of/],
])("--primary %s is refused with the reason", (urls, environment, reason) => {
  expect(() => ownPrimary(urls, SHOP, environment).key()).toThrow(reason);
});
