/** The views of the templates' pages, with the data of their seeds. */
import type { Page } from "playwright-core";

export interface TemplateView {
  readonly hash: string;
  /** It is there once the view is. */
  readonly shown: string;
  /** Somebody has to be logged in. */
  readonly isOwn?: boolean;
}

export const VIEWS = {
  board: [
    { hash: "#/", shown: "main p" },
    { hash: "#/login", shown: "form.register" },
    { hash: "#/", shown: "form.inline", isOwn: true },
    { hash: "#/boards/40000000-0000-4000-8000-000000000000", shown: ".column", isOwn: true },
    { hash: "#/cards/50000000-0000-4000-8000-000000000003", shown: "summary", isOwn: true },
  ],
  forum: [
    { hash: "#/", shown: ".story" },
    { hash: "#/newest", shown: ".story" },
    { hash: "#/people/ada", shown: ".member" },
    { hash: "#/stories/8000019b77488500-20000000-0000-4000-8000-000000000001", shown: ".comment" },
    { hash: "#/", shown: ".story .vote", isOwn: true },
    { hash: "#/stories/8000019b77488500-20000000-0000-4000-8000-000000000001", shown: ".comment .vote", isOwn: true },
    { hash: "#/submit", shown: "form.submit", isOwn: true },
  ],
  hotel: [
    { hash: "#/", shown: ".card" },
    { hash: "#/hotels/kyoto-gion-lane", shown: "main article" },
    { hash: "#/hotels/kyoto-gion-lane", shown: "main textarea", isOwn: true },
    { hash: "#/bookings", shown: "h1", isOwn: true },
  ],
  images: [
    { hash: "#/", shown: ".tile" },
    { hash: "#/images/6", shown: ".said" },
    { hash: "#/pools", shown: ".pools li" },
    { hash: "#/pools/30000000-0000-4000-8000-000000000000", shown: ".tile" },
    { hash: "#/images/6", shown: ".vote", isOwn: true },
    { hash: "#/upload", shown: "form.publish", isOwn: true },
  ],
  social: [
    { hash: "#/", shown: "ul.people" },
    { hash: "#/people/ada", shown: ".post" },
    { hash: "#/people/ada/followers", shown: ".rows li" },
    { hash: "#/", shown: ".post .like", isOwn: true },
    { hash: "#/people/grace", shown: ".person button", isOwn: true },
  ],
} as const satisfies Readonly<Record<string, readonly TemplateView[]>>;

export type TemplateWithPage = keyof typeof VIEWS;

/** Logs in as somebody of the seed. */
export async function beAda(page: Page): Promise<void> {
  await page.goto("/#/login");
  await page.fill("form.login [name=name]", "ada");
  await page.fill("form.login [name=password]", "correct horse");
  await page.click("form.login button");
  await page.waitForSelector('.reader[aria-label="Your page, ada"]');
}

export async function openView(page: Page, { hash, shown }: TemplateView): Promise<void> {
  await page.goto(`/${hash}`);
  await page.waitForSelector(shown);
}
