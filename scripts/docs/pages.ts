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
const RUNBOOKS = "runbooks";
const MEASUREMENTS = "internals/measurements";

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
  const inFolder = (title: string, folder: string): Section => ({
    title,
    entries: [titled(`${folder}/README.md`), ...pagesOf(folder)],
  });
  const found: readonly Section[] = [
    {
      title: "Start",
      entries: [
        { text: "What Radical is", page: "README.md" },
        titled("quickstart.md"),
        titled("tutorial.md"),
        titled("templates.md"),
      ],
    },
    section(
      "Concepts",
      "concepts/request",
      "concepts/guarantees",
      "concepts/failures",
      "analysis",
      "caches",
      "when-not",
    ),
    section(
      "How-to",
      "handlers",
      "how-to/dev",
      "dashboard",
      ...["tables", "pagination", "holds", "shared-objects", "blobs", "dates", "log"].map((name) => `how-to/${name}`),
      "live-queries",
      "worker",
      ...[
        "auth",
        "sessions",
        "rate-limits",
        "effects",
        "mail",
        "cron-triggers",
        "vite",
        "editor",
        "testing",
        "ci",
        "benchmark",
        "upgrade",
      ].map((name) => `how-to/${name}`),
      "migrate-away",
    ),
    section("Reference", "cli", "sdk", "language", "http", "errors", `${DIAGNOSTICS}/README`, "limits"),
    section(
      "Operations",
      "deploy",
      "operations",
      `${RUNBOOKS}/README`,
      "capacity",
      "how-to/look-after",
      "how-to/traces",
      "how-to/rotate-keys",
      "how-to/restore",
      "security",
      "personal-data",
      "costs",
    ),
    section("Measured", "evaluation"),
    { title: "Internals", entries: pagesOf("internals").filter(({ page }) => !page.startsWith(`${MEASUREMENTS}/`)) },
    { title: "Measurements", entries: pagesOf(MEASUREMENTS) },
    inFolder("Decisions", "decisions"),
  ];
  const known = new Set([
    ...found.flatMap(({ entries }) => entries.map(({ page }) => page)),
    ...pagesUnder(DIAGNOSTICS),
    ...pagesUnder(RUNBOOKS),
  ]);
  const lost = pages.filter((page) => !known.has(page));
  if (lost.length > 0) throw new Error(`no section of the site has these pages: ${lost.join(", ")}`);
  return found;
}

/** The name of a page on the site: a folder's README is its index. */
export function siteFile(page: string): string {
  return page.replace(/(^|\/)README\.md$/, "$1index.md");
}
