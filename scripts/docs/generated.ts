/**
 * Parts of the pages that are made from the code: what stands between `<!-- from: <source> [argument] -->` and
 * `<!-- end -->`. `pnpm docs:reference` writes them; a test fails while a page is not what its sources say.
 */

/** Makes the Markdown of a part, from the argument in its mark. */
export type Source = (argument: string) => string;

const PART = /<!-- from: ([\w-]+)(?: ([^\n]*?))? -->\n(?:[^]*?\n)??<!-- end -->/g;

/** The page as its sources have it. Throws for a source that there is not. */
export function withGenerated(page: string, sources: Readonly<Record<string, Source>>): string {
  return page.replace(PART, (_, name: string, argument: string | undefined) => {
    const source = sources[name];
    if (source === undefined) throw new Error(`there is no source "${name}" of documents`);
    const mark = argument === undefined ? name : `${name} ${argument}`;
    return `<!-- from: ${mark} -->\n\n${source(argument ?? "").trim()}\n\n<!-- end -->`;
  });
}
