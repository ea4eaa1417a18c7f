/** The dashboard's page of tasks and schedules, in a real browser, on a real `radical dev`. The files are those that the build has made. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../../packages/cli/src/testing.ts";
import { openBrowser } from "../pictures/shots.ts";
import { type OpenDashboard, openDashboard } from "./dashboard-page.ts";

const project = fileURLToPath(new URL("../../packages/cli/e2e/fixtures/errands", import.meta.url));
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
let app: TestApp;
let page: Page;
let shown: OpenDashboard;

beforeAll(async () => {
  app = await startTestApp({ project });
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

const open = (): Promise<void> => page.click('.rail button:has-text("Tasks")');
/** The row of a task by the end of its id. */
const row = (task: string): string => `section[aria-label="Tasks"] tr:has-text("${task.slice(-7)}")`;

async function choose(task: string, state: string): Promise<void> {
  await page.waitForSelector(`${row(task)}:has-text("${state}")`);
  await page.click(`${row(task)} button`);
  await page.waitForSelector(`section[aria-label="One task"] code:text-is("${task}")`);
}

test("a task stands by its handler, lane and state, with its arguments and the request that asked for it", async () => {
  const task = await app.result<string>("later", { who: "ada", text: "Pay the bill." });
  await open();
  await choose(task, "delayed");
  const one = page.locator('section[aria-label="One task"]');
  // The primary is asked for the arguments of the one that is chosen.
  await one.locator("text=Pay the bill.").waitFor();
  expect(await one.textContent()).toContain('{"who":"ada","text":"Pay the bill."}');
  await one.locator('button:has-text("later")').waitFor();
  await page.click('button[aria-label="remind, lane ada"]');
  await page.waitForSelector('button[aria-label="remind, lane ada"][aria-pressed="true"]');
  await page.waitForSelector(row(task));
  await page.click('button.state:has-text("dead")');
  await page.waitForSelector(row(task), { state: "detached" });
});

test("a task of tomorrow runs now, by the keyboard, and is gone", async () => {
  const task = await app.result<string>("later", { who: "alan", text: "Now." });
  await open();
  await page.focus(`${row(task)} button`);
  await page.keyboard.press("Enter");
  await page.focus('.orders button:text-is("Run now")');
  await page.keyboard.press("Enter");
  await page.waitForSelector('[role="status"]:has-text("the task of remind begins at once")');
  await page.waitForSelector("text=The task is gone");
  expect(await app.result("noteOf", { who: "alan" })).toBe("Now.");
});

test("a task that is removed for good is asked about twice", async () => {
  const task = await app.result<string>("later", { who: "grace", text: "Never." });
  await open();
  await choose(task, "delayed");
  await page.click('.orders button:text-is("Cancel")');
  await page.click("text=Keep it");
  await page.click('.orders button:text-is("Cancel")');
  await page.click("text=Cancel for good");
  await page.waitForSelector(row(task), { state: "detached" });
  await page.waitForSelector("text=The task is gone");
  expect(await app.result("noteOf", { who: "grace" })).toBe("");
});

test("a dead task tells its error, is tried again, and is discarded", async () => {
  const task = await app.result<string>("soonLost", { who: "edsger" });
  await open();
  await choose(task, "dead");
  const one = page.locator('section[aria-label="One task"]');
  await one.locator('dd:has-text("1 without effect")').waitFor();
  await one.locator('code:text-is("nowhere")').waitFor();
  await one.locator("text=There is nobody to tell.").waitFor();
  expect(await one.locator("button", { hasText: "Retry" }).count()).toBe(1);
  await page.click('.orders button:text-is("Retry")');
  await page.waitForSelector('[role="status"]:has-text("the task of lose begins at once")');
  await one.locator('dd:has-text("2 without effect")').waitFor();
  await choose(task, "dead");
  await page.click('.orders button:text-is("Discard")');
  await page.click("text=Discard for good");
  await page.waitForSelector(row(task), { state: "detached" });
});

test("a schedule shows its next tick, is paused, goes on, and runs now", async () => {
  await open();
  const schedule = page.locator('section[aria-label="Schedules"] tr', { hasText: "tidy" });
  await schedule.locator("text=every 366 d").waitFor();
  await page.click('button[aria-label="Pause tidy"]');
  await schedule.locator('.tag:text-is("paused")').waitFor();
  await page.click('button[aria-label="Resume tidy"]');
  await page.waitForSelector('button[aria-label="Pause tidy"]');
  await page.click('button[aria-label="Run now: tidy"]');
  await page.waitForSelector('[role="status"]:has-text("tidy is called.")');
  await expect.poll(() => app.result("noteOf", { who: "tidied" }), { timeout: 100_000 }).toBe("once");
});

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

test.each(["light", "dark"] as const)("axe finds nothing, with a dead task chosen: %s", async (colorScheme) => {
  const task = await app.result<string>("soonLost", { who: "barbara" });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await open();
  await choose(task, "dead");
  await page.click('.orders button:text-is("Discard")');
  await page.evaluate(axeSource);
  const violations = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)");
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(" "))])).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
});
