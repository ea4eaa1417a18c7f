/** The templates' pages, as people use them: in a real browser, with the application behind it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { startTestApp } from "../../packages/cli/src/testing.ts";
import { drawn } from "../../packages/command-line/src/short-tier.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser } from "../pictures/shots.ts";
import { beAda, openView, type TemplateView, type TemplateWithPage, VIEWS } from "./template-views.ts";

const TEMPLATES = Object.keys(VIEWS) as readonly TemplateWithPage[];
const templates = drawn("pages of the templates", TEMPLATES, 1);
/** Of a test. */
const of = (template: TemplateWithPage): { readonly skip: boolean } => ({ skip: !templates.includes(template) });

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

/** Uses the page of a template whose storage holds its seed; an error in the page fails the test. */
async function usePage(
  template: string,
  use: (page: Page) => Promise<void>,
  locations?: Readonly<Record<string, number>>,
): Promise<void> {
  const project = fileURLToPath(new URL(`../../templates/${template}`, import.meta.url));
  const app = await startTestApp({ project, seeded: true, ...(locations === undefined ? {} : { locations }) });
  const context = await browser.newContext({ baseURL: app.url });
  try {
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on("pageerror", (error) => errors.push(error));
    page.setDefaultTimeout(100_000);
    await page.goto("/");
    await use(page);
    expect(await page.textContent("#message")).toBe("");
    expect(errors).toEqual([]);
  } finally {
    await context.close();
    await app.stop();
  }
}

/** Uses the page in two windows, each at a location of its own. */
async function useTwoPages(template: string, use: (near: Page, far: Page) => Promise<void>): Promise<void> {
  const at = async (page: Page, location: string): Promise<void> => {
    await page.setExtraHTTPHeaders({ "x-radical-location": location });
    await page.goto("/");
  };
  const both = async (near: Page): Promise<void> => {
    const context = await browser.newContext({ baseURL: new URL(near.url()).origin });
    try {
      const far = await context.newPage();
      far.setDefaultTimeout(100_000);
      await at(near, "near");
      await at(far, "far");
      await use(near, far);
      expect(await far.textContent("#message")).toBe("");
    } finally {
      await context.close();
    }
  };
  await usePage(template, both, { near: 0, far: 100 });
}

/** Makes an account on a page of the shared parts. */
async function join(page: Page, name: string): Promise<void> {
  await page.goto("/#/login");
  await page.fill("form.register [name=name]", name);
  await page.fill("form.register [name=password]", "correct horse");
  await page.click("text=Make an account");
  await page.waitForSelector(`.reader[aria-label="Your page, ${name}"]`);
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

/** The rules of axe that the page breaks in light and in dark, and whether it scrolls sideways on a phone. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  const faults: string[] = [];
  // The page's own policy lets no script in, and says nothing about an evaluation.
  await page.evaluate(axeSource);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const found = await page.evaluate<readonly Violation[]>("axe.run().then(({ violations }) => violations)");
    for (const { id, nodes } of found)
      faults.push(...nodes.map(({ target }) => `${colorScheme}: ${id}: ${target.join(" ")}`));
  }
  const size = page.viewportSize()!;
  await page.setViewportSize({ width: 390, height: 844 });
  const width = await page.evaluate<number>("document.documentElement.scrollWidth");
  if (width > 390) faults.push(`${width} pixels wide on a phone`);
  await page.setViewportSize(size);
  return faults;
}

/** The colour of the dot beside the last call, in light, if the call had taken this path. */
async function dotOf(page: Page, path: string): Promise<string> {
  await page.emulateMedia({ colorScheme: "light" });
  return page.evaluate<string>(`(() => {
    const told = document.querySelector(".strip .path");
    told.className = "path ${path}";
    return getComputedStyle(told, "::before").backgroundColor;
  })()`);
}

for (const template of TEMPLATES)
  test(
    `${template}: axe finds nothing in any view, light and dark, and a phone is wide enough`,
    of(template),
    async () => {
      await usePage(template, async (page) => {
        const views: readonly TemplateView[] = VIEWS[template];
        for (const isOwn of [false, true]) {
          if (isOwn) await beAda(page);
          for (const view of views.filter((one) => (one.isOwn ?? false) === isOwn)) {
            await openView(page, view);
            expect({ ...view, faults: await faultsOf(page) }).toEqual({ ...view, faults: [] });
          }
        }
        // Blue is "here" in all templates, and in the dashboard.
        for (const path of ["leased", "speculative"]) expect(await dotOf(page, path)).toBe("rgb(10, 98, 204)");
      });
    },
  );

test("social: somebody of the seed is one click away, and moves to another place", of("social"), async () => {
  const use = async (page: Page): Promise<void> => {
    await page.click('button:has-text("Be Barbara")');
    await page.waitForSelector("article.post");
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: "session", httpOnly: true, sameSite: "Lax" });
    expect(await page.evaluate("JSON.stringify(localStorage)")).toBe('{"name":"barbara"}');
    await page.selectOption(".strip select", "JP");
    const answered = page.waitForResponse((response) => response.url().endsWith("/api/timeline"));
    await page.goto("/#/people/ada");
    await page.click(".logo");
    const response = await answered;
    expect(response.headers()["x-radical-location"]).toBe("JP");
    await page.click('button:text-is("Log out")');
    await page.waitForSelector('button:has-text("Be Barbara")');
    expect(await page.context().cookies()).toEqual([]);
  };
  await usePage("social", use, { VA: 0, JP: 0 });
});

