import { expect, test } from "vitest";
import { CloudflareError } from "./cloudflare-api.ts";
import { checkDomains, hasRoutes } from "./routes.ts";

const DOMAIN = { pattern: "shop.example.com", custom_domain: true };

/** Answers by path, and the names of zones that there are. */
function apiOf(answers: Readonly<Record<string, readonly object[]>>) {
  return {
    list: <T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<readonly T[]> => {
      const found = answers[path === "/zones" ? `/zones ${query["name"]}` : path];
      if (found !== undefined) return Promise.resolve(found as readonly T[]);
      return path === "/zones" ? Promise.resolve([]) : Promise.reject(new CloudflareError(403, 10000, "no", "log in"));
    },
  };
}

const has = (answers: Readonly<Record<string, readonly object[]>>, ...routes: (string | typeof DOMAIN)[]) =>
  hasRoutes(apiOf(answers), "1", "shop", { routes });

test("a custom domain that is another Worker's is not taken away; what may not be seen is no reason to stop", async () => {
  const domains = (service: string) =>
    apiOf({ "/accounts/1/workers/domains": [{ hostname: DOMAIN.pattern, service }] });
  await expect(checkDomains(domains("blog"), "1", "shop", { routes: [DOMAIN] })).rejects.toMatchObject({
    code: "domain_in_use",
    message: "The custom domain shop.example.com belongs to the Worker blog.",
  });
  await checkDomains(domains("shop"), "1", "shop", { routes: [DOMAIN] });
  await checkDomains(domains("blog"), "1", "shop", { routes: ["shop.example.com/*"] });
  await checkDomains(apiOf({}), "1", "shop", { routes: [DOMAIN] });
});

test("a route or domain that is gone, or another Worker's, is missed", async () => {
  const there = (script: string) => ({
    "/zones example.com": [{ id: "z" }],
    "/zones/z/workers/routes": [{ pattern: "a.b.example.com/api/*", script }],
    "/accounts/1/workers/domains": [{ hostname: DOMAIN.pattern, service: script }],
  });
  expect(await has(there("shop"), "a.b.example.com/api/*", DOMAIN)).toBe(true);
  expect(await has(there("blog"), "a.b.example.com/api/*")).toBe(false);
  expect(await has(there("blog"), DOMAIN)).toBe(false);
  expect(await has(there("shop"), "a.b.example.com/*")).toBe(false);
  // Who may not see them, or has no such zone, leaves it to wrangler.
  expect(await has({}, "a.b.example.com/api/*", DOMAIN)).toBe(true);
});
