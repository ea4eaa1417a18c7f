import { indexName, spanId, unitId } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scanUnit } from "../core/directories.ts";
import { keyOf, takesKey, purgeMarkOf } from "./kv-keys.ts";
import { isPurged } from "./purge-part.ts";

const TABLES = ["users", "users2", "user", "Users", "users-old"] as const;
const table = fc.constantFrom(...TABLES);
const key = fc.constantFrom("ann", "ann/1", "an", "bob", "ключ", "k".repeat(512));

/** Units that a cache keeps about a table, and whether they may tell something of one of its items. */
const about = fc.oneof(
  fc.record({ table, key }).map(({ table: of, key: at }) => ({ of, at, unit: unitId(of, at) })),
  fc.record({ table, unique: fc.boolean() }).map(({ table: of, unique }) => {
    const name = indexName({ table: of, fields: ["mail"], unique });
    return { of, at: null, unit: unitId(name, "x\u0000y") };
  }),
  fc
    .record({ table, kind: fc.constantFrom("rows", "count"), hasIndex: fc.boolean() })
    .map(({ table: of, kind, hasIndex }) => {
      const name = hasIndex ? indexName({ table: of, fields: ["mail"], unique: true }) : of;
      return { of, at: null, unit: scanUnit({ table: name, kind, lo: "a", hi: "b" }) };
    }),
);

test("property: a purge of a table takes all that tells of it, and nothing of other tables", () => {
  fc.assert(
    fc.property(about, table, ({ of, unit }, purged) => {
      expect(isPurged({ table: purged, key: null }, unit)).toBe(of === purged);
    }),
  );
});

test("property: a purge of an item leaves the other items", () => {
  fc.assert(
    fc.property(about, table, key, ({ of, at, unit }, purged, purgedKey) => {
      expect(isPurged({ table: purged, key: purgedKey }, unit)).toBe(
        of === purged && (at === null || at === purgedKey),
      );
    }),
  );
});

test("property: in KV a purge takes the same, and whatever has only a hash for a name", () => {
  fc.assert(
    fc.property(about, table, fc.option(key), ({ unit }, purged, purgedKey) => {
      const part = { table: purged, key: purgedKey };
      const name = keyOf("app/FRA", unit);
      const isHashed = name.startsWith("app/FRA/#");
      expect(takesKey("app", part, name)).toBe(isHashed || isPurged(part, unit));
      expect(takesKey("app", null, name)).toBe(true);
    }),
  );
});

test("the time of the last purge stays", () => {
  expect(takesKey("app", null, purgeMarkOf("app"))).toBe(false);
});

test("spans as locations read them are not kept under their own names", () => {
  expect(isPurged({ table: "users", key: null }, spanId({ table: "users", kind: "rows", lo: "", hi: "" }))).toBe(false);
});
