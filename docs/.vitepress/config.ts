/** The site of these documents: `pnpm docs:dev`, `pnpm docs:build`. `scripts/docs` has the other checks. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { defineConfig } from "vitepress";
import { llmsFull, llmsIndex } from "../../scripts/docs/llms.ts";
import { anchorsOf, slugOf } from "../../scripts/docs/markdown.ts";
import { DOCS, allPages, readPage, sections, siteFile } from "../../scripts/docs/pages.ts";
import { repositoryPage } from "../../scripts/docs/repository.ts";

const README = /(^|\/)README\.md(?=#|$)/;

/** These sections of the side bar are shut at first: few who use Radical read them. */
const SHUT = new Set(["Internals", "Measurements", "Decisions"]);

const manifest = JSON.parse(readFileSync(path.join(DOCS, "../package.json"), "utf8")) as {
  readonly repository?: string;
};
const repositoryUrl = repositoryPage(process.env, manifest);

function linkOf(page: string): string {
  return `/${siteFile(page).replace(/(?:index)?\.md$/, "")}`;
}

export default defineConfig({
  title: "Radical",
  description: "Request handlers close to users, with strong consistency",
  srcExclude: ["examples/**"],
  // Documents are read on GitHub too, where a folder shows its README.
  rewrites: Object.fromEntries(allPages().map((page) => [page, siteFile(page)])),
  metaChunk: true,
  head: [["link", { rel: "icon", href: "/mark.svg" }]],
  markdown: {
    anchor: { slugify: slugOf },
    config: (markdown) => {
      markdown.core.ruler.push("readme_is_index", ({ tokens }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.attrGet("href");
          if (target !== null && !/^[a-z]+:/i.test(target)) token.attrSet("href", target.replace(README, "$1index.md"));
        }
      });
      markdown.core.ruler.push("numbers_keep_their_units", ({ tokens }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? []))
          if (token.type === "text")
            token.content = token.content.replaceAll(/(\d) (?=(?:%|×|[µm]?s|min|[kKMG]i?B)(?![\p{L}]))/gu, "$1\u{a0}");
      });
      markdown.core.ruler.push("page_as_markdown", ({ tokens, env, Token }) => {
        const { path: file } = env as { readonly path?: string };
        if (file === undefined) return;
        const link = new Token("html_block", "", 0);
        // The site has each page's text under the name of its file: see the end of the build.
        link.content = `<p class="page-source"><a href="./${path.basename(file)}" target="_self">This page as Markdown</a></p>\n`;
        tokens.push(link);
      });
    },
  },
  // On the site the front page has a layout of its own; on GitHub it is a page like the others.
  transformPageData: ({ relativePath }) =>
    relativePath === "index.md"
      ? {
          frontmatter: { layout: "doc", pageClass: "home", sidebar: false, aside: false, prev: false, next: false },
          title: "Radical",
          titleTemplate: ":title: strong consistency, next to your users",
        }
      : {},
  themeConfig: {
    logo: "/mark.svg",
    nav: [
      { text: "Quickstart", link: linkOf("quickstart.md") },
      { text: "Tutorial", link: linkOf("tutorial.md") },
      { text: "Concepts", link: linkOf("concepts/request.md") },
      { text: "How-to", link: linkOf("handlers.md") },
      { text: "Reference", link: linkOf("cli.md") },
      { text: "Operations", link: linkOf("deploy.md") },
      { text: "Limits", link: linkOf("limits.md") },
    ],
    ...(repositoryUrl === null
      ? {}
      : {
          socialLinks: [{ icon: "github", link: repositoryUrl, ariaLabel: "Source" }],
          editLink: {
            pattern: ({ filePath }: { readonly filePath: string }) => `${repositoryUrl}/blob/HEAD/docs/${filePath}`,
            text: "The source of this page",
          },
        }),
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: {
            // Guides come before pages about Radical itself, and before the pages of single diagnostics.
            boostDocument: (id: string) =>
              /^\/(?:internals|decisions|evaluation)/.test(id) ? 0.2 : /^\/diagnostics\/./.test(id) ? 0.4 : 1,
          },
        },
        // The index has words only, so code need not be coloured for it: a sixth of the whole build.
        _render: (source, env, markdown) => {
          const { highlight } = markdown.options;
          markdown.options.highlight = null;
          try {
            return markdown.render(source, env);
          } finally {
            markdown.options.highlight = highlight ?? null;
          }
        },
      },
    },
    outline: [2, 3],
    sidebar: sections().map(({ title, entries }) => ({
      text: title,
      collapsed: SHUT.has(title),
      items: entries.map(({ text, page }) => ({ text, link: linkOf(page) })),
    })),
  },
  buildEnd: ({ outDir }) => {
    for (const page of allPages()) {
      const html = readFileSync(path.join(outDir, siteFile(page).replace(/\.md$/, ".html")), "utf8");
      // The check of links reads anchors off the Markdown; here are those that the site has made.
      const missing = anchorsOf(readPage(page)).filter((anchor) => !html.includes(`id="${anchor}"`));
      if (missing.length > 0) throw new Error(`${page}: the site lacks the anchors ${missing.join(", ")}`);
      cpSync(path.join(DOCS, page), path.join(outDir, page));
    }
    writeFileSync(path.join(outDir, "llms.txt"), llmsIndex(sections()));
    writeFileSync(path.join(outDir, "llms-full.txt"), llmsFull(sections()));
  },
});
