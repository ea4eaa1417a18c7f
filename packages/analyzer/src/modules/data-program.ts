/**
 * The programs by which `radical data` works on items: the SDK's own handlers, compiled as an application's are, and held to the
 * same limits.
 */
import { DEFAULT_LIMITS } from "@radical/protocol";
import { compileProgram, loadProgram } from "../parse/compile.ts";
import { SyntaxTrees } from "../parse/syntax-trees.ts";
import type { BuildInput } from "../pipeline.ts";

const ENTRY = "data.ts";

/** The handlers of each, from the file of the SDK with its name. */
const HANDLERS = {
  /** Writes items. */
  data: ["write", "edit"],
  /** Compares items with the entries of their indexes. */
  check: ["rows", "read", "correct"],
} as const;

export type DataProgram = keyof typeof HANDLERS;

/** Its WebAssembly. */
export function compileDataProgram(
  { sdk, stdlib }: Pick<BuildInput, "sdk" | "stdlib">,
  program: DataProgram,
): Uint8Array {
  const { module, messages, crash } = compileProgram(
    loadProgram({
      sources: new Map([[ENTRY, `export { ${HANDLERS[program].join(", ")} } from "@radical/sdk/${program}";\n`]]),
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
    throw new Error(
      `the program ${program} of Radical does not compile: ${messages[0]?.message ?? String(crash?.error)}`,
    );
  return module.emit();
}
