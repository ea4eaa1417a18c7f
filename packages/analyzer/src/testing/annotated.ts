/**
 * For tests of diagnostics: sources whose lines say what is wrong with them, as in `let x: any = 1; //! any_type`.
 */
import type { Diagnostic } from "../diagnostics/diagnostic.ts";

const NOTE = /\/\/! ([a-z_ ]+)$/;

/** `file:line code` of every annotation. */
export function annotations(files: Readonly<Record<string, string>>): string[] {
  return Object.entries(files)
    .flatMap(([path, text]) =>
      text.split("\n").flatMap((line, index) =>
        (NOTE.exec(line)?.[1] ?? "")
          .split(" ")
          .filter((code) => code !== "")
          .map((code) => `${path}:${index + 1} ${code}`),
      ),
    )
    .toSorted();
}

/** File, line and code of diagnostics, as annotations have them. */
export function findings(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(({ code, primary }) => `${primary.file}:${primary.line} ${code}`).toSorted();
}
