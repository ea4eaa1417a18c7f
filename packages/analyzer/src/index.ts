import { buildWith, type BuildInput, type BuildOptions, type BuildResult } from "./pipeline.ts";
import { rememberingSlicer } from "./slicer.ts";

export { renderDiagnostic, renderFrames, type RenderOptions } from "./diagnostics/render.ts";
export type { Diagnostic, DiagnosticClass, Edit, Fix, SourceFile, Span } from "./diagnostics/diagnostic.ts";
export type { DiagnosticCode } from "./diagnostics/catalogue.ts";
export { compileDataProgram, type DataProgram } from "./modules/data-program.ts";
export type { AccessPattern, DerivingPhase, Explanation, Transformation, TransformationKind } from "./front.ts";
export type { BuildInput, BuildResult } from "./pipeline.ts";
export type { Analysis, HandlerReport, PlanReport, TableReport } from "./report.ts";

/** Of all builds in this process. */
const slicer = rememberingSlicer();

/**
 * Compiles an application's handlers and derives their read/write-set functions. Never throws for bad sources:
 * everything that is wrong with them is in the result.
 */
export function buildApplication(
  input: BuildInput,
  options: Pick<BuildOptions, "onAnalyzed"> = {},
): Promise<BuildResult> {
  return Promise.resolve().then(() => buildWith(input, slicer, options));
}
