/** The first program of a module: the handlers themselves, with the codecs of their types. */
import { checkUses } from "../check/check-uses.ts";
import { ENTRY_FILE, generateCode } from "../codegen/generate.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { compileProgram, loadProgram, type CompileRequest } from "../parse/compile.ts";
import { fromProgram } from "../parse/messages.ts";
import { handlersWithBlobs } from "../schema/blobs.ts";
import type { Directions } from "../schema/directions.ts";
import type { Schema } from "../schema/schema.ts";

export interface HandlerProgram {
  /** Empty if it does not compile. */
  readonly wasm: Uint8Array;
  readonly diagnostics: readonly Diagnostic[];
}

/** `base`: how the application is compiled. `fallback`: where problems go that belong to no place. */
export function compileHandlers(
  schema: Schema,
  { workflows }: Pick<Directions, "workflows">,
  base: CompileRequest,
  fallback: Span,
): HandlerProgram {
  // The handlers that a workflow runs look whether the bytes are there.
  const withBlobs = new Set([...handlersWithBlobs(schema)].filter((name) => !workflows.has(name)));
  const { entry, grafts } = generateCode(schema, { writes: true, withBlobs });
  const compiled = compileProgram(
    loadProgram({ ...base, sources: new Map([...base.sources, [ENTRY_FILE, entry]]), grafts }),
  );
  const diagnostics = [...fromProgram(compiled, fallback), ...checkUses(compiled, schema.tables, fallback)];
  const { module } = compiled;
  if (module === null) return { wasm: new Uint8Array(), diagnostics };
  if (!diagnostics.some(({ severity }) => severity === "error")) return { wasm: module.emit(), diagnostics };
  module.drop();
  return { wasm: new Uint8Array(), diagnostics };
}
