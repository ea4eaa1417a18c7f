/** The dashboard's page of workflows, the time of tasks and failures of services, in a real browser, on a real `radical dev` and a bank. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { loadDeploymentKeys } from "../../packages/admin/src/index.ts";
import {
  DASHBOARD_TIME_PATH,
  DASHBOARD_TOKEN_HEADER,
  DASHBOARD_WORKFLOW_ORDERS_PATH,
  DASHBOARD_WORKFLOWS_PATH,
} from "../../packages/protocol/src/index.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { Bank } from "../../packages/cli/e2e/fake-bank.ts";
import { serveDeployedDashboard } from "../../packages/cli/src/operate/deployed-dashboard.ts";
import { startTestApp, type TestApp } from "../../packages/cli/src/testing.ts";
import { alarmsOf } from "../../packages/lvi-server/e2e/test-process.ts";
import { openBrowser } from "../pictures/shots.ts";
import { type OpenDashboard, openDashboard } from "./dashboard-page.ts";

const project = fileURLToPath(new URL("../../packages/cli/e2e/fixtures/tickets", import.meta.url));
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ANN = { "x-name": "ann" };

let browser: Browser;
let bank: Bank;
let app: TestApp;
let page: Page;
let shown: OpenDashboard;

beforeAll(async () => {
  bank = new Bank();
  const BANK = await bank.start();
  app = await startTestApp({ project, vars: { BANK } });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await app?.stop();
  bank?.close();
});
beforeEach(async () => {
  shown = await openDashboard(browser, app.dashboard!);
  ({ page } = shown);
});
afterEach(() => shown?.close());

/** Starts one, and does not wait for its end. */
async function started(handler: string, args: unknown): Promise<string> {
  const response = await fetch(`${app.url}/api/${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "wait=0", ...ANN },
    body: JSON.stringify(args),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { readonly workflow: string }).workflow;
}

const open = (): Promise<void> => page.click('.rail button:has-text("Workflows")');
const listed = (workflow: string): string => `section[aria-label="Workflows"] tr:has-text("${workflow.slice(-7)}")`;
const ONE = 'section[aria-label="One workflow"]';
const timelineRow = (text: string): string => `${ONE} .timeline li:has-text("${text}")`;

async function choose(workflow: string, state: string): Promise<void> {
  await page.waitForSelector(`${listed(workflow)}:has-text("${state}")`);
  await page.click(`${listed(workflow)} button`);
  await page.waitForSelector(`${ONE} code:text-is("${workflow}")`);
}

/** One that is not in the list any more. */
async function find(workflow: string): Promise<void> {
  await page.fill('[aria-label="Id of a workflow"]', workflow);
  await page.keyboard.press("Enter");
  await page.waitForSelector(`${ONE} code:text-is("${workflow}")`);
}

test("a workflow says what it waits for; its timeline has each step, with arguments, result and execution", async () => {
  const workflow = await started("buy", { seat: "A1", card: "good" });
  await open();
  await page.waitForSelector(`${listed(workflow)}:has-text("signal approved, in 1 d 23 h at the latest")`);
  await choose(workflow, "waiting");
  const hold = page.locator(timelineRow("handler hold"));
  await hold.locator('.tag:text-is("done")').waitFor();
  expect(await hold.textContent()).toMatch(/"seat":"A1","buyer":"ann"\}.*→ 200000/);
  await page.waitForSelector(`${timelineRow("undo release")} .tag:text-is("if it fails")`);
  await page.waitForSelector(`${timelineRow("signal approved")}[aria-current="step"]`);
  await page.waitForSelector(timelineRow("Waits for the signal approved"));
  expect(await hold.textContent()).toMatch(/(?:execution|Replay) [0-9a-f]{7}/);
  await app.result("approve", { workflow, by: "boss" }, { headers: ANN });
  await page.waitForSelector(`${ONE} >> text=It has ended with a result.`);
  await page.waitForSelector(`${timelineRow("service charge")} .tag:text-is("done")`);
  expect(await page.locator(timelineRow("signal approved")).textContent()).toContain('{"by":"boss"}');
  await page.waitForSelector(`section[aria-label="Ended lately"] :text("${workflow.slice(-7)}")`);
});

test("time is moved on by the keyboard to the end of a wait: the workflow fails, and what it has done is undone", async () => {
  const workflow = await started("buy", { seat: "A2", card: "good" });
  await open();
  await choose(workflow, "waiting");
  await page.focus(`${ONE} button:text-is("Move time")`);
  await page.keyboard.press("Enter");
  await page.waitForSelector(`${ONE} >> text=It has failed. What it had done is undone.`);
  await page.waitForSelector(`${timelineRow("signal approved")} .tag:text-is("time over")`);
  await page.waitForSelector(`${timelineRow("undo release")} .tag:text-is("undone")`);
  // Nothing has moved further while it was undone.
  expect(await page.locator(`${timelineRow("Ended")} time`).textContent()).toMatch(/^\+(2 d|47 h)$/);
  await page.waitForSelector(".pill.ahead:has-text('ahead')");
  expect(await app.result("ownerOf", { seat: "A2" }, { headers: ANN })).toBe("nobody");
  const before = app.control.time().aheadMs;
  await page.click('section[aria-label="Time of tasks and handlers"] button:text-is("1 hour")');
  await expect
    .poll(() => app.control.time(), { timeout: 100_000 })
    .toEqual({ aheadMs: before + 3_600_000, movesToMs: null });
});

test("a workflow sleeps for three days, which pass at once, and undoes what it has done", async () => {
  const workflow = await started("lend", { seat: "D1" });
  await open();
  await page.waitForSelector(`${listed(workflow)}:has-text("time, in 2 d 23 h")`);
  await choose(workflow, "waiting");
  await page.waitForSelector(timelineRow("Sleeps"));
  await page.click('section[aria-label="Time of tasks and handlers"] button:text-is("3 days")');
  await page.waitForSelector(`${timelineRow("sleep")} .tag:text-is("done")`);
  await page.waitForSelector(`${timelineRow("undo release")} .tag:text-is("undone")`);
  expect(await page.locator(`${timelineRow("Ended")} time`).textContent()).toMatch(/^\+(3 d|71 h)$/);
  expect(await app.result("ownerOf", { seat: "D1" }, { headers: ANN })).toBe("nobody");
});

test("a cancelled workflow is asked about twice, and undoes what it has done", async () => {
  const workflow = await started("buy", { seat: "A3", card: "good" });
  await open();
  await choose(workflow, "waiting");
  await page.click('.orders button:text-is("Cancel")');
  await page.click("text=Let it go on");
  await page.click('.orders button:text-is("Cancel")');
  await page.click("text=Cancel for good");
  await page.waitForSelector('[role="status"]:has-text("buy is asked to end")');
  await page.waitForSelector(timelineRow("Somebody asked it to end"));
  await page.waitForSelector(`${timelineRow("undo release")} .tag:text-is("undone")`);
  await page.waitForSelector(listed(workflow), { state: "detached" });
  expect(await app.result("ownerOf", { seat: "A3" }, { headers: ANN })).toBe("nobody");
});

test("a stuck workflow tells why, is tried again, and is stuck again", async () => {
  const workflow = await started("stray", { seat: "C1" });
  await open();
  await choose(workflow, "stuck");
  expect(await page.locator(ONE).textContent()).toContain("astray");
  await page.waitForSelector(timelineRow("Stuck"));
  const { host, port } = app.lviServer.address();
  const alarms = (): Promise<number> => alarmsOf(`http://${host}:${port}`, "workflow_stuck");
  const before = await alarms();
  await page.click('.orders button:text-is("Retry")');
  await page.waitForSelector('[role="status"]:has-text("stray runs again")');
  await expect.poll(alarms, { timeout: 100_000 }).toBe(before + 1);
  // From here on the page knows nothing of the time before.
  await page.reload();
  await open();
  await choose(workflow, "stuck");
  await page.waitForSelector(timelineRow("Stuck"));
});

