/** The handlers of a program by the functions that they are, for calls that name one. */
import { type as, ElementKind } from "./assemblyscript.ts";

const FILES = new WeakMap<as.Program, readonly string[]>();
const SERVICES = new WeakMap<as.Program, readonly NamedPlace[]>();

/** Where the name of a function stands. */
export interface NamedPlace {
  readonly file: string;
  readonly start: number;
}

/** Paths of the files of a program whose exported functions are handlers. */
export function noteHandlerFiles(program: as.Program, files: readonly string[]): void {
  FILES.set(program, files);
}

/** Where the names of functions stand that are services. */
export function noteServices(program: as.Program, places: readonly NamedPlace[]): void {
  SERVICES.set(program, places);
}

/** Whether a function is declared as a service: the application's Worker has it. */
export function isService(program: as.Program, function_: as.Element): boolean {
  if (function_.kind !== ElementKind.FunctionPrototype) return false;
  const { start, source } = (function_ as as.FunctionPrototype).declaration.name.range;
  return (SERVICES.get(program) ?? []).some((place) => place.start === start && place.file === source.normalizedPath);
}

/** The name under which a task calls a function: that of a handler or of a service; null: it is none. */
export function calleeOf(program: as.Program, function_: as.Element): string | null {
  return isService(program, function_) ? function_.name : exportedHandler(program, function_);
}

/** The name under which a handler file exports a function; null: none does. */
function exportedHandler(program: as.Program, function_: as.Element): string | null {
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
