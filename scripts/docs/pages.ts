/** The pages of the site, and where each one stands in its sidebar. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { titleOf } from "./markdown.ts";

export const DOCS = fileURLToPath(new URL("../../docs/", import.meta.url));

export interface Entry {
  readonly text: string;
  /** The page, from the folder of documents: `how-to/auth.md`. */
  readonly page: string;
}

export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

const DIAGNOSTICS = "diagnostics";

/** All pages, from the folder of documents, sorted. */
export function allPages(): readonly string[] {
  return globSync("**/*.md", { cwd: DOCS, exclude: ["examples/**", "node_modules/**"] })
    .map((file) => file.split(path.sep).join("/"))
    .toSorted();
}

/** Those that have parts which are made from the code or from results, with the front page of the repository. */
export function generatedPages(): readonly string[] {
  return [...allPages(), "../README.md"].filter((page) => readPage(page).includes("<!-- from:"));
}

export function readPage(page: string): string {
  return readFileSync(path.join(DOCS, page), "utf8");
}

/** The pages of a folder but its index. */
export function pagesUnder(folder: string): readonly string[] {
  return allPages().filter((page) => page.startsWith(`${folder}/`) && !page.endsWith("/README.md"));
}

/** The sections of the site by kind. A page that none of them has, but those that an index lists, is an error of the build. */
export function sections(): readonly Section[] {
  const pages = allPages();
  const titled = (page: string): Entry => ({ text: titleOf(readPage(page)), page });
  const pagesOf = (folder: string): readonly Entry[] => pagesUnder(folder).map((page) => titled(page));
  const section = (title: string, ...names: readonly string[]): Section => ({
    title,
    entries: names.map((name) => titled(`${name}.md`)),
  });
  const found: readonly Section[] = [
    section("Start", "README", "quickstart", "tutorial"),
    section("Concepts", "concepts/request", "concepts/guarantees", "concepts/failures", "analysis", "caches"),
    section(
      "How-to",
      ...[
        "editor",
        "auth",
        "tables",
        "shared-objects",
        "dates",
        "log",
        "testing",
        "vite",
        "benchmark",
        "ci",
        "look-after",
        "rotate-keys",
      ].map((name) => `how-to/${name}`),
      "dashboard",
      "live-queries",
      "worker",
      "deploy",
      "operations",
    ),
    section(
      "Reference",
      "handlers",
      "language",
      "cli",
      "command-line",
      "configuration",
      "http",
      "errors",
      `${DIAGNOSTICS}/README`,
    ),
    section("Limits", "limits", "when-not", "evaluation", "costs", "security", "migrate-away"),
    { title: "Decisions", entries: [titled("decisions/README.md"), ...pagesOf("decisions")] },
    { title: "Internals", entries: pagesOf("internals") },
  ];
  const known = new Set([
    ...found.flatMap(({ entries }) => entries.map(({ page }) => page)),
    ...pagesUnder(DIAGNOSTICS),
  ]);
  const lost = pages.filter((page) => !known.has(page));
  if (lost.length > 0) throw new Error(`no section of the site has these pages: ${lost.join(", ")}`);
  return found;
}

/** The pictures, each as the file it is drawn from and the one that is shown, with what the first one says. */
export function pictures(): readonly { readonly file: string; readonly source: string }[] {
  return globSync("pictures/*.txt", { cwd: DOCS }).map((text) => ({
    file: path.join(DOCS, text.replace(/\.txt$/, ".svg")),
    source: readFileSync(path.join(DOCS, text), "utf8"),
  }));
}

/** What the site calls a page: a folder's README is its index. */
export function siteFile(page: string): string {
  return page.replace(/(^|\/)README\.md$/, "$1index.md");
}