test("a child has a timeline of its own, with the way back; a step that fails has its words", async () => {
  const workflow = await started("buyAll", { wanted: ["A5"], card: "declined" });
  await open();
  await choose(workflow, "waiting");
  await page.click(`${timelineRow("workflow buy")} button:text-is("Its timeline")`);
  await page.waitForSelector(timelineRow("Waits for the signal approved"));
  const child = (await page.locator(`${ONE} .kv code`).last().textContent())!;
  await app.result("approve", { workflow: child, by: "boss" }, { headers: ANN });
  await page.waitForSelector(`${timelineRow("service charge")} .tag:text-is("failed")`);
  expect(await page.locator(timelineRow("service charge")).textContent()).toContain("the card is blocked");
  await page.click(`${ONE} button:text-is("${workflow}")`);
  await page.waitForSelector(`${timelineRow("workflow buy")} .tag:text-is("failed")`);
});

test("answers of a service get lost by order: the step tells its attempts, its task is shown, and it ends when all is healed", async () => {
  await page.click('.rail button:has-text("Locations")');
  await page.selectOption('[aria-label="Calls of charge that fail"]', "1");
  await page.waitForSelector(".pill.warn:has-text('1 fault')");
  await page.waitForSelector("text=100 % of its calls fail before they are made");
  expect(app.control.faults().services["charge"]).toEqual({ throw: 1, lost: 0, slowMs: 0 });
  const workflow = await started("buy", { seat: "B7", card: "good" });
  await open();
  await find(workflow);
  const charge = page.locator(timelineRow("service charge"));
  await charge.locator("text=/attempts? failed/").waitFor();
  expect(await charge.textContent()).toContain("charge fails, because radical dev orders its failures.");
  await charge.locator('button:text-is("Its task")').click();
  await page.waitForSelector('section[aria-label="One task"] code:text-is("ordered_failure")');
  await page.keyboard.press("h");
  await page.waitForSelector(".pill.warn", { state: "hidden" });
  expect(app.control.faults().services).toEqual({});
  await page.click('.orders button:text-is("Retry")');
  await open();
  await page.waitForSelector(`${ONE} >> text=It has ended with a result.`);
});

