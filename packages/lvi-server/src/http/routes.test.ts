import { readFile } from "node:fs/promises";
import { ADMINISTRATIVE_PATHS, MODULES_PATH, type ModuleHash } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { ADMINISTRATIVE_ROUTES, LOCATION_ROUTES, METHODS, OPEN_ROUTES, routeOf } from "./routes.ts";

const HASH = "a".repeat(64) as ModuleHash;

/** As the documents write them. */
function written(routes: Readonly<Record<string, keyof typeof METHODS>>): readonly string[] {
  return Object.entries(routes).flatMap(([path, kind]) => METHODS[kind].map((method) => `${method} ${path}`));
}

const OF_MODULES = written({
  [`${MODULES_PATH}<hash>`]: "module",
  [`${MODULES_PATH}<hash>/content`]: "module-content",
});

async function section(page: string, title: string): Promise<string> {
  const text = await readFile(new URL(`../../../../docs/${page}`, import.meta.url), "utf8");
  const from = text.indexOf(`\n## ${title}\n`);
  const to = text.indexOf("\n## ", from + 1);
  expect(from).toBeGreaterThan(0);
  return text.slice(from, to);
}

/** The first code of each row that names a method. */
function listed(text: string): readonly string[] {
  return [...text.matchAll(/^\|.*?`((?:GET|POST|PUT) \/v1\/[^`]*)`/gm)].map(([, route]) => route!);
}

describe("the documents list all routes, and no others", () => {
  test("those of operators, in operations", async () => {
    const routes = listed(await section("operations.md", "Administration"));
    expect(routes.toSorted()).toEqual([...written(ADMINISTRATIVE_ROUTES), ...OF_MODULES].toSorted());
  });

  test("all signed ones, in the protocol", async () => {
    const routes = listed(await section("internals/protocol.md", "Messages"));
    const signed = [...written(LOCATION_ROUTES), ...written(ADMINISTRATIVE_ROUTES), ...OF_MODULES];
    expect(routes.toSorted()).toEqual(signed.toSorted());
  });

  test("those that are not signed, in operations", async () => {
    const rows = (await section("operations.md", "Health")).matchAll(/^\| `(\/\w+)` \|/gm);
    expect(new Set(Array.from(rows, ([, path]) => path))).toEqual(new Set(Object.keys(OPEN_ROUTES)));
  });
});

test("each path of operators is a route, and each route a path", () => {
  expect(Object.keys(ADMINISTRATIVE_ROUTES).toSorted()).toEqual([...ADMINISTRATIVE_PATHS].toSorted());
  for (const [path, kind] of Object.entries(ADMINISTRATIVE_ROUTES)) expect(routeOf(path)).toEqual({ kind });
});

test("routes of one module", () => {
  const none = { worker: null, isAside: false };
  expect(routeOf(`${MODULES_PATH}${HASH}`)).toEqual({ kind: "module", hash: HASH, ...none });
  expect(routeOf(`${MODULES_PATH}${HASH}?worker=https%3A%2F%2Fshop.example%2Fapi&aside=yes`)).toMatchObject({
    worker: "https://shop.example",
    isAside: true,
  });
  expect(routeOf(`${MODULES_PATH}${HASH}?worker=ftp%3A%2F%2Fshop.example`)).toMatchObject({ worker: null });
  expect(routeOf(`${MODULES_PATH}${HASH}/content`)).toEqual({ kind: "module-content", hash: HASH });
  for (const path of ["/", "/v1", "/v1/tasks/", `${MODULES_PATH}abc`, "/healthz?x", "__proto__", "constructor"])
    expect(routeOf(path)).toEqual({ kind: "none" });
});
