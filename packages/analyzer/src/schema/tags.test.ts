/** The tags that are accepted, as the help of a mistake, the page about it and the reader of tags have them. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { TRANSFORMATIONS } from "../front.ts";
import { readTags } from "./tags.ts";

function diagnosticsOf(tag: string) {
  return readTags([{ path: "a.ts", text: `/** ${tag} */\nexport function f(): void {}\n` }]).diagnostics;
}

const [mistake] = diagnosticsOf("@nearStorage");
/** Of the help: a tag with its arguments each. */
const HELPED = Array.from(mistake!.help!.matchAll(/`(@[^`]+)`/g), ([, tag]) => tag!);
const nameOf = (tag: string): string => /^@\w+/.exec(tag)![0];
const NAMES = HELPED.map(nameOf);

/** The sentence of the page that begins so. */
async function sentence(beginning: string): Promise<string> {
  const page = await readFile(new URL("../../../../docs/diagnostics/unknown_tag.md", import.meta.url), "utf8");
  const from = page.indexOf(beginning);
  expect(from).toBeGreaterThan(0);
  return page.slice(from, page.indexOf(". ", from));
}

const codesIn = (text: string): readonly string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, code]) => code!);

test("the page of a misspelt tag names the tags that its help names", async () => {
  expect(mistake).toMatchObject({ code: "unknown_tag" });
  expect(
    codesIn(await sentence("The tags are"))
      .map(nameOf)
      .toSorted(),
  ).toEqual(NAMES.toSorted());
  expect(codesIn(await sentence("The arguments of `@refuse` are")).slice(1)).toEqual([...TRANSFORMATIONS, "all"]);
});

describe.each(HELPED.flatMap((tag) => (tag.includes("|") ? alternatives(tag) : [tag])))("%s", (tag) => {
  test("is accepted as the help writes it", () => {
    expect(diagnosticsOf(tag.replace("<handler>", "homepage"))).toEqual([]);
  });

  test("is what its misspelling is corrected to", () => {
    const name = nameOf(tag).slice(1);
    for (const written of [name.toUpperCase(), `${name}s`]) {
      const [found] = diagnosticsOf(`@${written} 5`);
      expect(found).toMatchObject({ code: "unknown_tag", fix: { title: `Write @${name}` } });
    }
  });
});

/** `@refuse union|all` is two tags. */
function alternatives(tag: string): readonly string[] {
  const [name = "", words = ""] = tag.split(" ");
  return words.split("|").map((word) => `${name} ${word}`);
}
