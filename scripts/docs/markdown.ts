/** Reads a page of Markdown for the checks of the documents: headings with their anchors, and links. */

export interface Link {
  readonly line: number;
  readonly target: string;
}

/**
 * The anchor of a heading as GitHub makes it. The site is told to make the same, so that a link works in both places.
 * Of equal anchors of a page the second one ends in `-1`.
 */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** The lines of a page, with those of code blocks and the content of comments emptied. */
function linesOutsideCode(page: string): readonly string[] {
  let fence: string | null = null;
  return page
    .replace(/<!--[^]*?-->/g, (comment) => comment.replace(/[^\n]/g, ""))
    .split("\n")
    .map((line) => {
      const [, mark = null] = /^\s*(`{3,}|~{3,})/.exec(line) ?? [];
      if (fence === null && mark === null) return line;
      if (fence === null) fence = mark;
      else if (mark?.startsWith(fence) === true) fence = null;
      return "";
    });
}

/** The text of a heading without its marks. */
function plainText(markdown: string): string {
  return markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__)(.*?)\1/g, "$2")
    .replace(/(?<!\w)([*_])(?!\s)(.*?)\1(?!\w)/g, "$2")
    .replaceAll("`", "");
}

/** The page's first heading. */
export function titleOf(page: string): string {
  return plainText(/^# (.*)$/m.exec(page)?.[1] ?? "");
}

/** The anchors of a page, in order. */
export function anchorsOf(page: string): readonly string[] {
  const counts = new Map<string, number>();
  return linesOutsideCode(page).flatMap((line) => {
    const [, heading] = /^#{1,6} +(.*?)(?: +#+)?$/.exec(line) ?? [];
    if (heading === undefined) return [];
    const slug = slugOf(plainText(heading));
    const before = counts.get(slug) ?? 0;
    counts.set(slug, before + 1);
    return [before === 0 ? slug : `${slug}-${before}`];
  });
}

/** The links and pictures of a page, with what they name. */
export function linksOf(page: string): readonly Link[] {
  return linesOutsideCode(page).flatMap((text, index) => {
    const prose = text.replace(/(`+)(?!`).*?\1/g, "");
    return [...prose.matchAll(/\]\(<?([^)\s>]+)>?\)/g)].map(([, target = ""]) => ({ line: index + 1, target }));
  });
}
