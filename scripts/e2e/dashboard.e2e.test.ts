/** The dashboard's page, as people use it: in a real browser, on a real `radical dev`. The files are those that the build has made. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../../packages/cli/src/testing.ts";
import { openBrowser } from "../pictures/shots.ts";
import { type OpenDashboard, openDashboard } from "./dashboard-page.ts";

const project = fileURLToPath(new URL("../../templates/social", import.meta.url));
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = [
  "Requests",
  "Locations",
  "Try it",
  "Handlers",
  "Tasks",
  "Workflows",
  "Contention",
  "Caches",
  "Data",
  "Replay",
] as const;

let browser: Browser;
let app: TestApp;
let context: BrowserContext;
let page: Page;
let shown: OpenDashboard;

beforeAll(async () => {
  app = await startTestApp({ project, seeded: true, locations: { VA: 0, JP: 40 } });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await app?.stop();
});
beforeEach(async () => {
  shown = await openDashboard(browser, app.dashboard!);
  ({ context, page } = shown);
});
afterEach(() => shown?.close());

const row = '[role="option"]';
const open = (view: (typeof VIEWS)[number]): Promise<void> => page.click(`.rail button:has-text("${view}")`);

/** Calls a handler at the location, and waits for its row. */
async function callAndSee(handler: string, args: unknown, location: string): Promise<void> {
  const { execution } = await app.call(handler, args, { location });
  await page.fill("#filter", execution!.slice(-32));
  await page.waitForSelector(`${row}:has-text("${handler}")`);
  await page.click(row);
}

test("the token leaves the address; a page without it says what to do", async () => {
  expect(new URL(page.url()).hash).toBe("");
  await page.reload();
  await page.waitForSelector(".pill:has-text('live')");
  const other = await context.newPage();
  await other.goto(new URL(app.dashboard!).origin);
  await other.waitForSelector("text=This page has no token of the run");
});

test("a call appears with its way: the sum is what the caller has waited, and the sentence names the place", async () => {
  await callAndSee("profile", { name: "ada" }, "JP");
  const detail = page.locator(".detail");
  const total = (await detail.locator(".big").textContent())!.replace(" ms", "");
  expect(await detail.locator(".wf .sum:has-text('this call') .val").textContent()).toBe(total);
  expect(await detail.locator(".lead").textContent()).toContain("Tokyo");
  await detail.locator("text=way there").waitFor();
  await detail.locator("text=central, about").waitFor();
  // The way of a question: there, at the primary, and back.
  const values = await detail.locator(".wf .val").allTextContents();
  expect(values.length).toBeGreaterThan(4);
});

test("a row is chosen, let go and filtered by keys alone", async () => {
  for (const name of ["ada", "alan", "grace"]) await app.call("profile", { name });
  await page.waitForFunction(`document.querySelectorAll('${row}').length >= 3`);
  const chosen = (): Promise<string | null> => page.getAttribute(`${row}[aria-selected="true"]`, "id");
  await page.keyboard.press("j");
  const first = await chosen();
  await page.keyboard.press("j");
  await page.waitForFunction(`document.querySelector('${row}[aria-selected="true"]').id !== "${first}"`);
  await page.keyboard.press("k");
  await page.waitForSelector(`#${first}[aria-selected="true"]`);
  await page.keyboard.press("/");
  await page.waitForFunction("document.activeElement.id === 'filter'");
  await page.keyboard.type("handler:nobody");
  await page.waitForSelector("text=No request fits");
  await page.keyboard.press("Escape");
  await page.keyboard.press("3");
  await page.waitForSelector("h1:has-text('Try it')");
  await page.keyboard.press("c");
  await page.waitForFunction("document.activeElement.id === 'handler'");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog[open]", { state: "hidden" });
  await page.keyboard.press("1");
  await page.keyboard.press("p");
  await page.waitForSelector(".pill:has-text('paused')");
  // The address changes first, and the page after it.
  await expect.poll(() => page.textContent("h1")).toBe("Requests");
});

test("a fault is switched by the keyboard, told in words, and healed by a key", async () => {
  await open("Locations");
  await page.focus('[role="switch"][aria-label*="Tokyo"]');
  await page.keyboard.press("Space");
  await page.waitForSelector(".pill.warn:has-text('1 fault')");
  expect(app.control.faults().partitioned).toEqual(["JP"]);
  await page.waitForSelector("text=nothing stale is ever answered");
  await page.keyboard.press("h");
  await page.waitForSelector(".pill.warn", { state: "hidden" });
  expect(app.control.faults().partitioned).toEqual([]);
});

