/** The pages that pictures show: the dashboard, and the pages of the templates. */
import { globSync } from "node:fs";
import path from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { startTestApp } from "../../packages/cli/src/testing.ts";
import { inWindow, type Screen, shoot } from "./shots.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SCREENS: readonly Screen[] = ["desktop", "phone"];
/** Round trips to the primary, in milliseconds: those of `radical dev`. */
const LOCATIONS = { VA: 7, CA: 74, IE: 70, DE: 93, JP: 146 };

/** Templates that have a page. */
const TEMPLATES = globSync("*/public/index.html", { cwd: path.join(ROOT, "templates") })
  .map((file) => file.split(path.sep)[0] ?? "")
  .toSorted();

/** A request in the list of the dashboard. */
const ROW = '[role="option"]';

/** All pictures, by the name that `pnpm pictures` takes. */
export const SUBJECTS: Readonly<Record<string, (browser: Browser) => Promise<void>>> = {
  dashboard,
  ...Object.fromEntries(TEMPLATES.map((name) => [name, (browser: Browser) => template(browser, name)])),
};

async function dashboard(browser: Browser): Promise<void> {
  const app = await startTestApp({ project: projectOf("social"), seeded: true, locations: LOCATIONS });
  try {
    const places = Object.keys(LOCATIONS);
    const people = ["ada", "alan", "grace", "edsger", "barbara"];
    const visit = async (name: string, location: string): Promise<void> => {
      await app.call("profile", { name }, { location });
      await app.call("posts", { name }, { location });
      await app.call(
        "register",
        { name: `${name}-of-${location.toLowerCase()}`, password: "correct horse" },
        { location },
      );
    };
    const open = async (page: Page): Promise<void> => {
      await page.goto(app.dashboard ?? "");
      await page.locator(".pill", { hasText: "live" }).waitFor({ state: "attached" });
    };
    const requests = async (page: Page): Promise<void> => {
      await open(page);
      // One after the other: on a small machine hashes of passwords would wait for each other.
      for (const name of people) for (const location of places) await visit(name, location);
      // The first login of a name finds an empty cache and runs at the primary, so the page knows how long it takes there.
      for (const name of [...people.toReversed(), "ada"])
        await app.call("login", { name, password: "correct horse" }, { location: "JP" });
      await page.locator(ROW, { hasText: "login" }).filter({ hasText: "confirmed" }).click();
      await page.locator(".detail .big").waitFor();
    };
    await inWindow(browser, "desktop", async (page) => {
      await requests(page);
      await shoot(page, "dashboard-requests-desktop");
      await page.emulateMedia({ colorScheme: "dark" });
      await shoot(page, "dashboard-requests-dark");
    });
    await inWindow(browser, "phone", async (page) => {
      await open(page);
      await app.call("profile", { name: "ada" }, { location: "JP" });
      await page.locator(ROW, { hasText: "profile" }).first().waitFor();
      await shoot(page, "dashboard-requests-phone");
    });
    // The last one, since its fault stays.
    await inWindow(browser, "desktop", async (page) => {
      await open(page);
      await page.locator(".rail button", { hasText: "Locations" }).click();
      await page.locator('[role="switch"][aria-label*="Ireland"]').first().click();
      await page.locator(".pill.warn").waitFor();
      await shoot(page, "dashboard-locations-desktop");
    });
  } finally {
    await app.stop();
  }
}

/** Clicks on the page of a template before its picture. Those that the page lacks are left out. */
const VISITS: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  board: (page) => clickIfThere(page.locator("main li a, main article a").first()),
  hotel: (page) => clickIfThere(page.getByRole("button", { name: "Search" })),
};

async function template(browser: Browser, name: string): Promise<void> {
  const app = await startTestApp({ project: projectOf(name), seeded: true, locations: LOCATIONS });
  try {
    for (const screen of SCREENS)
      await inWindow(browser, screen, async (page) => {
        await page.goto(app.url);
        await page.locator("main :visible").first().waitFor();
        await signIn(page);
        await VISITS[name]?.(page);
        await settled(page);
        await shoot(page, `${name}-${screen}`);
      });
  } finally {
    await app.stop();
  }
}

/** As somebody of the seed, by the list of people that a page shows with `radical dev`. A page without it stays as a guest sees it. */
async function signIn(page: Page): Promise<void> {
  const person = page.locator("main ul.people button").first();
  await settled(page);
  if (!(await person.isVisible())) return;
  await person.click();
  await person.waitFor({ state: "detached" });
}

async function clickIfThere(target: Locator): Promise<void> {
  await settled(target.page());
  if (await target.isVisible()) await target.click();
}

/** Waits until nothing on the page has changed for a while. Pages with live queries always have a request under way. */
async function settled(page: Page): Promise<void> {
  const quietMs = 800;
  await page.evaluate(`new Promise((resolve) => {
    let timer = setTimeout(resolve, ${quietMs});
    new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(resolve, ${quietMs});
    }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  })`);
}

function projectOf(name: string): string {
  return path.join(ROOT, "templates", name);
}
