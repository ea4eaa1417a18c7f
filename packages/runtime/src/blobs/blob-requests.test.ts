import { expect, test } from "vitest";
import { getBlob } from "./blob-requests.ts";
import type { BlobRange, BlobStore } from "./blob-store.ts";

const HASH = "0a".repeat(32);

/** The answer to a request for a part of ten bytes, and the range that the store was asked for. */
async function rangeOf(header: string): Promise<{ readonly status: number; readonly range: BlobRange | null }> {
  let range: BlobRange | null = null;
  const stored = { size: 10, type: "image/png", body: null };
  const store: BlobStore = {
    put: () => Promise.resolve(),
    remove: () => Promise.resolve(),
    head: () => Promise.resolve({ ...stored, range: null }),
    get: (_, wanted) => {
      range = wanted;
      return Promise.resolve({
        ...stored,
        range: wanted?.kind === "from" ? { offset: wanted.offset, length: 1 } : null,
      });
    },
  };
  const request = new Request(`http://here.test/blobs/${HASH}`, { headers: { range: header } });
  return { status: (await getBlob(request, () => store)).status, range };
}

test.each([
  ["bytes=0-3", { offset: 0, length: 4 }],
  ["bytes=4-", { offset: 4, length: 6 }],
  ["bytes=-3", { offset: 7, length: 3 }],
  ["bytes=-11", { offset: 0, length: 10 }],
  [`bytes=2-${"9".repeat(400)}`, { offset: 2, length: 8 }],
  [`bytes=-${"9".repeat(400)}`, { offset: 0, length: 10 }],
])("a store is asked for a part of the bytes that are there: %s", async (header, part) => {
  expect(await rangeOf(header)).toEqual({ status: 206, range: { kind: "from", ...part } });
});

test.each(["bytes=10-", `bytes=${"9".repeat(400)}-`, "bytes=-0"])("there is no such part: %s", async (header) => {
  expect(await rangeOf(header)).toEqual({ status: 416, range: null });
});
