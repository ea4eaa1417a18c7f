/**
 * Text of others on a terminal. A key, a value or a name could otherwise hold what the terminal obeys. It could move the
 * cursor, set the title, forge lines, or reverse the order of characters.
 */

/** C0 controls, DEL and C1 controls; line and paragraph separator; bidirectional marks, embeddings, overrides and isolates. */
// oxlint-disable-next-line no-control-regex -- they are what it looks for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** On one line, with an escape like `\u001b` in place of each control character. JSON stays the same JSON. */
export function terminalText(text: string): string {
  return text.replace(CONTROLS, escapeOf);
}

/** Any of these, as JSON writes it. */
function escapeOf(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
