/**
 * `pnpm pictures [name …]`: takes the pictures of the running product that the documents show, after a build. The drawn pictures
 * come from `pnpm docs:reference`. Each picture shows real calls, so a second run gives other times.
 */
import process from "node:process";
import { openBrowser } from "./pictures/shots.ts";
import { SUBJECTS } from "./pictures/subjects.ts";

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in SUBJECTS));
if (unknown.length > 0) {
  console.error(
    `There is no picture "${unknown.join('", "')}". The pictures are: ${Object.keys(SUBJECTS).join(", ")}.`,
  );
  process.exitCode = 1;
} else {
  const browser = await openBrowser();
  try {
    for (const [name, take] of Object.entries(SUBJECTS))
      if (names.length === 0 || names.includes(name)) await take(browser);
  } finally {
    await browser.close();
  }
}
