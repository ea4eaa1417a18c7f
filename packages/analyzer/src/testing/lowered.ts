/** For tests: the IR of an application's handlers. */
import type { FrontEnd } from "../front.ts";
import { lowerHandler } from "../lower/lower-program.ts";
import type { Program } from "../lower/ir.ts";
import type { as } from "../parse/assemblyscript.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "./library.ts";

/** By handler. Throws if one can't be lowered. */
export function loweredHandlers(files: Readonly<Record<string, string>>): ReadonlyMap<string, Program> {
  const programs = new Map<string, Program>();
  const lower = ({ handlers, program, facts }: FrontEnd): [] => {
    for (const { name, declaration } of handlers) {
      const prototype = program.elementsByDeclaration.get(declaration) as as.FunctionPrototype;
      const instance = program.resolver.resolveFunction(prototype, null);
      if (instance === null) throw new Error(`${name} is not a function of the program`);
      programs.set(name, lowerHandler({ program, facts }, instance));
    }
    return [];
  };
  const build = buildWith({ ...buildInput(files), optimize: false }, { ...slicer, deriveReadWriteSets: lower });
  if (!build.ok) throw new Error(build.diagnostics[0]?.message);
  return programs;
}
