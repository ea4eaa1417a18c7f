/**
 * Numbers of the code, by file and name: `packages/protocol/src/ids.ts#MAX_KEY_BYTES`, or of a field,
 * `packages/protocol/src/module-content.ts#MAX_LIMITS.fuel`. Read from the source, because most are nobody's business outside of their file.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");
const ARITHMETIC = /^[\d_e\s*()+-]+$/;

export function constantOf(reference: string): number {
  const [file = "", place = ""] = reference.split("#");
  const [object, name = object] = place.split(".");
  const whole = readFileSync(path.join(ROOT, file), "utf8");
  // Of an object only what stands between its braces.
  const from = object === name ? 0 : whole.search(new RegExp(`\\b${object}\\b[^\\n]*= \\{`));
  const text = object === name ? whole : `${whole.slice(from).split("};")[0]}}`;
  const found = [...text.matchAll(new RegExp(`\\b${name}(?:: [\\w.]+)?(?: =|:) ([\\d(][^;,}\\n]*)[;,\\s}]`, "g"))];
  const [expression = "", ...more] = new Set(
    found.map((match) => match[1]?.trim()).filter((value) => value !== undefined),
  );
  if (more.length > 0 || !ARITHMETIC.test(expression)) throw new Error(`${reference} is no single number`);
  return valueOf(expression);
}

/** Products and powers of whole numbers, which is all that constants are made of. */
function valueOf(expression: string): number {
  return expression
    .replaceAll("_", "")
    .split(/(?<!\*)\*(?!\*)/)
    .map((factor) => {
      const [base = 0, exponent = 1] = factor.split("**").map(Number);
      return base ** exponent;
    })
    .reduce((product, factor) => product * factor, 1);
}
