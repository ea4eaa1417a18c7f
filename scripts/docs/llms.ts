/**
 * Texts for programs that write code with Radical. `llms.txt` lists all pages with their subjects. `llms-full.txt` has
 * the text of the pages that tell how Radical is used.
 */
import { titleOf } from "./markdown.ts";
import { type Section, pagesUnder, readPage } from "./pages.ts";

const ABOUT =
  "Radical runs request handlers close to users with strong consistency. Handlers are AssemblyScript functions over tables; " +
  "each execution is one strictly serializable transaction.";

/** Not needed to use Radical. */
const INTERNAL = /^(?:internals|decisions)\//;

/** The first paragraph of a page, on one line. */
function firstParagraph(page: string): string {
  const paragraphs = page.split(/\n\s*\n/).map((text) => text.trim());
  const found = paragraphs.find((text) => text !== "" && !/^(?:#|```|\||<|\*|!\[|\d+\. )/.test(text)) ?? "";
  const plain = found.replace(/\s+/g, " ").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
  return /^.*?[.:](?=\s|$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain;
}

export function llmsIndex(sections: readonly Section[]): string {
  const parts = sections.map(({ title, entries }) => {
    const lines = entries.map(({ text, page }) => `- [${text}](/${page}): ${firstParagraph(readPage(page))}`);
    return `## ${title}\n\n${lines.join("\n")}\n`;
  });
  return `# Radical\n\n> ${ABOUT}\n\nEach page is also there as Markdown, under the addresses below.\n\n${parts.join("\n")}`;
}

export function llmsFull(sections: readonly Section[]): string {
  const pages = sections.flatMap(({ entries }) => entries.map(({ page }) => page));
  return [...pages, ...pagesUnder("diagnostics"), ...pagesUnder("runbooks")]
    .filter((page) => !INTERNAL.test(page))
    .map((page) => `<!-- /${page}: ${titleOf(readPage(page))} -->\n\n${readPage(page).trim()}\n`)
    .join("\n");
}
