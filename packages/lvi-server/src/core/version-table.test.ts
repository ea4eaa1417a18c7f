import { countHash, NO_COMMIT, spanId, type Version } from "@radical/protocol";
import { expect, test } from "vitest";
import { VersionTable } from "./version-table.ts";

const WHOLE = { table: "t", lo: "", hi: "" };
const NO_HASH: Version = { commitId: NO_COMMIT, hash: null };

test.each(["rows", "count"] as const)(
  "of %s that memory lacks no version is current, one without a hash neither",
  (kind) => {
    const table = new VersionTable(1e6, 1);
    const span = spanId({ ...WHOLE, kind });
    expect(table.isCurrent(span, NO_HASH)).toBe(false);
    expect(table.isCurrent(span, { commitId: NO_COMMIT, hash: countHash(0) })).toBe(false);
    table.scanStarted(1, { ...WHOLE, isReversed: false });
    table.scanEnded(1, [], 9, false);
    expect(table.isCurrent(span, NO_HASH)).toBe(false);
    const hash = table.ranges.hashOf({ ...WHOLE, kind });
    expect(table.isCurrent(span, { commitId: NO_COMMIT, hash })).toBe(true);
  },
);
