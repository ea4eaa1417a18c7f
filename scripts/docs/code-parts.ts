/** Code that documents show: whole files, or their regions, which `// #region <name>` and `// #endregion` enclose. */
import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

const LANGUAGES: Readonly<Record<string, string>> = { ts: "ts", json: "json", yml: "yaml", yaml: "yaml", sh: "sh" };

/** `docs/examples/booking/handlers/rooms.ts#book` as a block of code. */
export function codePart(argument: string): string {
  const [file = "", region] = argument.split("#");
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const code = region === undefined ? withoutMarks(text) : regionOf(text, region, file);
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
