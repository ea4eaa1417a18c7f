/** The templates' pages, as people use them: in a real browser, with the application behind it. */
import { fileURLToPath } from "node:url";
import { startTestApp } from "../../packages/cli/src/testing.ts";
import chromium from "@sparticuz/chromium";
import { drawn } from "../../packages/command-line/src/short-tier.ts";
import { type Browser, type Page, chromium as chromiumOf } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

const templates = drawn("pages of the templates", ["board", "forum", "hotel", "images", "social"], 1);
/** Of a test. */
const of = (template: string): { readonly skip: boolean } => ({ skip: !templates.includes(template) });

let browser: Browser;

beforeAll(async () => {
  browser = await chromiumOf.launch({
    executablePath: await chromium.executablePath(),
    args: ["--headless=shell", "--no-sandbox", "--disable-gpu", "--disable-quic"],
    timeout: 200_000,
  });
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

async function register(page: Page, name: string): Promise<void> {
  await page.fill("#session [name=name]", name);
  await page.fill("#session [name=password]", "correct horse");
  await page.click("text=Register");
  await page.waitForSelector(`#session b:text-is("${name}")`);
}

test("social: somebody registers, posts, and follows somebody", of("social"), async () => {
  await usePage("social", async (page) => {
    await register(page, "zoe");
    await page.fill("main textarea", "Hello @ada <b>#radical</b>");
    await page.click("text=Post");
    await page.click('article a:text-is("@ada")');
    await page.waitForSelector("#followers");
    expect(await page.textContent("#followers")).toBe("4 followers");
    await page.click('button:text-is("Follow")');
    await page.waitForSelector('#followers:text-is("5 followers")');
    await page.click("#followers");
    await page.waitForSelector('h2:has-text("Who follows ada")');
    expect(await page.locator("main li").allTextContents()).toEqual(["alan", "barbara", "edsger", "grace", "zoe"]);
    await page.click("h1 a");
    await page.waitForSelector("main textarea");
    // Markup of the writer is text.
    expect(await page.textContent("article")).toContain("Hello @ada <b>#radical</b>");
  });
});

/** The number of likes, as the page has it. */
function likesOf(count: number): string {
  return count === 1 ? "1 like" : `${count} likes`;
}

test("social: a like is shown before it is confirmed, and taken back when it is refused", of("social"), async () => {
  const use = async (page: Page): Promise<void> => {
    await register(page, "zoe");
    await page.goto("/#/people/ada");
    const likes = "article:first-of-type div.row span";
    await page.waitForSelector(likes);
    const look = "`${element.textContent} ${element.ariaBusy === 'true' ? '?' : '!'}`";
    await page.evaluate(`{
      const element = document.querySelector("${likes}");
      globalThis.states = [];
      new MutationObserver(() => {
        const state = ${look};
        if (state !== states.at(-1)) states.push(state);
      }).observe(element, { childList: true, attributes: true });
    }`);
    const count = Number.parseInt((await page.textContent(likes))!);
    // The page is live: what the first call has done may come once more at any time, so that the replies below say the same.
    const [early, corrected] = [99, count + 1];
    const expected = [`${likesOf(corrected)} ?`, `${likesOf(corrected)} !`];
    const shown = async (): Promise<void> => {
      await page.waitForFunction(`states.length >= ${expected.length}`);
      expect(await page.evaluate<string[]>("states")).toEqual(expected);
    };
    await page.click('article:first-of-type button:text-is("Like")');
    await shown();

    const replies = [
      { corrected: { result: corrected }, path: "near-storage" },
      { failed: { code: "no_such_post", message: "There is no post.", hint: "", status: 404 }, path: "near-storage" },
    ];
    await page.route("**/api/like", (route) => {
      const lines = [{ speculative: { result: early } }, replies.shift()].map((line) => `${JSON.stringify(line)}\n`);
      return route.fulfill({ contentType: "application/x-ndjson", body: lines.join("") });
    });
    for (const message of ["", "There is no post."]) {
      await page.click('article:first-of-type button:text-is("Like")');
      expected.push(`${likesOf(early)} ?`, `${likesOf(corrected)} !`);
      await shown();
      await page.waitForFunction(`document.querySelector("#message").textContent === "${message}"`);
    }
    // The next thing that somebody does takes the message away.
    await page.click("h1 a");
    await page.waitForSelector("main textarea");
  };
  await usePage("social", use, { far: 100 });
});

test("hotel: somebody finds a hotel, books a room, and gives it back", of("hotel"), async () => {
  await usePage("hotel", async (page) => {
    await register(page, "zoe");
    // The page is made anew for a guest: a choice in the one before would be lost.
    await page.waitForSelector('a:text-is("My bookings")');
    await page.selectOption("[name=city]", "Lisbon");
    await page.click('button:text-is("Search")');
    await page.waitForSelector('article:has-text("Casa Alfama")');
    await page.selectOption("[name=city]", "Zürich");
    await page.click('button:text-is("Search")');
    await page.click('article a:has-text("Lindenhof")');
    await page.waitForSelector('li:has-text("Kunsthaus")');
    await page.click('button:text-is("Book")');
    await page.waitForSelector('article:has-text("Lindenhof"):has-text("room 1, 2 nights")');
    await page.click('button:text-is("Cancel")');
    await page.waitForSelector("article", { state: "detached" });
    expect(await page.textContent("main > p")).toBe("You have booked nothing yet.");
  });
});

test("forum: somebody submits a story, comments, and votes", of("forum"), async () => {
  await usePage("forum", async (page) => {
    await register(page, "zoe");
    await page.click("text=Submit a story");
    await page.fill("[name=title]", "A story of zoe");
    await page.fill("main textarea", "Its text.");
    await page.click('button:text-is("Submit")');
    await page.fill('[placeholder="What do you say?"]', "The first word");
    await page.click('button:text-is("Comment")');
    await page.click('article:has-text("The first word") button:text-is("Answer")');
    await page.fill('article:has-text("The first word") textarea', "The last word");
    await page.click('article:has-text("The first word") button:text-is("Comment")');
    await page.waitForSelector('article:has-text("The last word")');
    await page.click('article:has-text("A story of zoe") button:text-is("▲")');
    await page.waitForSelector('article:has-text("A story of zoe") .score:text-is("1")');
    expect(await page.textContent("main article a[href^='#/stories']")).toBe("A story of zoe");
    await page.click('article:has-text("A story of zoe") a:text-is("zoe")');
    await page.waitForSelector('main:has-text("a member since")');
    expect(await page.locator("article b").allTextContents()).toEqual(["A story of zoe"]);
  });
});

test(
  "forum: two windows at two locations show each other's comments and votes, and what somebody types stays",
  of("forum"),
  async () => {
    await useTwoPages("forum", async (near, far) => {
      await register(near, "zoe");
      await register(far, "yan");
      await near.goto("/#/submit");
      await near.fill("[name=title]", "A story of zoe");
      await near.fill("main textarea", "Its text.");
      await near.click('button:text-is("Submit")');
      await far.click('b:text-is("A story of zoe")');
      await far.waitForSelector('[placeholder="What do you say?"]');
      await near.fill('[placeholder="What do you say?"]', "From near");
      await near.click('button:text-is("Comment")');
      await far.click('article:has-text("From near") button:text-is("Answer")');
      await far.fill('article:has-text("From near") textarea', "From f");
      await near.click('article:has-text("From near") button:text-is("▲")');
      await far.waitForSelector('article:has-text("From near") .score:text-is("1")');
      await far.locator('article:has-text("From near") textarea').pressSequentially("ar");
      await far.click('article:has-text("From near") button:text-is("Comment")');
      await near.waitForSelector('article:has-text("From far")');
      expect(await near.locator("article:has(.score) div:first-of-type").allTextContents()).toContain("From far");
    });
  },
);

test("social: two windows at two locations show each other's likes and follows of a person", of("social"), async () => {
  await useTwoPages("social", async (near, far) => {
    await register(near, "zoe");
    await register(far, "yan");
    await Promise.all([near, far].map((page) => page.goto("/#/people/ada")));
    await Promise.all([near, far].map((page) => page.waitForSelector('#followers:text-is("4 followers")')));
    await near.click('button:text-is("Follow")');
    await far.waitForSelector('#followers:text-is("5 followers")');
    await far.click('button:text-is("Follow")');
    await near.waitForSelector('#followers:text-is("6 followers")');
    const likes = "article:first-of-type .likes";
    const count = Number.parseInt((await near.textContent(likes))!);
    await far.click('article:first-of-type button:text-is("Like")');
    await near.waitForSelector(`${likes}:text-is("${likesOf(count + 1)}")`);
    expect(await far.textContent(likes)).toBe(likesOf(count + 1));
  });
});

test("images: somebody uploads an image, favours it, and finds it by its tags", of("images"), async () => {
  await usePage("images", async (page) => {
    await register(page, "zoe");
    await page.click("text=Upload");
    await page.fill("[name=url]", "/pictures/cat.svg");
    await page.fill("[name=width]", "160");
    await page.fill("[name=height]", "120");
    await page.fill("[name=tags]", "cat night");
    await page.click('button:text-is("Publish")');
    await page.click('button:text-is("Favourite")');
    await page.waitForSelector('#favourites:text-is("1 favourite")');
    await page.click('li a:text-is("cat")');
    await page.waitForSelector('section:has-text("black_cat")');
    await page.fill("[name=query]", "cat -black_cat fav:zoe");
    await page.click('button:text-is("Search")');
    await page.waitForSelector('section:has-text("black_cat")', { state: "detached" });
    await page.click('section:has-text("cat night") a');
    await page.waitForSelector('li:has-text("night")');
    // The picture is one of the page's own files.
    await page.waitForFunction("document.querySelector('main img').naturalWidth > 0");
    expect(await page.getAttribute("main img", "alt")).toBe("cat night");
    const words = (await page.textContent("main p small"))!;
    const [, number] = /^Number (\d+)/.exec(words) ?? [];
    await page.click("h1 a");
    await page.click('a:text-is("Pools")');
    await page.fill("[name=name]", "Cats");
    await page.click('button:text-is("Make a pool")');
    await page.fill("[name=image]", number!);
    await page.click('button:text-is("Add")');
    await page.waitForSelector('section:has-text("cat night")');
    await page.click('section button:text-is("✕")');
    await page.waitForSelector("section", { state: "detached" });
    await page.click("h1 a");
    await page.click('a:text-is("Pools")');
    await page.waitForSelector('li:has-text("Cats by zoe")');
  });
});

test("board: somebody makes a board, and adds, moves, assigns and edits a card", of("board"), async () => {
  await usePage("board", async (page) => {
    await register(page, "zoe");
    await page.fill("[name=name]", "Garden");
    await page.click('button:text-is("Make a board")');
    await page.fill('section:has-text("To do") [name=title]', "Water the roses");
    await page.click('section:has-text("To do") button:text-is("Add")');
    await page.click('section:has-text("To do") article button:text-is("▶")');
    await page.click('section:has-text("Doing") article a');
    await page.click('button:text-is("Assign to me")');
    await page.waitForSelector('button:text-is("zoe ✕")');
    await page.fill("[name=text]", "Before <b>noon</b>");
    await page.click('button:text-is("Save")');
    await page.waitForSelector('p:text-is("Before <b>noon</b>")');
    await page.click("h1 a");
    await page.waitForSelector('li:has-text("Water the roses")');
    expect(await page.textContent('li:has-text("Water the roses")')).toBe("Water the roses Garden, Doing");
  });
});