test("social: somebody registers, posts, and follows somebody", of("social"), async () => {
  await usePage("social", async (page) => {
    await join(page, "zoe");
    await page.fill("main textarea", "Hello @ada <b>#radical</b>");
    await page.click('button:text-is("Post")');
    await page.click('article a:text-is("@ada")');
    await page.waitForSelector('#followers b:text-is("4 followers")');
    await page.click('button[aria-label="Follow ada"]');
    await page.waitForSelector('#followers b:text-is("5 followers")');
    await page.click("#followers");
    await page.waitForSelector('h1:has-text("Who follows Ada")');
    expect(await page.locator("main li b").allTextContents()).toEqual(["Alan", "Barbara", "Edsger", "Grace", "Zoe"]);
    await page.click(".logo");
    await page.waitForSelector("main textarea");
    // Markup of the writer is text.
    expect(await page.textContent("article")).toContain("Hello @ada <b>#radical</b>");
  });
});

test("social: a registration whose answer is lost logs in", of("social"), async () => {
  await usePage("social", async (page) => {
    let losses = 1;
    await page.route("**/api/register", async (route) => {
      if (losses-- <= 0) return route.continue();
      await route.fetch();
      await route.abort("connectionreset");
    });
    await join(page, "zoe");
    expect(losses).toBeLessThan(0);
  });
});

test("social: a like is shown before it is confirmed, and taken back when it is refused", of("social"), async () => {
  const use = async (page: Page): Promise<void> => {
    await join(page, "zoe");
    await page.goto("/#/people/ada");
    const likes = "article:first-of-type .likes";
    await page.waitForSelector(likes);
    const look = "`${element.textContent} ${element.ariaBusy === 'true' ? '?' : '!'}`";
    const watch = `{
      const element = document.querySelector("${likes}");
      globalThis.states = [];
      // A live page may write the same once more.
      let last = ${look};
      new MutationObserver(() => {
        const state = ${look};
        if (state !== last) states.push((last = state));
      }).observe(element, { childList: true, attributes: true });
    }`;
    await page.evaluate(watch);
    const count = Number.parseInt((await page.textContent(likes))!);
    // The page is live: what the first call has done may come once more at any time, so that the replies below say the same.
    const [early, corrected] = [99, count + 1];
    const expected = [`${corrected} ?`, `${corrected} !`];
    const shown = async (): Promise<void> => {
      await page.waitForFunction(
        (most) => (globalThis as unknown as { readonly states: readonly string[] }).states.length >= most,
        expected.length,
      );
      expect(await page.evaluate<string[]>("states")).toEqual(expected);
    };
    await page.click("article:first-of-type button.like");
    await shown();

    // A like of before is still the reader's.
    await page.reload();
    await page.waitForSelector('article:first-of-type button.like[aria-pressed="true"]');
    await page.evaluate(watch);
    expected.length = 0;
    const replies = [
      { corrected: { result: corrected }, path: "near-storage" },
      { failed: { code: "no_such_post", message: "There is no post.", hint: "", status: 404 }, path: "near-storage" },
    ];
    await page.route(/\/api\/(?:un)?like$/, (route) => {
      const lines = [{ speculative: { result: early } }, replies.shift()].map((line) => `${JSON.stringify(line)}\n`);
      return route.fulfill({ contentType: "application/x-ndjson", body: lines.join("") });
    });
    for (const message of ["", "There is no post."]) {
      await page.click("article:first-of-type button.like");
      expected.push(`${early} ?`, `${corrected} !`);
      await shown();
      await page.waitForSelector(message === "" ? "#message:empty" : `#message:text-is("${message}")`, {
        state: "attached",
      });
    }
    // The next thing that somebody does takes the message away.
    await page.click(".logo");
    await page.waitForSelector("main textarea");
  };
  await usePage("social", use, { far: 100 });
});

