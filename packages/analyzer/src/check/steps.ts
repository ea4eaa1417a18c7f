/** A step of a schedule, such as `*\/5`, ends the comment in which its tag stands. The rest of the tag is then code. */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { type Diagnostic, type SourceFile, spanOf } from "../diagnostics/diagnostic.ts";

const STEP = /@(cron|every)\b([^\n]*?)\*\/(\d+)/gi;
/** The values of the five fields, in their order. */
const FIELDS = ["0-59", "0-23", "1-31", "1-12", "0-6"];

export function checkSteps(file: SourceFile): readonly Diagnostic[] {
  return Array.from(file.text.matchAll(STEP), (match) => {
    const [whole, tag = "", before = "", count = ""] = match;
    const end = match.index + whole.length;
    const span = spanOf(file, end - count.length - 2, end);
    const fields = before.split(/\s+/).filter((word) => word !== "");
    const field = `${FIELDS[fields.length] ?? FIELDS[0]}/${count}`;
    return diagnostic("schedule_comment", {
      message: `The step \`*/${count}\` of @${tag} ends the comment, so that the rest of the tag is code.`,
      primary: span,
      help: `Write \`${field}\` in its place. For equal steps, as every 5 minutes, write \`@every 5m\`.`,
      fix: { title: `Write ${field}`, edits: [{ span, text: field }] },
    });
  });
}

/** The findings that are not in the rest of a comment that a step has ended. */
export function outsideOf(
  steps: readonly Diagnostic[],
  { text }: SourceFile,
  found: readonly Diagnostic[],
): readonly Diagnostic[] {
  const rests = steps.map(({ primary: { end } }) => ({ start: end, end: text.indexOf("*/", end) }));
  return found.filter(({ primary }) => !rests.some(({ start, end }) => start <= primary.start && primary.start < end));
}

/** Whether it is such a step that ends the comment before this place. */
export function isCutByStep(text: string, end: number): boolean {
  const line = text.slice(text.lastIndexOf("\n", end - 1) + 1, end);
  return /^\d/.test(text.slice(end, end + 1)) && /@(?:cron|every)\b/i.test(line);
}
