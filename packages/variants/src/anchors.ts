/**
 * Anchors: comments that name a place where wrong variants change a source. An anchor is a line of its own,
 * `// variant: name`, before a statement, a member of a class or a case of a switch. It is found by its name in any file
 * of its folders, so that the code may move and be laid out anew.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { changesOf, type Change, type Edit, type Variant } from "./edits.ts";
import { parse, type Part, partAfter } from "./syntax.ts";

/** A place in a source that variants may change. */
export interface Anchor extends Part {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  /** `file:line`. */
  readonly place: string;
}

export interface ChangedSource {
  readonly text: string;
  readonly changes: readonly Change[];
}

const ANCHOR = /^ variant: (?<name>.*)$/;
const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

export class Anchors {
  /** The anchors by name. A name that has more than one is a problem. */
  readonly #anchors = new Map<string, Anchor[]>();
  readonly #problems: string[] = [];

  /** Reads the anchors of these sources, by path. */
  constructor(sources: ReadonlyMap<string, string>) {
    for (const [file, text] of sources) {
      // Most files have none, and are not parsed.
      if (text.includes("// variant:")) this.#read(file, text);
    }
  }

  /** Reads the anchors of the TypeScript sources in these folders, but for tests. */
  static in(folders: readonly string[]): Anchors {
    const sources = new Map<string, string>();
    for (const folder of folders)
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        const file = path.join(entry.parentPath, entry.name);
        if (entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts"))
          sources.set(file, readFileSync(file, "utf8"));
      }
    return new Anchors(sources);
  }

  /** Messages with anchor and place. If there is none, every variant can be made, and every anchor is used. */
  problems(variants: readonly Variant[]): readonly string[] {
    const problems = [...this.#problems];
    for (const [name, [first, ...more]] of this.#anchors) {
      if (more.length > 0)
        problems.push(`${more[0]!.place}: The anchor "${name}" is at ${first!.place} too. Give one another name.`);
    }
    const used = new Set(variants.flatMap(({ edits }) => edits.map(({ anchor }) => anchor)));
    for (const [name, [first]] of this.#anchors) {
      if (!used.has(name)) problems.push(`${first!.place}: No variant uses the anchor "${name}". Remove it.`);
    }
    for (const variant of variants) {
      try {
        this.apply(variant);
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    return problems;
  }

  /** The changed sources, by path. Throws if the variant does not fit them. */
  apply(variant: Variant): ReadonlyMap<string, string> {
    return new Map(
      [...this.changes(variant)].map(([file, { text, changes }]) => [file, changed(variant.name, file, text, changes)]),
    );
  }

  /** The sources that the variant changes, by path, with its changes. Throws if it does not fit them. */
  changes({ name, edits }: Variant): ReadonlyMap<string, ChangedSource> {
    const sources = new Map<string, { readonly text: string; readonly changes: Change[] }>();
    for (const edit of edits) {
      const anchor = this.#find(name, edit);
      const source = sources.get(anchor.file) ?? { text: anchor.text, changes: [] };
      sources.set(anchor.file, source);
      try {
        source.changes.push(...changesOf(edit, anchor));
      } catch (error) {
        const { message } = error as Error;
        throw new Error(
          `${anchor.place}: The variant "${name}" does not fit: ${message}. Move the anchor "${anchor.name}", or change the edit.`,
          { cause: error },
        );
      }
    }
    return sources;
  }

  #find(variant: string, { anchor: name }: Edit): Anchor {
    const [found, ...more] = this.#anchors.get(name) ?? [];
    if (found === undefined)
      throw new Error(
        `The variant "${variant}" has no place: the anchor "${name}" is in no source. Write "// variant: ${name}" before the code that it changes.`,
      );
    if (more.length > 0)
      throw new Error(
        `${found.place}: The variant "${variant}" has two places: "${name}" is at ${more[0]!.place} too. Give one another name.`,
      );
    return found;
  }

  #read(file: string, text: string): void {
    const { program, comments } = parse(file, text);
    const lineOf = (at: number): number => text.slice(0, at).split("\n").length;
    for (const comment of comments) {
      const name = ANCHOR.exec(comment.value)?.groups?.["name"];
      if (comment.type !== "Line" || name === undefined) continue;
      const place = `${path.relative(process.cwd(), file)}:${lineOf(comment.start)}`;
      const problem = (words: string): void => void this.#problems.push(`${place}: The anchor "${name}" ${words}`);
      if (!NAME.test(name)) {
        problem("has no good name. Write lower-case words with hyphens between them, and nothing else.");
        continue;
      }
      if (text.slice(text.lastIndexOf("\n", comment.start) + 1, comment.start).trim() !== "") {
        problem("stands behind code. Write it on a line of its own, before the code that is changed.");
        continue;
      }
      const found = partAfter(program, comment.end);
      let between = found === null ? "?" : text.slice(comment.end, found.node.start);
      for (const { start, end } of comments.toReversed()) {
        if (found !== null && start >= comment.end && end <= found.node.start)
          between = between.slice(0, start - comment.end) + between.slice(end - comment.end);
      }
      if (found === null || !["", "else"].includes(between.trim())) {
        problem("stands before nothing that can be changed: a statement, a member of a class, or a case of a switch.");
        continue;
      }
      const anchors = this.#anchors.get(name) ?? [];
      this.#anchors.set(name, [...anchors, { name, file, text, place, ...found }]);
    }
  }
}

/** The text with all changes. Throws if two of them overlap. */
function changed(variant: string, file: string, text: string, changes: readonly Change[]): string {
  // An insertion goes before what is changed at the same place.
  const ordered = changes.toSorted((a, b) => a.start - b.start || a.end - b.end);
  let result = "";
  let at = 0;
  for (const { start, end, code } of ordered) {
    if (start < at)
      throw new Error(`${file}: Two edits of the variant "${variant}" change the same code. Make one of them.`);
    result += text.slice(at, start) + code;
    at = end;
  }
  return result + text.slice(at);
}
