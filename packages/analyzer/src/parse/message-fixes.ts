/**
 * The rewrites of what the compiler refuses, where a mechanical one makes the accepted form. They look at the file alone:
 * where the accepted form depends on more, there is none.
 */
import type { DiagnosticCode } from "../diagnostics/catalogue.ts";
import { spanOf, type Fix, type Span } from "../diagnostics/diagnostic.ts";
import { type as, NodeKind, Token } from "./assemblyscript.ts";
import { childrenOf, withoutParentheses } from "./children.ts";
import { pathTo } from "./conversions.ts";
import { spanOfRange, textOf } from "./span.ts";

/** The compiler's words about a number in the place of a text. */
export const NUMBER_AS_TEXT = /^type '(?:bool|[iuf]\d+)' is not assignable to type 'string'$/;
/** The compiler's words about an element of a list that begins empty, whose type it does not know. */
export const EMPTY_LIST = /^type '(?<type>.*)' is not assignable to type '[iu]size'$/;
/** The words of `map-entries.ts` about `counts[word] += 1`. */
export const MAP_UPDATE = /^not implemented: updates of entries of maps of (?<values>\w+)$/;

/** Undefined: there is no rewrite that is certain. */
export function messageFix(code: DiagnosticCode, words: string, range: as.Range): Fix | undefined {
  switch (code) {
    case "dead_code":
      return withoutTest(range);
    case "in_operator":
      return withHas(range);
    case "map_entry":
      return withDefault(range, MAP_UPDATE.exec(words)?.groups?.["values"]);
    case "overload_signature":
      return withoutSignature(range);
    case "constant_test":
      return /'NaN'/.test(words) ? withIsNaN(range) : undefined;
    case "type_error":
      return NUMBER_AS_TEXT.test(words) ? asText(range) : withElements(range, EMPTY_LIST.exec(words)?.groups?.["type"]);
    default:
      return undefined;
  }
}

function replaced(title: string, span: Span, text: string): Fix {
  return { title, edits: [{ span, text }] };
}

/** The piece of a file between two offsets. */
function piece({ source }: as.Range, start: number, end: number): Span {
  return spanOf({ path: source.normalizedPath, text: source.text }, start, end);
}

/** The expression or declaration at a range, with what it stands in. */
function nodeAt(range: as.Range): { readonly node: as.Node; readonly around: as.Node } | null {
  const path = pathTo(range);
  const [around, node] = path.slice(-2);
  if (node === undefined || around === undefined) return null;
  return node.range.start === range.start && node.range.end === range.end ? { node, around } : null;
}

