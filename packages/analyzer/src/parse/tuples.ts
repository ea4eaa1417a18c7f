/**
 * TypeScript's tuples. `[string, number]` is a class of the SDK with a field for each part, so equal tuples are one class in
 * every file. `expand/tuples.ts` has their literals and elements.
 */
import { as } from "./assemblyscript.ts";

/** Path of the file with the classes, in the SDK. */
export const TUPLES_FILE = "tuples.ts";

/** As the compiler names the file. */
export const TUPLES_LIBRARY = "~lib/@radical/sdk/tuples";

const NAME = "__radicalTuple";

/** The SDK has classes for tuples of 1 to so many parts. */
export const MOST_PARTS = 6;

/** `[A, B]` as the type of its class. */
export function tupleNode(parts: as.TypeNode[], range: as.Range): as.NamedTypeNode {
  return as.Node.createNamedType(as.Node.createSimpleTypeName(NAME + parts.length, range), parts, false, range);
}

/** The class of a tuple as generated code constructs it. */
export function tupleClass(parts: readonly string[]): string {
  return `${NAME}${parts.length}<${parts.join(", ")}>`;
}

/** The types of a tuple's parts; null: the type is another one. */
export function partsOfTuple(type: as.Type | null): readonly as.Type[] | null {
  const found = type?.getClass() ?? null;
  return found !== null && isTupleClass(found) ? found.typeArguments : null;
}

export function isTupleClass({ prototype }: as.Class): boolean {
  return prototype.internalName.startsWith(`${TUPLES_LIBRARY}/${NAME}`);
}

/** The tuple with parts of these types; null: there are too many. */
export function tupleOf(program: as.Program, parts: as.Type[]): as.Type | null {
  const prototype = program.elementsByName.get(`${TUPLES_LIBRARY}/${NAME}${parts.length}`);
  if (prototype === undefined) return null;
  return program.resolver.resolveClass(prototype as as.ClassPrototype, parts)?.type ?? null;
}

/** The field that has a part. */
export function fieldOfPart(index: number): string {
  return `item${index}`;
}

const CLASS_NAME = /(?:~lib\/)?@radical\/sdk\/tuples\/__radicalTuple\d</g;

/** The compiler's words with tuples as the developer writes them: `[string, f64]`. */
export function readableTuples(text: string): string {
  let readable = text;
  CLASS_NAME.lastIndex = 0;
  for (let found = CLASS_NAME.exec(readable); found !== null; found = CLASS_NAME.exec(readable)) {
    const start = found.index + found[0].length;
    const end = closingOf(readable, start);
    readable = `${readable.slice(0, found.index)}[${spaced(readable.slice(start, end))}]${readable.slice(end + 1)}`;
    // A part may be a tuple.
    CLASS_NAME.lastIndex = found.index;
  }
  return readable;
}

/** Where the type arguments end that begin at a place. */
function closingOf(text: string, start: number): number {
  for (let at = start, depth = 0; at < text.length; at++) {
    if (text[at] === "<") depth++;
    else if (text[at] === ">" && text[at - 1] !== "=" && depth-- === 0) return at;
  }
  return text.length;
}

function spaced(types: string): string {
  return types.replaceAll(/,(?! )/g, ", ");
}
