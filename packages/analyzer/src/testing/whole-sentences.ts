/** For tests: the words of diagnostics as developers see them, whichever way they were put together. */
import { expect } from "vitest";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";

/** A capital, a name of the compiler in quotes or code; and a full stop. */
const WHOLE = /^[\p{Lu}'`].*\.$/su;

/** Names that no developer wrote. */
const INTERNAL = /not implemented|'auto'|'<auto>'|<object>|[iu]size|~lib|\$t?\d/i;

export function expectWholeSentences(diagnostics: readonly Diagnostic[]): void {
  for (const { message, help = "None." } of diagnostics) {
    expect(message).toMatch(WHOLE);
    expect(help).toMatch(WHOLE);
    expect(message).not.toMatch(INTERNAL);
  }
}
