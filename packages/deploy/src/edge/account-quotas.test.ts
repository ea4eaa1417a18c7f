import { expect, test } from "vitest";
import { unaskedNote } from "../quotas.ts";
import type { Change } from "../steps.ts";
import { lookAtAccount } from "./account-quotas.ts";
import { type CloudflareApi, CloudflareError } from "./cloudflare-api.ts";

const make = (what: string): Change => ({ kind: "make", what, detail: "" });
const MADE = [make("Worker shop-production"), make("Worker shop-production-primary"), make("tunnel shop-a")];

/** An account with that many of what a path lists; null: it may not be asked. */
function account(counts: Readonly<Record<string, number | null>>): Pick<CloudflareApi, "list"> & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    list: <T>(path: string) => {
      asked.push(path);
      const count = counts[path.replace("/accounts/1", "")] ?? null;
      if (count === null) return Promise.reject(new CloudflareError(403, 10000, "no", "log in"));
      return Promise.resolve(Array.from({ length: count }, () => ({}) as T));
    },
  };
}

const look = (api: Pick<CloudflareApi, "list">, changes = MADE, classes = ["RadicalCache"]) =>
  lookAtAccount(api, "1", changes, classes);

test("only what a plan makes is asked for", async () => {
  const api = account({});
  await look(api, [{ kind: "change", what: "Worker shop-production", detail: "" }, make("module 0")], []);
  expect(api.asked).toEqual([]);
});

test("what Cloudflare documents is made without a word; one more is told, and refuses nothing", async () => {
  const full = { "/workers/scripts": 498, "/workers/durable_objects/namespaces": 499, "/cfd_tunnel": 999 };
  const within = await look(account(full));
  expect(within.hints.filter((hint) => !hint.includes("paid plan"))).toEqual([]);
  const over = await look(account({ ...full, "/workers/scripts": 499, "/cfd_tunnel": 1_000 }));
  expect(over.hints.filter((hint) => !hint.includes("paid plan"))).toEqual([
    expect.stringMatching(/^there will be 501 Workers, and by Cloudflare's pages of November 2026 it takes 500: /),
    expect.stringMatching(/^there will be 1001 tunnels, and by Cloudflare's pages of November 2026 it takes 1000: /),
  ]);
});

test("what only the paid plan takes is told, and what may not be asked is no reason to stop", async () => {
  const some = await look(account({ "/workers/scripts": 99, "/cfd_tunnel": 0 }));
  expect(some.hints).toEqual(["there will be 101 Workers: Cloudflare takes that with the paid plan only"]);
  expect(unaskedNote(some)).toBe(
    "quotas that were not told, so not checked: Durable Object classes at Cloudflare (status 403)",
  );
});
