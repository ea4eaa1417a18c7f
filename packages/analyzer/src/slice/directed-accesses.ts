/** The accesses of handlers that are not sliced by the developer's decision: near storage, or with a given set. */
import type { HandlerTables } from "@radical/protocol";
import type { SourceFile } from "../diagnostics/diagnostic.ts";
import { type as, ElementKind } from "../parse/assemblyscript.ts";
import { startCompiler, loadProgram, type CompiledProgram, type CompileRequest } from "../parse/compile.ts";
import { FactsCompiler } from "../parse/facts.ts";
import type { Directions, GivenSet } from "../schema/directions.ts";
import { extractSchema, rootsOf, type Schema } from "../schema/schema.ts";
import { tablesNamed } from "./access-patterns.ts";
import { instanceOf, knownAccesses, NOT_KNOWN, type KnownAccesses } from "./known-accesses.ts";

/** Of handlers without a slice, by name. */
export type KnownByHandler = ReadonlyMap<string, KnownAccesses>;

/** `resolved`: the compilation of the application. `request`: how a program of the given sets is compiled. */
export function directedAccesses(
  resolved: CompiledProgram<FactsCompiler>,
  request: CompileRequest,
  sources: readonly SourceFile[],
  schema: Schema,
  directions: Directions,
): KnownByHandler {
  const own = ownAccesses(resolved, sources, schema, directions);
  return new Map([...own, ...givenAccesses(request, sources, schema, directions, own)]);
}

/** Of the handlers themselves. */
function ownAccesses(
  { program, compiler }: CompiledProgram<FactsCompiler>,
  sources: readonly SourceFile[],
  schema: Schema,
  { given, nearStorage }: Directions,
): KnownByHandler {
  if (compiler === null) return new Map();
  const front = { program, facts: compiler.facts, sources, tables: schema.tables, indexes: schema.indexes };
  return new Map(
    schema.handlers
      .filter(({ name }) => nearStorage.has(name) || given.has(name))
      .map(({ name, declaration }) => [name, knownAccesses(front, declaration)]),
  );
}

/**
 * Given sets are compiled apart: they may say what handlers may not. Their mistakes are told later. Whether a
 * handler writes is its own matter, whatever is said of it.
 */
function givenAccesses(
  request: CompileRequest,
  sources: readonly SourceFile[],
  { handlers }: Schema,
  { given }: Directions,
  handlersOwn: KnownByHandler,
): KnownByHandler {
  const found = new Map<string, KnownAccesses>();
  if (given.size === 0) return found;
  const loaded = loadProgram({ ...request, shadowStack: false });
  const { program } = loaded;
  if (!loaded.ok) return found;
  const started = startCompiler(loaded, () => new FactsCompiler(program));
  const schema = extractSchema(program, [...new Set(handlers.map(({ exportedBy }) => exportedBy))], {
    uniqueNames: true,
    isSetFunction: (declaration) =>
      [...given.values()].some(
        ({ file, span }) =>
          span.start === declaration.name.range.start && file === declaration.name.range.source.normalizedPath,
      ),
  });
  const declared = Array.from(given.values(), (set) => ({ set, declaration: declarationOf(set, program) }));
  const roots = declared.flatMap(({ declaration }) => (declaration && instanceOf(program, declaration)) ?? []);
  if (started.compiler !== null) started.compiler.roots = { ...rootsOf(schema), handlers: roots };
  const resolved = started.compile();
  resolved.module?.drop();
  const { compiler } = resolved;
  if (compiler === null) return found;
  const front = { program, facts: compiler.facts, sources, tables: schema.tables, indexes: schema.indexes };
  for (const { set, declaration } of declared)
    if (declaration !== null) {
      const { readOnly, tables } = handlersOwn.get(set.handler) ?? NOT_KNOWN;
      const said = knownAccesses(front, declaration, { isGivenSet: true });
      found.set(set.handler, { ...said, readOnly, tables: allTables(tables, said.tables) });
    }
  return found;
}

/** The tables that either may touch: a given set may name more than its handler. */
function allTables(a: HandlerTables | null, b: HandlerTables | null): HandlerTables | null {
  return a === null || b === null ? null : tablesNamed([...a.reads, ...b.reads], [...a.writes, ...b.writes]);
}

function declarationOf({ file, name }: GivenSet, program: as.Program): as.FunctionDeclaration | null {
  const element = program.filesByName.get(file.replace(/\.ts$/, ""))?.members?.get(name);
  return element?.kind === ElementKind.FunctionPrototype ? (element.declaration as as.FunctionDeclaration) : null;
}