test("hotel: somebody finds a hotel, books a room, and gives it back", of("hotel"), async () => {
  await usePage("hotel", async (page) => {
    await join(page, "zoe");
    await page.selectOption("[name=city]", "Lisbon");
    await page.click('button:text-is("Search")');
    await page.waitForSelector('article:has-text("Casa Alfama")');
    await page.selectOption("[name=city]", "Zürich");
    await page.click('button:text-is("Search")');
    await page.click('article a:text-is("Lindenhof")');
    await page.waitForSelector('li:has-text("Kunsthaus")');
    await page.fill("main textarea", "Quiet <b>nights</b>");
    await page.click('button:text-is("Review")');
    await page.waitForSelector('article:has-text("Quiet <b>nights</b>"):has-text("Zoe")');
    expect(await page.textContent("article .stars")).toBe("★★★★★");
    await page.click('button:text-is("Book")');
    await page.waitForSelector('article:has-text("Lindenhof"):has-text("Room 1, 2 nights")');
    await page.click('button:text-is("Cancel")');
    await page.waitForSelector("article", { state: "detached" });
    await page.waitForSelector('main:has-text("You have booked nothing yet.")');
  });
});

test("hotel: a render that ends late shows nothing over a later one", of("hotel"), async () => {
  await usePage("hotel", async (page) => {
    await page.waitForSelector(".card");
    const held: (() => void)[] = [];
    await page.route("**/api/search", async (route) => {
      if (held.length === 0) await new Promise<void>((resolve) => held.push(resolve));
      await route.continue();
    });
    const again = "dispatchEvent(new HashChangeEvent('hashchange'))";
    const [late] = await Promise.all([page.waitForRequest("**/api/search"), page.evaluate(again)]);
    await page.evaluate("document.querySelector('main h1').className = 'before'");
    await page.evaluate(again);
    await page.waitForSelector("main h1:not(.before)");
    await page.evaluate("document.querySelector('main h1').className = 'shown'");
    held[0]!();
    await (await late.response())!.finished();
    // The page has read an answer that came after it.
    await page.evaluate("fetch('/mark.svg').then((response) => response.text())");
    expect(await page.getAttribute("main h1", "class")).toBe("shown");
  });
});

test("forum: somebody submits a story, comments, and votes", of("forum"), async () => {
  await usePage("forum", async (page) => {
    await join(page, "zoe");
    await page.click("text=Submit a story");
    await page.fill("[name=title]", "A story of zoe");
    await page.fill("[name=text]", "Its text.");
    await page.click('button:text-is("Submit")');
    await page.fill("main > form.say textarea", "The first word");
    await page.click("main > form.say button");
    await page.click('article:has-text("The first word") button:text-is("Answer")');
    await page.fill('article:has-text("The first word") textarea', "The last word");
    await page.click('article:has-text("The first word") button:text-is("Comment")');
    await page.waitForSelector('article:has-text("The last word")');
    await page.click('article:has-text("A story of zoe") button[aria-label="Vote up"]');
    await page.waitForSelector('article:has-text("A story of zoe") .score:text-is("1")');
    await page.reload();
    await page.waitForSelector('article:has-text("A story of zoe") [aria-label="Vote up"][aria-pressed="true"]');
    expect(await page.textContent("main article h2 a")).toBe("A story of zoe");
    await page.click('article:has-text("A story of zoe") a:text-is("zoe")');
    await page.waitForSelector('main:has-text("a member since")');
    expect(await page.locator("article h2 a").allTextContents()).toEqual(["A story of zoe"]);
  });
});

test(
  "forum: two windows at two locations show each other's comments and votes, and what somebody types stays",
  of("forum"),
  async () => {
    await useTwoPages("forum", async (near, far) => {
      await join(near, "zoe");
      await join(far, "yan");
      await near.goto("/#/submit");
      await near.fill("[name=title]", "A story of zoe");
      await near.fill("[name=text]", "Its text.");
      await near.click('button:text-is("Submit")');
      await far.click('h2 a:text-is("A story of zoe")');
      await far.waitForSelector("main > form.say textarea");
      await near.fill("main > form.say textarea", "From near");
      await near.click("main > form.say button");
      await far.click('article:has-text("From near") button:text-is("Answer")');
      await far.fill('article:has-text("From near") textarea', "From f");
      await near.click('article:has-text("From near") button[aria-label="Vote up"]');
      await far.waitForSelector('article:has-text("From near") .score:text-is("1")');
      await far.locator('article:has-text("From near") textarea').pressSequentially("ar");
      await far.click('article:has-text("From near") button:text-is("Comment")');
      await near.waitForSelector('article:has-text("From far")');
      expect(await near.locator("article.comment > .text p").allTextContents()).toContain("From far");
    });
  },
);

