/** Pictures of pages, small enough to be committed. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import chromium from "@sparticuz/chromium";
import { type Browser, type BrowserContext, chromium as chromiumOf, type Page } from "playwright-core";
import { DOCS } from "../docs/pages.ts";

export const MAX_PICTURE_BYTES = 60_000;

export type Screen = "desktop" | "phone";

const SCREENS = {
  desktop: { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 },
  // Twice as many dots, as phones have.
  phone: { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 },
} as const;

export function openBrowser(): Promise<Browser> {
  return chromium.executablePath().then((executablePath) =>
    chromiumOf.launch({
      executablePath,
      args: ["--headless=shell", "--no-sandbox", "--disable-gpu", "--disable-quic"],
      timeout: 200_000,
    }),
  );
}

/** Uses a new window of a screen, and closes it. Nothing moves in it. */
export async function inWindow(
  browser: Browser,
  screen: Screen,
  use: (page: Page, context: BrowserContext) => Promise<void>,
  colorScheme: "light" | "dark" = "light",
): Promise<void> {
  const context = await browser.newContext({ ...SCREENS[screen], colorScheme, reducedMotion: "reduce" });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(100_000);
    await use(page, context);
  } finally {
    await context.close();
  }
}

const BEST_QUALITY = 92;
const LEAST_QUALITY = 32;

/** Writes the visible part of a page as `docs/pictures/<name>.webp`, in the best quality that is small enough. */
export async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate("document.fonts.ready.then(() => undefined)");
  const session = await page.context().newCDPSession(page);
  for (let quality = BEST_QUALITY; quality >= LEAST_QUALITY; quality -= 6) {
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality });
    const bytes = Buffer.from(data, "base64");
    if (bytes.byteLength > MAX_PICTURE_BYTES) continue;
    const file = path.join(DOCS, "pictures", `${name}.webp`);
    writeFileSync(file, bytes);
    console.log(`${path.relative(process.cwd(), file)}: ${Math.round(bytes.byteLength / 1000)} kB, quality ${quality}`);
    return;
  }
  throw new Error(`The picture ${name} takes more than ${MAX_PICTURE_BYTES} bytes in any quality. Show less on it.`);
}
