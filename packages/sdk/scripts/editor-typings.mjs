/**
 * Writes `editor/assemblyscript.d.ts`: the typings that the AssemblyScript in use ships for editors, with few changes.
 * Part of the build, and of packing the package.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** @type {readonly (readonly [before: string, after: string])[]} */
const CHANGES = [
  // TypeScript 7 takes no alias for the built-in type `Number`.
  ["declare type Number = _Float;", "interface Number extends _Float {}"],
  // Handlers call it with a text.
  [
    "declare const Number: typeof F64;",
    "declare const Number: typeof F64 & ((value: string | number | boolean | Date) => f64);",
  ],
  ["  constructor(value: i64);\n  /** Returns the UTC", "  constructor(value: i64 | string);\n  /** Returns the UTC"],
  // TypeScript finds the iterators of collections by this symbol (`everyday.d.ts`).
  ["readonly iterator: symbol;", "readonly iterator: unique symbol;"],
  // The parts of a time have defaults.
  [
    "    month: i32,\n    day: i32,\n    hour: i32,\n    minute: i32,\n    second: i32,\n    millisecond: i32\n  ): i64;",
    "    month?: i32,\n    day?: i32,\n    hour?: i32,\n    minute?: i32,\n    second?: i32,\n    millisecond?: i32\n  ): i64;",
  ],
  // The build makes these constructors.
  ["declare class Map<K,V> {", "declare class Map<K,V> {\n  constructor(entries?: Iterable<readonly [K, V]>);"],
  ["declare class Set<K> {", "declare class Set<K> {\n  constructor(values?: Iterable<K>);"],
];

let text = readFileSync(fileURLToPath(import.meta.resolve("assemblyscript/std/assembly/index.d.ts")), "utf8");
for (const [before, after] of CHANGES) {
  if (!text.includes(before))
    throw new Error(`AssemblyScript's typings no longer say \`${before}\`: adapt this script`);
  text = text.replace(before, after);
}
const header =
  "// The typings of AssemblyScript (Apache-2.0, The AssemblyScript Authors), changed by editor-typings.mjs.\n";
writeFileSync(new URL("../editor/assemblyscript.d.ts", import.meta.url), header + text);
