/** The slicer at the border of the build: each handler gets a verdict, whatever the slicer does. */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { SLOWER_HELP } from "../diagnostics/words.ts";
import type { Derived, FrontEnd, Slicer } from "../front.ts";
import type { CompiledProgram } from "../parse/compile.ts";
import type { FactsCompiler } from "../parse/facts.ts";
import { spanOfRange } from "../parse/span.ts";
import type { HandlerSchema, Schema } from "../schema/schema.ts";
import { knownAccesses, NOT_KNOWN, type KnownAccesses } from "./known-accesses.ts";

/** The verdicts by handler; should the slicer fail at one, none is sliced: never an outage. */
export function verdictsOf(
  slicer: Slicer,
  { program, compiler }: CompiledProgram<FactsCompiler>,
  application: Omit<FrontEnd, "program" | "facts">,
  schema: Schema,
): ReadonlyMap<string, Derived> {
  let verdicts: readonly Derived[] = [];
  let words = "the analysis gave no verdict";
  try {
    if (compiler === null) throw new Error("nothing was resolved");
    verdicts = slicer.deriveReadWriteSets({ ...application, program, facts: compiler.facts });
  } catch (error) {
    words = `the analysis failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  const knownOf = ({ declaration }: HandlerSchema): KnownAccesses =>
    compiler === null ? NOT_KNOWN : knownAccesses({ ...application, program, facts: compiler.facts }, declaration);
  const byName = new Map(verdicts.map((verdict) => [verdict.handler, verdict]));
  return new Map(
    application.handlers.map(({ name }) => {
      const handler = schema.handlers.find((candidate) => candidate.name === name)!;
      return [name, byName.get(name) ?? refused(handler, words, knownOf(handler))];
    }),
  );
}

function refused(handler: HandlerSchema, words: string, { steps, ...known }: KnownAccesses): Derived {
  const reason = diagnostic("analyzer_crash", {
    message: `The handler ${handler.name} runs in record mode, because ${words}.`,
    primary: spanOfRange(handler.declaration.name.range),
    help: SLOWER_HELP,
  });
  return {
    kind: "refused",
    handler: handler.name,
    reason,
    products: [],
    ...known,
    steps: { handler: steps, readWriteSet: null },
  };
}
