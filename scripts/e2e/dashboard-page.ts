/** The page of a dashboard in a browser, as tests use it. */
import type { Browser, BrowserContext, Page } from "playwright-core";

export interface OpenDashboard {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Rejects if the page had an error, or has asked another host. */
  readonly close: () => Promise<void>;
}

/** Resolves when the page has its first state: live in dev, read-only for a deployment. */
export async function openDashboard(browser: Browser, address: string): Promise<OpenDashboard> {
  const faults: string[] = [];
  const { host } = new URL(address);
  // axe is put in from outside: the page's own policy would not let it.
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, bypassCSP: true });
  context.on("request", (request) => {
    if (new URL(request.url()).host !== host) faults.push(`asks ${request.url()}`);
  });
  context.on("weberror", (error) => faults.push(String(error.error())));
  const page = await context.newPage();
  page.setDefaultTimeout(100_000);
  const close = async (): Promise<void> => {
    await context.close();
    if (faults.length > 0) throw new Error(faults.join("\n"));
  };
  await page.goto(address);
  await page.waitForSelector(".pill:has-text('live'), .pill:has-text('read-only')");
  return { context, page, close };
}
