/**
 * Key patterns of the analysis, resolved for a call: the items and ranges that it has touched, by the pattern that they fit.
 * A pattern is a description (`packages/analyzer/src/slice/key-patterns.ts` has its grammar), so several may fit a unit: it stands
 * at the one that says most.
 */
import { type LifeUnit, spanOf } from "@radical/protocol";

export interface ResolvedPattern {
  readonly pattern: string;
  readonly units: readonly LifeUnit[];
}

export interface Resolved {
  readonly patterns: readonly ResolvedPattern[];
  /** Those that no pattern fits: entries of indexes, say. */
  readonly others: readonly LifeUnit[];
}

export function resolve(patterns: readonly string[], units: readonly LifeUnit[]): Resolved {
  const touches = ({ shape }: { readonly shape: Shape }): boolean => units.some(([unit]) => fits(shape, unit));
  const known = patterns.map((pattern) => ({
    pattern,
    shape: shapeOf(pattern),
    // A value comes from an item that the call has read. Its location may not have told all of them.
    sources: sourcesOf(pattern).filter((source) => touches({ shape: shapeOf(source) })).length,
    units: [] as LifeUnit[],
  }));
  const others: LifeUnit[] = [];
  for (const unit of units) {
    const [best] = known
      .filter(({ shape }) => fits(shape, unit[0]))
      .toSorted((a, b) => b.shape.said - a.shape.said || b.sources - a.sources);
    (best?.units ?? others).push(unit);
  }
  return { patterns: known.map(({ pattern, units: found }) => ({ pattern, units: found })), others };
}

/** The items from which the values of a pattern are taken, as patterns: `sessions/{caller}` of `likes/{name of sessions/{caller}}`. */
function sourcesOf(pattern: string): readonly string[] {
  return bracesOf(pattern).flatMap((value) => {
    const at = value.indexOf(" of ");
    const source = at < 0 || value.startsWith("= ") ? "" : value.slice(at + 4);
    // A recursion names itself.
    return /^[^\s/{]+\/./.test(source) && !source.includes("…") ? [source] : [];
  });
}

interface Shape {
  readonly table: string;
  readonly isRange: boolean;
  /** Of a key, or of what the keys of a range begin with. */
  readonly key: RegExp;
  /** How many characters of the key the pattern names. */
  readonly said: number;
}

/** A range ends with its rows: `posts/{room}/…, last 20`. */
const RANGE = /, (?:first|last|count)(?: .*)?$/;

function shapeOf(pattern: string): Shape {
  const slash = pattern.indexOf("/");
  const isRange = RANGE.test(pattern);
  const parts = partsOf(pattern.slice(slash + 1).replace(RANGE, ""));
  const named = isRange ? startOf(parts) : parts;
  const source = named.map((part) => (part === null ? ".*" : part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))).join("");
  return {
    table: pattern.slice(0, slash),
    isRange,
    key: new RegExp(`^${source}${isRange ? "" : "$"}`, "s"),
    said: named.reduce((sum, part) => sum + (part?.length ?? 0), 0),
  };
}

/** The beginning that all keys of a range share, as far as its pattern names it. */
function startOf(parts: readonly (string | null)[]): readonly (string | null)[] {
  const end = parts.findIndex((part) => part?.includes("…") === true);
  // From one key to another.
  if (end < 0 || parts[0]?.startsWith("from ") === true) return [];
  return [...parts.slice(0, end), parts[end]?.split("…")[0] ?? ""];
}

function fits({ table, isRange, key }: Shape, unit: string): boolean {
  const span = spanOf(unit);
  if (span !== null) return isRange && span.table === table && key.test(span.lo);
  const slash = unit.indexOf("/");
  if (unit.slice(0, slash) !== table) return false;
  // The items of a range that was read are units too.
  return key.test(unit.slice(slash + 1));
}

/** Text, and null for each value in braces. A doubled brace is one of the text. */
function partsOf(text: string): readonly (string | null)[] {
  return read(text).flatMap(({ literal, value }) => (value === null ? [literal] : [literal, null]));
}

/** The values in braces. */
function bracesOf(text: string): readonly string[] {
  return read(text).flatMap(({ value }) => value ?? []);
}

/** Pieces of text, each with the value in braces behind it; null: the text ends. */
function read(text: string): readonly { readonly literal: string; readonly value: string | null }[] {
  const pieces: { literal: string; value: string | null }[] = [];
  let depth = 0;
  let literal = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const [one = "", next] = text.slice(at, at + 2);
    if (depth === 0 && (one === "{" || one === "}") && one === next) {
      literal += one;
      at++;
    } else if (one === "{") {
      if (depth++ === 0) from = at + 1;
    } else if (one === "}") {
      if (--depth === 0) {
        pieces.push({ literal, value: text.slice(from, at) });
        literal = "";
      }
    } else if (depth === 0) literal += one;
  }
  pieces.push({ literal, value: null });
  return pieces;
}
