/** The handlers of a program by the functions that they are, for calls that name one. */
import { type as, ElementKind } from "./assemblyscript.ts";

const FILES = new WeakMap<as.Program, readonly string[]>();

/** Paths of the files of a program whose exported functions are handlers. */
export function noteHandlerFiles(program: as.Program, files: readonly string[]): void {
  FILES.set(program, files);
}

/** The name under which a handler file exports a function; null: none does. */
export function exportedHandler(program: as.Program, function_: as.Element): string | null {
  for (const path of FILES.get(program) ?? []) {
    const file = program.filesByName.get(path.replace(/\.ts$/, ""));
    if (file === undefined) continue;
    for (const [name, element] of exportsOf(file))
      if (element === function_ && element.kind === ElementKind.FunctionPrototype) return name;
  }
  return null;
}

/** The elements that a file exports, its own and those of others, by name. */
export function exportsOf(file: as.File, seen = new Set<as.File>()): Map<string, as.DeclaredElement> {
  const found = new Map<string, as.DeclaredElement>();
  if (seen.has(file)) return found;
  seen.add(file);
  for (const star of file.exportsStar ?? [])
    for (const [name, element] of exportsOf(star, seen)) found.set(name, element);
  for (const [name, element] of file.exports ?? []) found.set(name, element);
  return found;
}
