/** Parts of JSON texts, as `JSON.stringify` has them. Internal: the build calls the functions. */

/** A text between quotation marks. */
export function quoted(text: string): string {
  let result = '"';
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 32 && code != 34 && code != 92 && !isAlone(text, at)) continue;
    result += text.substring(from, at) + escaped(code);
    from = at + 1;
  }
  return result + text.substring(from) + '"';
}

/** Whether the unit at a place is a half of a character without its other half. */
function isAlone(text: string, at: i32): bool {
  const code = text.charCodeAt(at);
  if ((code & 0xf800) != 0xd800) return false;
  const isFirst = code < 0xdc00;
  const other = isFirst ? at + 1 : at - 1;
  if (other < 0 || other >= text.length) return true;
  return (text.charCodeAt(other) & 0xfc00) != (isFirst ? 0xdc00 : 0xd800);
}

function escaped(code: i32): string {
  switch (code) {
    case 8:
      return "\\b";
    case 9:
      return "\\t";
    case 10:
      return "\\n";
    case 12:
      return "\\f";
    case 13:
      return "\\r";
    case 34:
      return '\\"';
    case 92:
      return "\\\\";
    default:
      return "\\u" + code.toString(16).padStart(4, "0");
  }
}

/** Infinity and NaN are null. */
export function jsonOfFloat(value: f64): string {
  return isFinite(value) ? value.toString() : "null";
}
