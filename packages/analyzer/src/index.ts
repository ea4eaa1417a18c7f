export { renderDiagnostic, type RenderOptions } from "./diagnostics/render.ts";
export type { Diagnostic, DiagnosticClass, SourceFile, Span } from "./diagnostics/diagnostic.ts";
export type { DiagnosticCode } from "./diagnostics/catalogue.ts";
export type { AccessPattern } from "./front.ts";
export type { BuildInput, BuildResult, HandlerReport, TableReport } from "./pipeline.ts";
