/** Each alarm and each event at level `error` has its page, and each page its alarm or event. */
import { expect, test } from "vitest";
import { anchorsOf } from "./markdown.ts";
import { pagesUnder, readPage } from "./pages.ts";
import { alarmNames, errorEvents, pageOf, RUNBOOKS } from "./runbooks-part.ts";

test("each has its page, and each page is of one", () => {
  const [alarms, events] = [alarmNames(), errorEvents()];
  expect(alarms.length).toBeGreaterThan(10);
  for (const event of ["halted", "not_started", "uncaught_exception", "determinism_alarm", "leader_unreachable"])
    expect(events).toContain(event);
  const pages = pagesUnder(RUNBOOKS).map((page) => page.slice(RUNBOOKS.length + 1, -".md".length));
  expect(new Set([...alarms, ...events.map(pageOf)])).toEqual(new Set(pages));
});

test("each says what it means, where to look and what to do", () => {
  for (const page of pagesUnder(RUNBOOKS))
    expect([page, ...anchorsOf(readPage(page))]).toEqual(expect.arrayContaining([page, "it-means", "look", "do"]));
});
