/** A phase throws it where it has no rule: the handler is then not sliced. `slice/derive.ts` catches it. */
import { diagnostic, type DiagnosticCode, type DiagnosticDetails } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";

/** For a form that has no better advice. */
const OTHER_FORM = "Write this in another form, or write the set yourself: `/** @readwrite <handler> */`.";
const UNTIL_THEN = "Until then the handler works, but not at the speed of its location.";

export class Refusal extends Error {
  readonly diagnostic: Diagnostic;

  constructor(code: DiagnosticCode, details: DiagnosticDetails) {
    super(details.message);
    this.name = "Refusal";
    this.diagnostic = diagnostic(code, { ...details, help: `${details.help ?? OTHER_FORM} ${UNTIL_THEN}` });
  }
}
