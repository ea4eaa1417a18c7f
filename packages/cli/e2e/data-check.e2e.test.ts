/** `radical data check` on both storages: it finds entries that were broken past the server, and corrects them. */
import { fileURLToPath } from "node:url";
import { hasDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { CborWriter, unitId } from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, DataPlace } from "./data-place.ts";
import type { Finished } from "./radical-process.ts";

const MEMBERS = fileURLToPath(new URL("fixtures/members", import.meta.url));
const POSTS = 150;
const MEMBERS_COUNT = 40;

const STORAGES = hasDynamoDbLocal() ? (["sqlite", "dynamodb"] as const) : (["sqlite"] as const);

const key = (n: number): string => String(n).padStart(3, "0");
/** Of an author that the post does not have. */
const BROKEN = `bob\0${"1".padStart(16, "0")}\0${key(8)}`;
const owner = (name: string): Uint8Array => new CborWriter().text(name).finish();
const jsonOf = ({ stdout }: Finished): readonly Record<string, unknown>[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe.each(STORAGES)("on %s", (kind) => {
  let place: DataPlace;
  beforeAll(async () => {
    place = await DataPlace.open(kind);
  });
  afterAll(() => place?.close());

  const data = (...args: readonly string[]): Promise<Finished> => place.data(MEMBERS, args);
  const entry = (n: number): string => `ann\0${n.toString(16).padStart(16, "0")}\0${key(n)}`;

  test("items that the command writes have entries, and nothing differs while the server runs", async () => {
    await place.start();
    await place.register(await built(MEMBERS));
    const posts = Array.from(
      { length: POSTS },
      (_, n) =>
        `{"table":"posts","key":"${key(n)}","value":{"author":"ann","text":"${"words ".repeat(50)}","at":${n}}}`,
    );
    const members = Array.from(
      { length: MEMBERS_COUNT },
      (_, n) => `{"table":"members","key":"m${key(n)}","value":{"email":"${n}@example.com","name":"x"}}`,
    );
    const imported = await place.data(MEMBERS, ["import", "-"], [...posts, ...members].join("\n"));
    expect([imported.code, imported.stderr]).toEqual([0, expect.stringContaining("190 items written")]);
    const { code, stderr, stdout } = await data("check");
    expect(stderr).toContain("✓ 2 indexes checked: 190 items and 190 entries compared, 0 differences.");
    expect([code, stdout]).toEqual([0, ""]);
  });

  test("list shows tables of entries when it is asked, and the part of a table", async () => {
    expect((await data("list")).stdout).toBe("members  40 items\nposts    150 items\n");
    expect((await data("list", "--hidden")).stdout).toBe(
      ".indexes         2 items\nmembers          40 items\nmembers=email    40 items\nposts            150 items\nposts.author+at  150 items\n",
    );
    const part = await data("list", "posts", "--prefix", "04", "--limit", "3");
    expect(part.stdout.split("\n").map((line) => line.slice(0, 3))).toEqual(["040", "041", "042", ""]);
    expect(part.stderr).toContain("There are more than 3 items: see --limit and --prefix.");
    const all = await data("list", "posts", "--prefix", "04", "--limit", "10", "--json");
    expect(jsonOf(all).map((line) => line["key"])).toEqual(Array.from({ length: 10 }, (_, n) => `04${n}`));
    expect(all.stderr).toBe("");
    const without = await data("list", "--limit", "3");
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("--limit is about the items of a table, and no table is named.");
  });

  test("entries that were broken are told, each with its table, key and index", async () => {
    await place.stop();
    await place.store([
      { unit: unitId("posts.author+at", entry(7)), value: null },
      { unit: unitId("posts.author+at", BROKEN), value: owner(key(8)) },
      { unit: unitId("members=email", "3@example.com\0"), value: owner("m004") },
      { unit: unitId("members=email", "nobody@example.com\0"), value: owner("gone") },
    ]);
    const { code, stderr } = await data("check");
    expect(stderr).toContain("members/m003 has no entry in the index members=email.\n");
    expect(stderr).toContain(
      "The index members=email has an entry of members/m004 that the item does not have: 3@example.com\\u0000.\n",
    );
    expect(stderr).toContain("The index members=email has an entry of members/gone that the item does not have:");
    expect(stderr).toContain("posts/007 has no entry in the index posts.author+at.\n");
    expect(stderr).toContain("The index posts.author+at has an entry of posts/008 that the item does not have:");
    expect(stderr).toContain("2 indexes checked: 190 items and 191 entries compared, 5 differences.");
    expect(stderr).toContain("--repair");
    expect(code).toBe(1);

    const posts = await data("check", "posts", "--json");
    expect(posts.code).toBe(1);
    expect(jsonOf(posts).filter((line) => "difference" in line)).toEqual([
      {
        difference: "extra",
        index: "posts.author+at",
        table: "posts",
        key: "008",
        entry: BROKEN,
        repaired: false,
      },
      {
        difference: "missing",
        index: "posts.author+at",
        table: "posts",
        key: "007",
        entry: entry(7),
        repaired: false,
      },
    ]);
    expect(jsonOf(posts).slice(-2)).toEqual([
      { indexes: 1, items: 150, entries: 150, differences: 2, corrected: 0, unbuilt: [], done: true },
      { error: expect.objectContaining({ code: "entries_differ" }) as unknown },
    ]);
    const wrong = await data("check", "notes");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("Name one of these tables: ")]);
  });

  test("they are repaired, and nothing differs then", async () => {
    await place.start();
    const repaired = await data("check", "--repair");
    expect(repaired.stderr).toContain("5 differences, 5 of them repaired.");
    expect(repaired.code).toBe(0);
    const again = await data("check");
    expect(again.stderr).toContain("190 items and 190 entries compared, 0 differences.");
    expect(again.code).toBe(0);
  });

  test("items with the same fields of a unique index are told, and nothing of them is repaired", async () => {
    await place.stop();
    const member = new CborWriter().map(2).text("email").text("5@example.com").text("name").text("y").finish();
    await place.store([{ unit: unitId("members", "twin"), value: member }]);
    await place.start();
    const told = await data("check", "members", "--repair");
    expect(told.code).toBe(1);
    expect(told.stderr).toContain(
      "members/twin has the same email as members/m005, which has the entry in the unique index members=email.\n",
    );
    expect((await data("delete", "members", "twin")).code).toBe(0);
    expect((await data("check")).code).toBe(0);
  });
});
