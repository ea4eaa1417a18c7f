/** The site of these documents: `pnpm docs:dev`, `pnpm docs:build`. What is checked besides is in `scripts/docs`. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "vitepress";
import { llmsFull, llmsIndex } from "../../scripts/docs/llms.ts";
import { anchorsOf, slugOf } from "../../scripts/docs/markdown.ts";
import { DOCS, allPages, readPage, sections, siteFile } from "../../scripts/docs/pages.ts";

const README = /(^|\/)README\.md(?=#|$)/;

export default defineConfig({
  title: "Radical",
  description: "Request handlers close to users, with strong consistency",
  srcExclude: ["examples/**"],
  // Documents are read on GitHub too, where a folder shows its README.
  rewrites: Object.fromEntries(allPages().map((page) => [page, siteFile(page)])),
  metaChunk: true,
  markdown: {
    anchor: { slugify: slugOf },
    config: (markdown) => {
      markdown.core.ruler.push("readme_is_index", ({ tokens }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.attrGet("href");
          if (target !== null && !/^[a-z]+:/i.test(target)) token.attrSet("href", target.replace(README, "$1index.md"));
        }
      });
    },
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
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
      items: entries.map(({ text, page }) => ({ text, link: `/${siteFile(page).replace(/(?:index)?\.md$/, "")}` })),
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