test("a form calls a handler from its types, at two places at once, and shows which was first", async () => {
  const { headers } = await app.call("register", { name: "zoe", password: "correct horse" });
  const [cookie = ""] = headers.getSetCookie().map((line) => line.split(";", 1)[0]!);
  await open("Try it");
  await page.selectOption("#handler", "post");
  // A program sends the token of the cookie itself.
  await page.fill("#caller", `Bearer ${cookie.slice(cookie.indexOf("=") + 1)}`);
  await page.fill("#arg-text", "Hello");
  await page.click('button:has-text("at once")');
  const order = await page.waitForSelector('.order:has-text("everybody sees them in this order")');
  expect(await order.textContent()).toMatch(/^(Virginia|Tokyo) \d+·\d+, then (Virginia|Tokyo) \d+·\d+/);
  await page.fill("#key", "one-call-for-both-places");
  await page.click('button:has-text("at once")');
  await page.waitForSelector('.order:has-text("it happened once")');
});

test("wrong arguments are told in words, and nothing is lost of the form", async () => {
  await open("Try it");
  await page.selectOption("#handler", "posts");
  await page.fill("#arg-name", "ada");
  await page.fill("#arg-limit", "many");
  await page.click('button:text-is("Call")');
  await page.waitForSelector("text=limit must be a number.");
  expect(await page.inputValue("#arg-name")).toBe("ada");
});

test("an item is changed in the page, and the application shows it at every location", async () => {
  await open("Data");
  await page.click('.tables button:has-text("people")');
  await page.click('.items button:text-is("edsger")');
  await page.fill('[aria-label="Value as JSON"]', '{"name": "edsger", "bio": "Proofs first.", "joinedAt": 1}');
  await page.click("text=Write the change");
  await page.waitForSelector("text=people/edsger is written.");
  for (const location of ["VA", "JP"])
    expect((await app.call("profile", { name: "edsger" }, { location })).result).toMatchObject({
      bio: "Proofs first.",
    });
  await page.fill('[aria-label="Value as JSON"]', '{"name": 3}');
  await page.click("text=Write the change");
  await page.waitForSelector('[role="alert"]:has-text("nothing was written")');
});

test("an edit that comes second is told, and nothing is lost", async () => {
  await open("Data");
  await page.click('.tables button:has-text("people")');
  await page.click('.items button:text-is("barbara")');
  const other = await context.newPage();
  await other.goto(app.dashboard!);
  await other.click('.rail button:has-text("Data")');
  await other.click('.tables button:has-text("people")');
  await other.click('.items button:text-is("barbara")');
  await other.fill('[aria-label="Value as JSON"]', '{"name": "barbara", "bio": "Abstraction.", "joinedAt": 1}');
  await other.click("text=Write the change");
  await other.waitForSelector("text=people/barbara is written.");

  const mine = '{"name": "barbara", "bio": "Types.", "joinedAt": 1}';
  await page.fill('[aria-label="Value as JSON"]', mine);
  await page.click("text=Write the change");
  await page.waitForSelector('[role="alert"]:has-text("Nothing was written, and your text is still here")');
  expect(await page.inputValue('[aria-label="Value as JSON"]')).toBe(mine);
  expect(await page.textContent('[aria-label="The item as it is now"]')).toContain("Abstraction.");
  await page.click("text=Write mine over it");
  await page.waitForSelector("text=people/barbara is written.");
  expect((await app.call("profile", { name: "barbara" })).result).toMatchObject({ bio: "Types." });
});

test("a request is replayed step by step by keys, and runs in the present build", async () => {
  await callAndSee("profile", { name: "grace" }, "JP");
  await page.click('.detail button:text-is("Replay")');
  await page.waitForSelector('[role="listbox"][aria-label="Steps of the run"]');
  await page.focus('[aria-label="Steps of the run"]');
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector('#step-1[aria-selected="true"]');
  expect(await page.textContent('[aria-label="Steps of the run"]')).toContain("people/grace");
  await page.click('button:has-text("present build")');
  await page.waitForSelector("text=The present build does the same");
});

test("a handler shows its keys and its slice", async () => {
  await open("Handlers");
  await page.click('td button:text-is("like")');
  await page.waitForSelector('[aria-label="Source of like"] .kept');
  expect(await page.locator(".patterns code").allTextContents()).toContain("posts/{id}");
});

test("a handler's keys are resolved for a call of it, with the versions that it read", async () => {
  await callAndSee("profile", { name: "ada" }, "JP");
  await open("Handlers");
  await page.click('td button:text-is("profile")');
  const keys = page.locator(".patterns > li", { hasText: "people/{name}" }).first();
  await keys.locator(".resolved code:text-is('people/ada')").waitFor();
  expect(await page.locator('[aria-label="The call whose items are shown"] option').count()).toBeGreaterThan(0);
});

