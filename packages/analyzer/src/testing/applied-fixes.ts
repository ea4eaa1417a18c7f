/** For tests: sources after fixes. */
import type { Fix } from "../diagnostics/diagnostic.ts";

type Files = Readonly<Record<string, string>>;

/** The files after the fixes; an edit that several of them share is made once. */
export function applied(files: Files, fixes: readonly Fix[]): Files {
  const edits = [
    ...new Map(
      fixes
        .flatMap((fix) => fix.edits)
        .map((edit) => [`${edit.span.file} ${edit.span.start} ${edit.span.end} ${edit.text}`, edit]),
    ).values(),
  ].toSorted((a, b) => b.span.start - a.span.start || b.span.end - a.span.end);
  const after: Record<string, string> = { ...files };
  for (const { span, text } of edits) {
    const before = after[span.file];
    if (before === undefined) throw new Error(`a fix edits ${span.file}, which is not there`);
    after[span.file] = before.slice(0, span.start) + text + before.slice(span.end);
  }
  return after;
}
