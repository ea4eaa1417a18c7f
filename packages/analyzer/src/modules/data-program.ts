/**
 * The program by which `radical data` writes items: the SDK's own handler (`assembly/data.ts`), compiled as an application's
 * are, and held to the same limits.
 */
import { DEFAULT_LIMITS } from "@radical/protocol";
import { compileProgram, loadProgram } from "../parse/compile.ts";
import { SyntaxTrees } from "../parse/syntax-trees.ts";
import type { BuildInput } from "../pipeline.ts";

const ENTRY = "data.ts";

/** Its WebAssembly, with the one handler `write`. */
export function compileDataProgram({ sdk, stdlib }: Pick<BuildInput, "sdk" | "stdlib">): Uint8Array {
  const { module, messages, crash } = compileProgram(
    loadProgram({
      sources: new Map([[ENTRY, 'export { write } from "@radical/sdk/data";\n']]),
      entry: ENTRY,
      sdk: new Map(sdk.map((file) => [file.path, file.text])),
      stdlib,
      runtime: "incremental",
      optimizeLevel: 0,
      memoryPages: DEFAULT_LIMITS.memoryPages,
      trees: new SyntaxTrees(),
    }),
  );
  if (module === null)
    throw new Error(`the data program does not compile: ${messages[0]?.message ?? String(crash?.error)}`);
  return module.emit();
}
