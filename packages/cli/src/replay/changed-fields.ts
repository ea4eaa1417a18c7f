/** The fields in which two values differ, each by its path: `result.posts[3].text`. */
import { isObject, type Json, jsonText, parseJson } from "@radical/app";

export interface ChangedField {
  /** Empty: the whole value. A name that is not an identifier stands in brackets: `seats["4 a"]`. */
  readonly path: string;
  /** The value as JSON; null: the field was absent. */
  readonly was: string | null;
  /** The value as JSON; null: the field is absent now. */
  readonly is: string | null;
}

/**
 * Compares two texts of JSON. Numbers are compared as they are written: 2 and 2.0 differ.
 *
 * @param root the path of the whole value
 * @returns null: a text is not JSON, or the values differ in the order of fields only
 */
export function changedFields(root: string, was: string, is: string): readonly ChangedField[] | null {
  const [before, now] = [parsed(was), parsed(is)];
  if (before === undefined || now === undefined) return null;
  const changed = [...changes(root, before, now)];
  return changed.length === 0 ? null : changed;
}

function parsed(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function* changes(path: string, was: Json | undefined, is: Json | undefined): Generator<ChangedField> {
  if (isList(was) && isList(is)) yield* changedElements(path, was, is);
  else if (was !== undefined && is !== undefined && isObject(was) && isObject(is)) {
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)]))
      yield* changes(fieldPath(path, name), own(was, name), own(is, name));
  } else if (!isSame(was, is)) yield { path, was: textOf(was), is: textOf(is) };
}

/** Elements of one list only lie between the elements that both lists begin and end with. */
function* changedElements(path: string, was: readonly Json[], is: readonly Json[]): Generator<ChangedField> {
  const shorter = Math.min(was.length, is.length);
  let first = 0;
  while (first < shorter && isSame(was[first], is[first])) first++;
  let last = 0;
  while (last < shorter - first && isSame(was.at(-1 - last), is.at(-1 - last))) last++;
  const before = was.slice(0, was.length - last);
  const now = is.slice(0, is.length - last);
  for (let at = first; at < Math.max(before.length, now.length); at++)
    yield* changes(`${path}[${at}]`, before[at], now[at]);
}

function isList(json: Json | undefined): json is readonly Json[] {
  return Array.isArray(json);
}

function own(json: Readonly<Record<string, Json>>, name: string): Json | undefined {
  return Object.hasOwn(json, name) ? json[name] : undefined;
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return textOf(a) === textOf(b);
}

function textOf(json: Json | undefined): string | null {
  return json === undefined ? null : jsonText(json);
}

function fieldPath(path: string, name: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
