/** How a phase says "I have no rule for this": the handler is then not sliced. Caught at the phase's border. */
import { diagnostic, type DiagnosticCode, type DiagnosticDetails } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";

export class Refusal extends Error {
  readonly diagnostic: Diagnostic;

  constructor(code: DiagnosticCode, details: DiagnosticDetails) {
    super(details.message);
    this.name = "Refusal";
    this.diagnostic = diagnostic(code, details);
  }
}