test("an id that nothing has is told, and so is a text that is none", async () => {
  await open();
  await page.fill('[aria-label="Id of a workflow"]', "xyz");
  await page.keyboard.press("Enter");
  await page.waitForSelector('[role="status"]:has-text("32 hexadecimal digits")');
  await page.fill('[aria-label="Id of a workflow"]', "0".repeat(32));
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=There is no such workflow");
  expect(await page.locator(ONE).textContent()).toContain("0".repeat(32));
});

test("the dashboard of a deployment shows timelines by signed questions, without arguments, orders and time", async () => {
  const workflow = await started("buy", { seat: "A7", card: "good" });
  const { host, port } = app.lviServer.address();
  const { administration: key } = await loadDeploymentKeys(app.stateFolder);
  const ending = new AbortController();
  const deployed = await serveDeployedDashboard({
    name: "tickets · production",
    leader: () => Promise.resolve({ url: `http://${host}:${port}`, key }),
    // The Worker says nothing.
    tail: (_sink, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    every: 1,
    values: null,
    port: 0,
    signal: ending.signal,
  });
  try {
    await shown.close();
    shown = await openDashboard(browser, deployed.url);
    ({ page } = shown);
    await page.waitForSelector(".pill:has-text('read-only')");
    await open();
    await page.waitForSelector(`${listed(workflow)}:has-text("signal approved")`);
    await choose(workflow, "waiting");
    await page.waitForSelector(timelineRow("Waits for the signal approved"));
    const text = (await page.locator(ONE).textContent())!;
    expect(text).toContain("Orders are for radical workflows");
    expect(text).not.toContain("A7");
    expect(await page.locator(".orders, .clock").count()).toBe(0);
    const { origin, hash } = new URL(deployed.url);
    const headers = { [DASHBOARD_TOKEN_HEADER]: hash.slice(1), "content-type": "application/json" };
    const body = JSON.stringify({ action: "cancel", ids: [workflow] });
    for (const path of [DASHBOARD_WORKFLOW_ORDERS_PATH, DASHBOARD_TIME_PATH])
      expect((await fetch(origin + path, { method: "POST", headers, body })).status).toBe(404);
    expect((await fetch(origin + DASHBOARD_WORKFLOWS_PATH)).status).toBe(401);
  } finally {
    await shown.close();
    ending.abort();
    await deployed.ended;
  }
});

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

test.each(["light", "dark"] as const)(
  "axe finds nothing with a workflow chosen, and 390 pixels are enough: %s",
  async (colorScheme) => {
    const seat = colorScheme === "light" ? "A8" : "A9";
    const waiting = await started("buy", { seat, card: "good" });
    const failed = await started("buy", { seat, card: "good" });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await open();
    await page.evaluate(axeSource);
    for (const workflow of [waiting, failed]) {
      await find(workflow);
      await page.setViewportSize({ width: 1440, height: 900 });
      const violations = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)");
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(" "))])).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    }
  },
);
