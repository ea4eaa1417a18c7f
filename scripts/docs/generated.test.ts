/** The parts of the pages that are made from the code are what the code says. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { resolveConfig } from "../../packages/app/src/config/config.ts";
import { cliPart, commandNames } from "./cli-part.ts";
import { codePart } from "./code-parts.ts";
import { configFields } from "./config-part.ts";
import { constantOf } from "./constants.ts";
import { withGenerated } from "./generated.ts";
import { DOCS, generatedPages, readPage } from "./pages.ts";
import { drawPicture } from "./picture.ts";
import { drawnPictures } from "./pictures.ts";
import { MAX_PICTURE_BYTES } from "../pictures/shots.ts";
import { sdkExports, sdkPart } from "./sdk-part.ts";
import { SOURCES } from "./sources.ts";

test.each(generatedPages())("%s is up to date (else: pnpm docs:reference)", (page) => {
  expect(withGenerated(readPage(page), SOURCES)).toBe(readPage(page));
});

test("the pictures are what their sources say (else: pnpm docs:reference)", () => {
  expect(drawnPictures().length).toBeGreaterThan(2);
  for (const { file, svg } of drawnPictures()) expect(readFileSync(file, "utf8")).toBe(svg);
  expect(() => drawPicture("title A\nlanes a, b\n0 a -> c: to nobody")).toThrow('no lane "c"');
  expect(() => drawPicture("title A\nlanes a, b\nsomething")).toThrow("no such line");
});

test("the pictures say in words what they show, and follow the reader's light or dark", () => {
  const files = globSync("pictures/*.svg", { cwd: DOCS });
  expect(files).toContain("pictures/protocol.svg");
  for (const file of files) {
    const svg = readFileSync(path.join(DOCS, file), "utf8");
    expect(svg).toMatch(/<title[^>]*>[^<]+<\/title>/);
    expect(svg).toMatch(/@media ?\(prefers-color-scheme: ?dark\)/);
  }
  expect(readFileSync(path.join(DOCS, "pictures/protocol.svg")).byteLength).toBeLessThanOrEqual(4096);
});

test("the pictures of pages are small (else: pnpm pictures)", () => {
  const files = globSync("pictures/*.webp", { cwd: DOCS });
  expect(files.length).toBeGreaterThan(10);
  for (const file of files)
    expect([file, readFileSync(path.join(DOCS, file)).byteLength <= MAX_PICTURE_BYTES]).toEqual([file, true]);
});

test("each source is used, and the parts have an end", () => {
  const pages = generatedPages().map((page) => readPage(page));
  const used = pages.flatMap((page) => [...page.matchAll(/<!-- from: ([\w-]+)/g)].map(([, name = ""]) => name));
  expect([...new Set(used)].toSorted()).toEqual(Object.keys(SOURCES).toSorted());
  const ends = pages.flatMap((page) => [...page.matchAll(/^<!-- end -->$/gm)]);
  expect(ends).toHaveLength(used.length);
});

test("the reference has the help of every command", () => {
  const shown = [...readPage("cli.md").matchAll(/<!-- from: cli (.*?) -->/g)].map(([, command = ""]) => command);
  expect(shown.toSorted()).toEqual(commandNames().toSorted());
  expect(() => cliPart("radical depoly")).toThrow('no command "radical depoly"');
});

test("the reference of the SDK has each export once, and each member says its meaning", () => {
  const shown = [...readPage("sdk.md").matchAll(/<!-- from: sdk (.*?) -->/g)].flatMap(([, names = ""]) =>
    names.split(", "),
  );
  expect(shown.toSorted()).toEqual(
    sdkExports()
      .map(({ name }) => name)
      .toSorted(),
  );
  for (const { name, members, words } of sdkExports())
    for (const { signature, words: of } of [{ signature: name, words }, ...members])
      expect(`${signature}: ${of}`).toMatch(/: [^]*[.:]/);
  expect(() => sdkPart("Tabel")).toThrow('no export "Tabel"');
  expect(sdkPart("log")).toContain("* `log.warn(text: string): void`\\\n  Logs a line at the level `warn`.");
});

describe("a page with parts", () => {
  const sources = { words: (argument: string): string => `words of ${argument}` };

  test("gets them between the marks, and keeps what stands around", () => {
    const page =
      "# A\n\n<!-- from: words x y -->\nold\n<!-- end -->\n\nrest\n\n<!-- from: words -->\n<!-- end -->\n\n<!-- from: words -->\n<!-- end -->\n";
    const written =
      "# A\n\n<!-- from: words x y -->\n\nwords of x y\n\n<!-- end -->\n\nrest\n\n<!-- from: words -->\n\nwords of\n\n<!-- end -->\n\n<!-- from: words -->\n\nwords of\n\n<!-- end -->\n";
    expect(withGenerated(page, sources)).toBe(written);
    expect(withGenerated(written, sources)).toBe(written);
  });

  test("names no source that there is not", () => {
    expect(() => withGenerated("<!-- from: nothing -->\n<!-- end -->\n", sources)).toThrow('no source "nothing"');
  });
});

test("the configuration's page has the fields that the command knows", () => {
  /** The fields of `object` that the check of the configuration knows. */
  const known = (config: object, object: string): readonly string[] => {
    const words = new RegExp(`: ${object}nonsense is not a field; the fields are (.*)$`, "m");
    try {
      resolveConfig(config, "radical.config.ts");
    } catch (error) {
      return words.exec(String(error))?.[1]?.split(", ") ?? [];
    }
    return [];
  };
  const shown = (above: string): readonly string[] =>
    configFields().flatMap(({ path: field }) =>
      field.startsWith(above) && !field.slice(above.length).includes(".") ? [field.slice(above.length)] : [],
    );
  const nonsense = { nonsense: 1 };
  expect(shown("")).toEqual(known({ name: "a", ...nonsense }, ""));
  expect(shown("cache.").toSorted()).toEqual(
    known({ name: "a", cache: { kind: "durable-object", ...nonsense } }, "cache\\.").toSorted(),
  );
  expect(shown("assets.").toSorted()).toEqual(known({ name: "a", assets: nonsense }, "assets\\.").toSorted());
  expect(shown("deploy.")).toEqual(known({ name: "a", deploy: nonsense }, "deploy\\."));
  expect(shown("limits.")).toEqual(known({ name: "a", limits: nonsense }, "limits\\."));
  expect(shown("dev.").toSorted()).toEqual(known({ name: "a", dev: nonsense }, "dev\\.").toSorted());
  expect(shown("dev.locations.<name>.").toSorted()).toEqual(
    known(
      { name: "a", dev: { locations: { A: { roundTripMs: 1, ...nonsense } } } },
      "dev\\.locations\\.A\\.",
    ).toSorted(),
  );
});