test("social: two windows at two locations show each other's likes and follows of a person", of("social"), async () => {
  await useTwoPages("social", async (near, far) => {
    await join(near, "zoe");
    await join(far, "yan");
    await Promise.all([near, far].map((page) => page.goto("/#/people/ada")));
    await Promise.all([near, far].map((page) => page.waitForSelector('#followers b:text-is("4 followers")')));
    await near.click('button[aria-label="Follow ada"]');
    await far.waitForSelector('#followers b:text-is("5 followers")');
    await far.click('button[aria-label="Follow ada"]');
    await near.waitForSelector('#followers b:text-is("6 followers")');
    const likes = "article:first-of-type .likes";
    const count = Number.parseInt((await near.textContent(likes))!);
    await far.click("article:first-of-type button.like");
    await near.waitForSelector(`${likes}:text-is("${count + 1}")`);
    expect(await far.textContent(likes)).toBe(String(count + 1));
  });
});

test("images: somebody uploads an image, favours it, and finds it by its tags", of("images"), async () => {
  await usePage("images", async (page) => {
    await join(page, "zoe");
    await page.goto("/#/pools");
    await page.fill("main [name=name]", "Cats");
    await page.click('button:text-is("Make a pool")');
    await page.waitForSelector('main:has-text("It is empty")');
    await page.click('a:text-is("Publish")');
    await page.setInputFiles("[name=picture]", {
      name: "notes.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("no"),
    });
    await page.waitForSelector('#message:has-text("notes.txt can\'t be published")');
    const buffer = await page.locator(".logo").screenshot();
    await page.setInputFiles("[name=picture]", { name: "cat.png", mimeType: "image/png", buffer });
    await page.waitForSelector('.drop img[alt="Preview of cat.png"]:visible');
    expect(await page.textContent("#message")).toBe("");
    await page.fill("[name=tags]", "cat night");
    await page.click('button:text-is("Publish")');
    await page.click('button:text-is("Favourite")');
    await page.waitForSelector('#favourites:text-is("1 favourite")');
    await page.click('[aria-label="Vote up"]');
    await page.waitForSelector('.score:text-is("1")');
    await page.reload();
    await page.waitForSelector('[aria-label="Vote up"][aria-pressed="true"]');
    await page.waitForSelector('button:text-is("Favoured")');
    await page.fill("main textarea", "A <b>cat</b>");
    await page.click('button:text-is("Comment")');
    await page.waitForSelector('article:has-text("A <b>cat</b>")');
    await page.click('li a:text-is("cat")');
    await page.waitForSelector('article:has-text("black_cat")');
    await page.fill("[name=query]", "cat -black_cat fav:zoe");
    await page.click('button:text-is("Search")');
    await page.waitForSelector('article:has-text("black_cat")', { state: "detached" });
    await page.click('article:has-text("cat night") a');
    await page.waitForSelector('li:has-text("night")');
    // The bytes come from where they were put.
    const picture = page.locator("main img");
    await picture.evaluate("image => image.decode()");
    expect(await picture.getAttribute("alt")).toBe("cat night");
    expect(await picture.getAttribute("src")).toMatch(/\/blobs\/[0-9a-f]{64}$/);
    await page.click('button:text-is("Add")');
    await page.click('button:text-is("Take out")');
    await page.waitForSelector("article", { state: "detached" });
    await page.click('a:text-is("Pools")');
    await page.waitForSelector('li:has-text("Cats by zoe")');
  });
});

test("board: somebody makes a board, and adds, moves, assigns and edits a card", of("board"), async () => {
  await usePage("board", async (page) => {
    await join(page, "zoe");
    await page.fill("main [name=name]", "Garden");
    await page.click('button:text-is("Make a board")');
    await page.fill('section:has-text("To do") [name=title]', "Water the roses");
    await page.click('section:has-text("To do") button:text-is("Add")');
    await page.click('.column:has-text("To do") article button:text-is("→")');
    await page.click('.column:has-text("Doing") article a');
    await page.click('button:text-is("Assign to me")');
    await page.waitForSelector('button:text-is("Zoe ×")');
    await page.click("summary");
    await page.fill("[name=text]", "Before <b>noon</b>");
    await page.click('button:text-is("Save")');
    await page.waitForSelector('.text:has-text("Before <b>noon</b>")');
    await page.click(".logo");
    await page.waitForSelector('li:has-text("Water the roses")');
    expect(await page.locator('li:has-text("Water the roses") span').textContent()).toBe("Garden, Doing");
  });
});
