import { expect, test } from "vitest";
import { allPages, itemsAfter, type PageReader } from "./pages.ts";

/** Ten numbers. A page has the even ones of its range, so that some pages have none. */
const read: PageReader<number> = (limit, after) => {
  const from = Number(after ?? 0);
  const to = Math.min(10, from + Math.min(limit, 3));
  const items = Array.from({ length: to - from }, (_, at) => from + at).filter((each) => each % 4 === 0);
  return Promise.resolve({ items, next: to === 10 ? null : String(to), timeMs: to });
};
const never = new AbortController().signal;

test("it goes on until there are as many as wanted, or no more", async () => {
  expect(await itemsAfter(read, 2, { limit: 2, after: null }, never)).toEqual({ items: [0, 4], next: "5", timeMs: 5 });
  expect(await itemsAfter(read, 3, { limit: 9, after: "1" }, never)).toEqual({ items: [4, 8], next: null, timeMs: 10 });
});

test("all pages come, and after a stop no more", async () => {
  const controller = new AbortController();
  const pages: (readonly number[])[] = [];
  for await (const page of allPages(read, 3, controller.signal)) {
    pages.push(page);
    if (page.includes(4)) controller.abort();
  }
  expect(pages).toEqual([[0], [4]]);
});
