/**
 * The code that the pages for users show. A test compiles or runs each piece of TypeScript, JavaScript or shell.
 * `snippets.test.ts` has the rule.
 */

export interface Snippet {
  /** `how-to/mail.md:12`. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
  /** The file that a generated part shows, or null. */
  readonly file: string | null;
}

const LANGUAGES = new Set(["ts", "js", "sh"]);
const PART = /^<!-- from: code ([^\s#]+)\S* -->$/;

/** The pieces of code of a page of Markdown, in their order. */
export function snippetsOf(page: string, text: string): readonly Snippet[] {
  const found: Snippet[] = [];
  let file: string | null = null;
  let open: { readonly language: string; readonly line: number; readonly lines: string[] } | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    if (open !== null) {
      if (!/^\s*```$/.test(line)) open.lines.push(line);
      else {
        if (LANGUAGES.has(open.language)) {
          const code = `${open.lines.join("\n")}\n`;
          found.push({ place: `${page}:${open.line}`, language: open.language, text: code, file });
        }
        open = null;
      }
      continue;
    }
    const [, language] = /^\s*```(\w*)$/.exec(line) ?? [];
    if (language !== undefined) open = { language, line: index + 1, lines: [] };
    else if (line === "<!-- end -->") file = null;
    else if (PART.test(line)) file = PART.exec(line)?.[1] ?? null;
  }
  return found;
}

/** The commands of a piece of shell, without comments, variables before them, and what a pipe feeds them. */
export function commandsOf(text: string): readonly (readonly string[])[] {
  return (
    text
      .replaceAll("\\\n", " ")
      .split("\n")
      .flatMap((line) => line.replace(/(^|\s+)#.*$/, "").split(/\s*(?:&&|\|(?!\|)|&$)\s*/))
      // Without the file that its output goes to.
      .map((command) => (command.replace(/\s>\s*\S+$/, "").match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map(String))
      .map((words) =>
        words.slice(
          Math.max(
            0,
            words.findIndex((word) => !/^[A-Z_]+=/.test(word)),
          ),
        ),
      )
      .filter((words) => words.length > 0)
  );
}
