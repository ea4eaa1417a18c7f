/** The dashboard of `radical dev --central` in a real browser: beside each call stands what it would have taken at central. */
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../../packages/cli/src/testing.ts";
import { openBrowser } from "../pictures/shots.ts";
import { type OpenDashboard, openDashboard } from "./dashboard-page.ts";

const project = fileURLToPath(new URL("../../templates/social", import.meta.url));
const FAR_MS = 40;
/** Enough of them, after the first one, that compiles. */
const CALLS_AT_CENTRAL = 15;
const SOON = { timeout: 60_000 };

let browser: Browser;
let app: TestApp;
let page: Page;
let shown: OpenDashboard;

beforeAll(async () => {
  app = await startTestApp({ project, seeded: true, locations: { VA: 0, JP: FAR_MS }, central: true });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await app?.stop();
});
beforeEach(async () => {
  shown = await openDashboard(browser, app.dashboard!);
  ({ page } = shown);
});
afterEach(() => shown?.close());

const row = '[role="option"]';
const open = (view: string): Promise<void> => page.click(`.rail button:has-text("${view}")`);
const profile = (location: string) => app.call("profile", { name: "ada" }, { location });

/** The call of that execution in the list. */
async function see(execution: string): Promise<void> {
  await page.fill("#filter", execution.slice(-32));
  await page.waitForFunction(`document.querySelectorAll('${row}').length === 1`);
  await page.click(row);
}

test("list, headline, detail, Try it and terminal say the same of central, as it was measured there", async () => {
  // The first ones find empty caches and run at the primary; that compiles.
  for (const location of ["JP", "VA", "JP"]) await profile(location);
  for (let call = 0; call <= CALLS_AT_CENTRAL; call++) await profile("central");
  await page.waitForFunction(`document.querySelectorAll('${row}').length >= ${CALLS_AT_CENTRAL + 4}`);

  await open("Try it");
  await page.selectOption("#from", "JP");
  await page.selectOption("#handler", "profile");
  await page.fill("#arg-name", "ada");
  // The terminal speaks before the page has learned from the call: until the shortest way is known, the two may differ.
  await expect.poll(tryIt, SOON).toEqual({ detail: true, terminal: true, headline: true, list: true });
});

/** Calls from the page: whether all places say the same of central as its answer does. */
async function tryIt(): Promise<Readonly<Record<string, boolean>>> {
  await open("Try it");
  await page.click('button:text-is("Call")');
  const tried = page.locator('.bars .sum:has-text("central, measured") .val');
  await tried.waitFor();
  await page.click("text=Show its way");
  const detail = page.locator(".detail");
  await detail.locator('.sum:has-text("central, measured")').waitFor();
  const said = Number(await detail.locator('.sum:has-text("central, measured") .val').textContent());
  expect(said).toBeGreaterThan(FAR_MS);
  const took = Number((await detail.locator(".big").textContent())!.replace(" ms", ""));
  const headline = (await detail.locator(".ans").textContent())!;
  const inList = (await page.locator(`${row}[aria-selected="true"] .save`).textContent())!;
  const execution = (await detail.locator("dd code").last().textContent())!;
  const lineOf = (): number | undefined =>
    app.events.flatMap((event) =>
      event.event === "request" && event.execution?.endsWith(execution) === true ? [event.centralMs] : [],
    )[0];
  await expect.poll(lineOf, SOON).toBeDefined();
  await open("Try it");
  const sooner = said - took;
  const isSame = headline.includes("same");
  const [, by = "", way] = /([\d.]+) ms (sooner|later)/.exec(headline) ?? [];
  return {
    detail: Number(await tried.textContent()) === said,
    terminal: near(lineOf()!, said),
    headline: isSame ? Math.abs(sooner) < LEAST_MS : near(way === "sooner" ? Number(by) : -Number(by), sooner),
    list: isSame ? inList === "same" : near(-Number(inList.replace("−", "-")), sooner),
  };
}

/** Below this difference a call is called the same. Numbers are shown in whole or tenth milliseconds. */
const LEAST_MS = 5.2;
const near = (one: number, other: number): boolean => Math.abs(one - other) <= 1;

test("a handler that the primary has hardly run is not compared: a dash, and words", async () => {
  const { execution } = await app.call("posts", { name: "grace" }, { location: "JP" });
  await see(execution!);
  await page.waitForSelector(`${row} .save:text-matches("same|[+−]")`);
  // This one ran here; the only run that is known there has compiled.
  const leased = await app.call("posts", { name: "grace" }, { location: "JP" });
  expect(leased.path).not.toBe("near-storage");
  await see(leased.execution!);
  await page.waitForSelector(`${row} .save:text-is("–")`);
  await page.waitForSelector(".detail .ans:has-text('central: not known yet')");
});

test("a call that was refused, and one at central itself, have no bar of central", async () => {
  const { execution: atCentral } = await profile("central");
  const { execution: refused } = await app.call("profile", { name: "nobody-of-that-name" }, { location: "JP" });
  for (const execution of [atCentral!, refused!]) {
    await see(execution);
    await page.waitForSelector(`.detail dd code:text-is("${execution.slice(-32)}")`);
    const labels = await page.locator(".detail .wf .lab").allTextContents();
    expect(labels).toContain("this call");
    expect(labels.filter((label) => label.startsWith("central,"))).toEqual([]);
    expect(await page.locator(`${row} .save`).textContent()).toBe("–");
  }
});

test("the name of a location is shown once, and goes over nothing", async () => {
  await profile("central");
  await page.waitForSelector(`${row} .plc:text-is("central")`);
  for (const width of [1440, 1200, 800, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const over = await page.evaluate(`[...document.querySelectorAll('${row}')].flatMap((row) => {
      const range = document.createRange();
      range.selectNodeContents(row.querySelector(".plc"));
      const name = range.getBoundingClientRect();
      const call = row.querySelector(".call").getBoundingClientRect();
      return name.right > call.left ? [row.textContent] : [];
    })`);
    expect({ width, over }).toEqual({ width, over: [] });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await open("Locations");
  expect(await page.locator('tr:has(button:text-is("central")) td').first().textContent()).toBe(
    "central runs all at the primary",
  );
});

test("390 pixels are enough for the table of records where central is listed", async () => {
  await profile("central");
  await open("Replay");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForSelector('.replay td .plc:text-is("central")');
  const [right, edge] = await page.evaluate<readonly [number, number]>(`(() => {
    const box = document.querySelector(".replay .items").getBoundingClientRect();
    const rights = [...document.querySelectorAll(".replay td:last-child")].map((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect().right;
    });
    return [Math.max(...rights), box.right];
  })()`);
  expect(edge - right).toBeGreaterThanOrEqual(12);
});

test("390 pixels are enough for the switches of the locations where central is among them", async () => {
  await open("Locations");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForSelector('button[aria-label^="Empty the cache of"]');
  const over = await page.evaluate<readonly number[]>(
    `[...document.querySelectorAll(".scroll")].map((box) => box.scrollWidth - box.clientWidth)`,
  );
  expect(over.length).toBeGreaterThan(0);
  expect(Math.max(...over)).toBe(0);
});
