/**
 * The program by which `radical data rewrite` stores the items of a table anew: the SDK's handlers (`assembly/rewrite.ts`) with
 * the codecs of the application's classes. So what a read and `put` in a handler would store is what is stored.
 */
import { ENTRY_FILE, generateRewriting } from "../codegen/generate.ts";
import { compileProgram, loadProgram, type CompileRequest } from "../parse/compile.ts";
import type { Schema, TableSchema } from "../schema/schema.ts";

/** Its WebAssembly, with the handlers `keys` and `rewrite`. `base`: how the application is compiled. */
export function compileRewriting(schema: Schema, table: TableSchema, base: CompileRequest): Uint8Array {
  const { entry, grafts } = generateRewriting(schema, table);
  const { module, messages, crash } = compileProgram(
    loadProgram({ ...base, sources: new Map([...base.sources, [ENTRY_FILE, entry]]), grafts }),
  );
  if (module === null)
    throw new Error(`the program for ${table.name} does not compile: ${messages[0]?.message ?? String(crash?.error)}`);
  return module.emit();
}