test("an item is looked at in the caches of all locations, and beside what is stored", async () => {
  await callAndSee("profile", { name: "grace" }, "JP");
  await open("Caches");
  await page.fill('[aria-label="Item to look at"]', "people/grace");
  await page.keyboard.press("Enter");
  const versions = page.locator('table[aria-label="Versions of people/grace"]');
  const [primary, tokyo] = ["Primary", "Tokyo"].map((place) => versions.locator("tr", { hasText: place }));
  await tokyo!.locator(".tag.h").waitFor();
  expect(await tokyo!.locator("td").nth(1).textContent()).toBe(await primary!.locator("td").nth(1).textContent());
  await open("Data");
  await page.click('.tables button:has-text("people")');
  await page.click('.items button:text-is("grace")');
  await page.locator('table[aria-label="Versions of people/grace"] tr:has-text("Tokyo") .tag.h').waitFor();
});

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

test.each(["light", "dark"] as const)("axe finds nothing in any view: %s", async (colorScheme) => {
  await callAndSee("profile", { name: "ada" }, "JP");
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.evaluate(axeSource);
  for (const view of VIEWS) {
    await open(view);
    if (view === "Data") {
      await page.click('.tables button:has-text("people")');
      await page.click('.items button:text-is("ada")');
    }
    const violations = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)");
    expect({
      view,
      found: violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(" "))]),
    }).toEqual({
      view,
      found: [],
    });
  }
});

test("390 pixels are enough: no view scrolls sideways, and all are reached", async () => {
  await callAndSee("profile", { name: "ada" }, "JP");
  await page.setViewportSize({ width: 390, height: 844 });
  for (const view of VIEWS) {
    const tab = `.tabs button:has-text("${view}")`;
    if (!(await page.isVisible(tab))) await page.click(".tabs button:has-text('More')");
    await page.click(tab);
    await page.waitForSelector(`h1:has-text("${view}")`);
    expect({ view, width: await page.evaluate("document.documentElement.scrollWidth") }).toEqual({ view, width: 390 });
  }
});

test("seven tabs share one stream", async () => {
  const tabs = await Promise.all(Array.from({ length: 7 }, () => context.newPage()));
  for (const tab of tabs) {
    await tab.goto(app.dashboard!);
    await tab.waitForSelector(".pill:has-text('live')");
  }
  // A browser opens six connections to an origin: were each one a stream, no other question would pass.
  const [last = page] = tabs.slice(-1);
  await last.click('.rail button:has-text("Data")');
  await last.waitForSelector(".tables button:has-text('people')");
  expect(await last.locator(".tables button").count()).toBe(8);
});

test("its policy stops nothing that the page needs", async () => {
  const strict = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const said: string[] = [];
    const own = await strict.newPage();
    own.on("console", (message) => {
      if (message.type() === "error") said.push(message.text());
    });
    await own.goto(app.dashboard!);
    await own.waitForSelector(".pill:has-text('live')");
    for (const view of VIEWS) {
      await own.click(`.rail button:has-text("${view}")`);
      await own.waitForSelector(`h1:has-text("${view}")`);
    }
    await own.evaluate("document.fonts.ready");
    expect(await own.evaluate("document.fonts.check('14px Inter')")).toBe(true);
    expect(said).toEqual([]);
  } finally {
    await strict.close();
  }
});

test("a page of the application changes and reads nothing", async () => {
  const { origin, hash } = new URL(app.dashboard!);
  const other = await browser.newContext();
  try {
    const stranger = await other.newPage();
    await stranger.goto(app.url);
    const tried = await stranger.evaluate<readonly string[]>(`(async () => {
      const headers = { "content-type": "application/json", "x-radical-token": "${hash.slice(1)}" };
      const body = '{"primaryDown": true}';
      const ways = [
        () => fetch("${origin}/api/app", { headers }),
        () => fetch("${origin}/api/faults", { method: "POST", headers, body }),
        () => fetch("${origin}/api/faults", { method: "POST", mode: "no-cors", body }),
        () => fetch("/__radical/").then((answer) => answer.text()),
      ];
      return Promise.all(ways.map((way) => way().then((answer) => (typeof answer === "string" ? answer : answer.type), (error) => error.name)));
    })()`);
    expect(tried.slice(0, 3)).toEqual(["TypeError", "TypeError", "TypeError"]);
    expect(tried[3]).not.toContain(hash.slice(1));
    expect(app.control.faults().primaryDown).toBe(false);
  } finally {
    await other.close();
  }
});