/** `?.` behind the range, which is never null, becomes a dot; `??` before it goes with what it gives. */
function withoutTest(range: as.Range): Fix | undefined {
  const { text } = range.source;
  const chain = /^\s*\?\.(\s*[[(])?/.exec(text.slice(range.end));
  if (chain !== null) {
    const end = range.end + chain[0].length;
    return replaced("Leave out the test for null", piece(range, range.end, end), chain[1]?.trim() ?? ".");
  }
  const sign = /\s*\?\?\s*$/.exec(text.slice(0, range.start));
  if (sign === null) return undefined;
  return replaced("Leave out ?? with its right side", piece(range, sign.index, range.end), "");
}

/** `name in ages` of a map or set asks it. */
function withHas(range: as.Range): Fix | undefined {
  const found = nodeAt(range);
  if (found?.node.kind !== NodeKind.Binary) return undefined;
  const { left, right } = found.node as as.BinaryExpression;
  const [key, held] = [textOf(left), withoutParentheses(right)];
  if (held.kind !== NodeKind.Identifier) return undefined;
  const name = textOf(held);
  const type = collectionOf(name, range.source.text);
  if (type === undefined) return undefined;
  const text = `${name}.has(${key})`;
  return replaced(`Write ${text}`, spanOfRange(range), text);
}

/** The collection that a variable, parameter or field holds, as the file declares it. */
export function collectionOf(name: string, text: string): string | undefined {
  const [, written] = new RegExp(`(?<![\\w$.])${name}\\??\\s*(?::|=\\s*new)\\s*(\\w+)`).exec(text) ?? [];
  const [, meant] = new RegExp(`\\btype ${written}\\s*=\\s*(\\w+)`).exec(text) ?? [];
  return [written, meant].find((type) => type === "Map" || type === "Set" || type === "Record");
}

/** `counts[word] += 1` begins with 0 where there is no entry, and with the empty text where entries are texts. */
function withDefault(range: as.Range, values: string | undefined): Fix | undefined {
  const found = nodeAt(range);
  if (found === null || values === undefined) return undefined;
  const { node, around } = found;
  const isUpdate = around.kind === NodeKind.For && (around as as.ForStatement).incrementor === node;
  if (around.kind !== NodeKind.Expression && !isUpdate) return undefined;
  const { operator } = node as as.BinaryExpression | as.UnaryExpression;
  const sign = SIGNS.get(operator);
  const isText = values === "texts";
  if (sign === undefined || (isText ? operator !== Token.Plus_Equals : values !== "numbers")) return undefined;
  const target = "left" in node ? (node as as.BinaryExpression).left : (node as as.UnaryExpression).operand;
  if (!isRepeatable(target)) return undefined;
  const added = "right" in node ? operandText((node as as.BinaryExpression).right) : "1";
  const entry = textOf(target);
  const text = `${entry} = (${entry} ?? ${isText ? '""' : "0"}) ${sign} ${added}`;
  return replaced(`Write ${text}`, spanOfRange(range), text);
}

const SIGNS: ReadonlyMap<Token, string> = new Map([
  [Token.Plus_Equals, "+"],
  [Token.Minus_Equals, "-"],
  [Token.Plus_Plus, "+"],
  [Token.Minus_Minus, "-"],
]);

function operandText(expression: as.Expression): string {
  const isAtom = expression.kind !== NodeKind.Binary && expression.kind !== NodeKind.Ternary;
  return isAtom ? textOf(expression) : `(${textOf(expression)})`;
}

/** Whether an expression gives the same when it stands there twice, and does nothing. */
export function isRepeatable(expression: as.Expression): boolean {
  switch (expression.kind) {
    case NodeKind.Identifier:
    case NodeKind.This:
      return true;
    case NodeKind.Literal:
      return childrenOf(expression).length === 0;
    case NodeKind.PropertyAccess:
      return isRepeatable((expression as as.PropertyAccessExpression).expression);
    case NodeKind.ElementAccess: {
      const { expression: list, elementExpression } = expression as as.ElementAccessExpression;
      return isRepeatable(list) && isRepeatable(elementExpression);
    }
    default:
      return false;
  }
}

/** The signature that ends at the range goes. */
function withoutSignature({ source, end: behind }: as.Range): Fix | undefined {
  const signature = signatureBefore(source, behind);
  if (signature === null) return undefined;
  const { text } = source;
  const end = behind + (/^;?[ \t]*(\r?\n)?/.exec(text.slice(behind))?.[0].length ?? 0);
  const lineStart = text.lastIndexOf("\n", signature.range.start) + 1;
  const isAlone = /^\s*(export\s+)?$/.test(text.slice(lineStart, signature.range.start));
  const from = isAlone ? lineStart : signature.range.start;
  return replaced("Leave out the signature", piece(signature.range, from, end), "");
}

/** The function or method without a body whose declaration ends at the offset or with a semicolon there. */
function signatureBefore(node: as.Node, offset: number): as.FunctionDeclaration | null {
  const isFunction = node.kind === NodeKind.FunctionDeclaration || node.kind === NodeKind.MethodDeclaration;
  if (isFunction) {
    const declaration = node as as.FunctionDeclaration;
    const { end } = declaration.range;
    return declaration.body === null && offset <= end && end <= offset + 1 ? declaration : null;
  }
  for (const child of childrenOf(node)) {
    if (child.range.start > offset || child.range.end < offset) continue;
    const found = signatureBefore(child, offset);
    if (found !== null) return found;
  }
  return null;
}

function withIsNaN(range: as.Range): Fix | undefined {
  const node = nodeAt(range)?.node;
  if (node?.kind !== NodeKind.Binary) return undefined;
  const { operator, left, right } = node as as.BinaryExpression;
  const tested = textOf(right) === "NaN" ? left : right;
  const isEqual = operator === Token.Equals_Equals || operator === Token.Equals_Equals_Equals;
  const text = `${isEqual ? "" : "!"}isNaN(${textOf(withoutParentheses(tested))})`;
  return replaced(`Write ${text}`, spanOfRange(range), text);
}

function asText(range: as.Range): Fix | undefined {
  const written = range.source.text.slice(range.start, range.end);
  return /[`\n]/.test(written) ? undefined : replaced("Make it a text", spanOfRange(range), `\`\${${written}}\``);
}

/** A list that begins empty gets the type of its first element where it is declared. */
function withElements(range: as.Range, type: string | undefined): Fix | undefined {
  const call = pathTo(range).findLast((node) => node.kind === NodeKind.Call) as as.CallExpression | undefined;
  const list = /^([\w]+)\.push$/.exec(call === undefined ? "" : textOf(call.expression))?.[1];
  if (list === undefined || type === undefined || !/^[\w.]+(\[\])*$/.test(type)) return undefined;
  const { text } = range.source;
  const declared = [
    ...text.slice(0, range.start).matchAll(new RegExp(`\\b(?:const|let)\\s+${list}(?=\\s*=\\s*\\[\\s*\\])`, "g")),
  ].at(-1);
  if (declared === undefined) return undefined;
  const at = declared.index + declared[0].length;
  return replaced(`Make it a list of ${type}`, piece(range, at, at), `: ${type}[]`);
}
