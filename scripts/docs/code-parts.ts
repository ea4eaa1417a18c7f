/** Code that documents show: files, functions of them, or regions, which `// #region <name>` and `// #endregion` enclose. */
import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: "ts",
  js: "js",
  json: "json",
  jsonc: "jsonc",
  yml: "yaml",
  yaml: "yaml",
  sh: "sh",
};

/** `<file>`, `<file>#<region>` or `<file>#<function>()` as a block of code. */
export function codePart(argument: string): string {
  const [file = "", region] = argument.split("#");
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const code =
    region === undefined
      ? withoutMarks(text)
      : region.endsWith("()")
        ? functionOf(text, region.slice(0, -2), file)
        : regionOf(text, region, file);
  const language = LANGUAGES[path.extname(file).slice(1)] ?? "text";
  return `\`\`\`${language}\n${code.trim()}\n\`\`\``;
}

const MARK = /^\s*(?:\/\/|#) #(?:end)?region\b.*$/;

function withoutMarks(text: string): string {
  return text
    .split("\n")
    .filter((line) => !MARK.test(line))
    .join("\n");
}

/** With the comment before it. */
function functionOf(text: string, name: string, file: string): string {
  const found = new RegExp(`(?:^/\\*\\*(?:(?!\\*/)[^])*\\*/\\n)?^export function ${name}\\([^]*?^\\}$`, "m").exec(text);
  if (found === null) throw new Error(`${file} has no function "${name}"`);
  return found[0];
}

function regionOf(text: string, name: string, file: string): string {
  const lines = text.split("\n");
  const from = lines.findIndex((line) => MARK.test(line) && line.endsWith(`#region ${name}`));
  if (from < 0) throw new Error(`${file} has no region "${name}"`);
  let depth = 0;
  const length = lines.slice(from).findIndex((line) => {
    if (MARK.test(line)) depth += line.includes("#endregion") ? -1 : 1;
    return depth === 0;
  });
  if (length < 0) throw new Error(`the region "${name}" of ${file} has no end`);
  const inner = lines.slice(from + 1, from + length);
  const indent = Math.min(...inner.filter((line) => line.trim() !== "").map((line) => line.search(/\S/)));
  return withoutMarks(inner.map((line) => line.slice(indent)).join("\n"));
}