test("the comments of the configuration name the defaults of its schema", () => {
  const given = configFields().filter(({ byDefault }) => ["string", "number", "boolean"].includes(typeof byDefault));
  expect(given.length).toBeGreaterThan(10);
  for (const { path: field, words, byDefault } of given) {
    const [, said = ""] = /Default: (.+?)\.(?= [A-Z]|$)/.exec(words) ?? [];
    const [, bytes] = /^(\d+) MiB$/.exec(said) ?? [];
    const plain = bytes === undefined ? said.replaceAll(/[`,]/g, "") : String(Number(bytes) * 1024 ** 2);
    expect([field, plain]).toEqual([field, String(byDefault)]);
  }
});

test("numbers are read as the code has them, and nothing else is taken for one", () => {
  expect(constantOf("packages/protocol/src/ids.ts#MAX_KEY_BYTES")).toBe(512);
  expect(constantOf("packages/protocol/src/module-content.ts#DEFAULT_LIMITS.memoryPages")).toBe(1024);
  expect(constantOf("packages/protocol/src/module-content.ts#MAX_LIMITS.fuel")).toBe(1e12);
  expect(constantOf("packages/app/src/config/schema.ts#MAX_OBJECT_BYTES")).toBe(10 * 1024 ** 3);
  expect(() => constantOf("packages/protocol/src/ids.ts#NO_SUCH_THING")).toThrow("no single number");
  expect(() => constantOf("packages/protocol/src/ids.ts#NO_COMMIT")).toThrow("no single number");
});

test("code is shown by region, without its marks", () => {
  expect(() => codePart("scripts/docs/generated.test.ts#nowhere")).toThrow('no region "nowhere"');
  expect(codePart("templates/minimal/radical.config.ts")).toBe(
    '```ts\nimport { defineConfig } from "@radical/cli";\n\nexport default defineConfig({\n  name: "minimal",\n});\n```',
  );
});
