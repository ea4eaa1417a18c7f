/**
 * What a compiled program imports from its host, and which of the developer's lines asked for it.
 */
import { ASSEMBLYSCRIPT_ABORT, HOST_FUNCTIONS, HOST_NAMESPACE } from "@radical/protocol";
import type { Span } from "../diagnostics/diagnostic.ts";
import { as, ElementKind } from "./assemblyscript.ts";
import { isGenerated, type RadicalCompiler } from "./compile.ts";
import { spanOfRange } from "./span.ts";

export interface ForeignImport {
  /** `env.seed` */
  readonly name: string;
  /** The developer's code that leads to it; null if none is found. */
  readonly span: Span | null;
}

/** The imports of a program that handlers may not have. */
export function foreignImports(program: as.Program, compiler: RadicalCompiler): ForeignImport[] {
  const foreign: ForeignImport[] = [];
  for (const [module, elements] of program.moduleImports) {
    for (const [name, element] of elements) {
      if (isHostFunction(module, name)) continue;
      foreign.push({ name: `${module}.${name}`, span: originOf(element, compiler) });
    }
  }
  return foreign;
}

function isHostFunction(module: string, name: string): boolean {
  if (module === ASSEMBLYSCRIPT_ABORT.module) return name === ASSEMBLYSCRIPT_ABORT.name;
  if (module !== HOST_NAMESPACE || !Object.hasOwn(HOST_FUNCTIONS, name)) return false;
  return HOST_FUNCTIONS[name as keyof typeof HOST_FUNCTIONS].program === "both";
}

/** Follows the calls back from an imported function to the first place in a file of the developer's. */
function originOf(element: as.Element, compiler: RadicalCompiler): Span | null {
  if (element.kind !== ElementKind.Function) return null;
  const seen = new Set<as.Function>();
  let called = element as as.Function;
  for (;;) {
    const call = compiler.firstCalls.get(called);
    if (call === undefined || seen.has(called)) return null;
    seen.add(called);
    const { range } = call.node;
    if (!range.source.isLibrary && !range.source.isNative && !isGenerated(range.source)) return spanOfRange(range);
    called = call.caller;
  }
}
