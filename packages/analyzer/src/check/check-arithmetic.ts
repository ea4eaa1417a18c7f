/**
 * Words for the findings of `parse/arithmetic.ts` about numbers and tests: forms that mean something else than they seem
 * to.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type Edit, type Fix } from "../diagnostics/diagnostic.ts";
import type { Finding, Test } from "../parse/arithmetic.ts";
import { as, NodeKind, Token } from "../parse/assemblyscript.ts";
import { withoutParentheses } from "../parse/children.ts";
import { isRepeatable } from "../parse/message-fixes.ts";
import { conversionHelp } from "../parse/conversions.ts";
import { readableTypes, spanOfRange, textOf } from "../parse/span.ts";

export function checkArithmetic(findings: readonly Finding[]): Diagnostic[] {
  return findings.map(inWords);
}

function inWords(finding: Finding): Diagnostic {
  const { node } = finding;
  const primary = spanOfRange(node.range);
  switch (finding.kind) {
    case "constant-overflow": {
      const { value, type } = finding;
      return diagnostic("constant_overflow", {
        message: `The result of this expression is ${value}, which does not fit into its type, ${type}.`,
        primary,
        help: helpFor(node, value, type),
        fix: type !== "i64" && value >= -(2n ** 63n) && value < 2n ** 63n ? widened(node) : undefined,
      });
    }
    case "constant-sign": {
      const { value, from, type } = finding;
      return diagnostic("constant_overflow", {
        message: `${value} does not fit into its place, whose type is ${type}.`,
        primary,
        help: conversionHelp(node.range, from, type),
      });
    }
    case "unsigned-difference": {
      const type = /^u(8|16)$/.test(finding.type) ? "i32" : "i64";
      const operands =
        node instanceof as.BinaryExpression ? [node.left, node.right] : [(node as as.UnaryPrefixExpression).operand];
      const cast = (operand: as.Expression): string => `(${operandText(operand)} as ${type})`;
      const [first, second] = operands.map(cast);
      return diagnostic("type_error", {
        message: `This wraps around below 0, because a number of type ${finding.type} has no sign.`,
        primary,
        help: `Give the numbers a sign: \`${second === undefined ? `-${first}` : `${first} - ${second}`}\`.`,
        fix: {
          title: "Give the numbers a sign",
          edits: operands.map((operand) => ({ span: spanOfRange(operand.range), text: cast(operand) })),
        },
      });
    }
    case "integer-division":
      return divisionInWords(finding);
    case "constant-division":
      return diagnostic("integer_division", {
        message: `The result of \`${textOf(node)}\` is ${finding.quotient}, because a division of integers cuts the fraction.`,
        primary,
        help: `For the fraction write a number with a point: \`${firstOf(node)}.0\`. For the whole part write \`${finding.quotient}\`.`,
      });
    case "constant-test": {
      const { message, help } = testInWords(finding.test, finding.answer);
      return diagnostic("constant_test", { message, primary, help });
    }
    case "missing-key": {
      const { message, help } = ACCESSES[finding.access];
      const isDefault = finding.isDefault && finding.access !== "element";
      return diagnostic("missing_key", {
        message,
        primary,
        help: isDefault ? `Write \`??\` in place of \`||\`: \`${textOf(node)} ?? 0\`.` : help,
        fix: isDefault ? asNullish(node) : asked(node, finding.access),
      });
    }
    case "nullable-typeof":
      return diagnostic("constant_test", {
        message: "The answer of `typeof` is the same if this value is null, so it tells nothing.",
        primary,
        help: `Compare with null: \`${textOf((node as as.UnaryPrefixExpression).operand)} != null\`.`,
      });
    case "bool-arithmetic": {
      const { left } = node as as.BinaryExpression;
      return diagnostic("type_error", {
        message: "The result of this would be a bool, because its left side is one.",
        primary,
        help: `Make it a number: \`(${textOf(left)} ? 1 : 0)\`.`,
        fix: replaced(left, `(${textOf(left)} ? 1 : 0)`),
      });
    }
    case "shift-by-zero": {
      const { left } = node as as.BinaryExpression;
      return diagnostic("dead_code", {
        message: "This shift changes nothing, because the number keeps its type and its sign.",
        primary,
        help: `Without the sign it is \`${operandText(left)} as u32\`.`,
        fix: replaced(node, `(${operandText(left)} as u32)`),
      });
    }
    case "large-literal":
      return diagnostic("constant_overflow", {
        message: `${textOf(node)} does not fit into an i32, so ${finding.name} would be a number without a sign.`,
        primary,
        help: `Write the type: \`${finding.name}: i64 = ${textOf(node)}\`.`,
        fix: typedAsI64(node, finding.name),
      });
    case "locale-order":
      return diagnostic("sort_order", {
        message: "Handlers know no order of a language, so that `localeCompare` would put B before a.",
        primary,
        help: "Compare the texts: `a < b ? -1 : a > b ? 1 : 0`. Where letters are equal in both cases, compare `toLowerCase()`.",
        fix: byCodes(node as as.CallExpression),
      });
    case "sort-order":
      return diagnostic("sort_order", {
        message: "Without a function, TypeScript sorts numbers by their texts, so that 10 comes before 9.",
        primary,
        help: `Say the order: \`${textOf((node as as.CallExpression).expression)}(${comparison(finding.isSubtracting)})\`.`,
        fix: ordered(node as as.CallExpression, comparison(finding.isSubtracting)),
      });
  }
}

function divisionInWords(finding: Finding & { readonly kind: "integer-division" }): Diagnostic {
  const { node, into, type, parameters } = finding;
  const primary = spanOfRange(node.range);
  const text = textOf(node);
  if (!(node instanceof as.BinaryExpression))
    return diagnostic("integer_division", {
      message: `This value comes from a division of type ${type}, which cuts the fraction${LOST[into]}.`,
      primary,
      help: `For the fraction ${withFloats(node)}. For the whole part write \`${text} as ${type}\`.`,
      fix: replaced(node, `(${text} as ${type})`),
    });
  const message = `A division of integers cuts the fraction${LOST[into]}.`;
  const [parameter] = parameters;
  if (parameter !== undefined)
    return diagnostic("integer_division", {
      message,
      primary,
      help: `The type ${parameter} is ${type} in a call of this. For the fraction call it with f64. For the whole part write a function with ${type} in place of ${parameter}.`,
    });
  const { operator, left, right } = node;
  const [dividend, divisor] = [operandText(left), textOf(right)];
  const isUpdate = operator === Token.Slash_Equals;
  return diagnostic("integer_division", {
    message,
    primary,
    help: isUpdate
      ? `For the fraction declare \`${dividend}\` as f64. For the whole part write \`${dividend} = (${dividend} / ${divisor}) as ${type}\`.`
      : `For the fraction write \`(${dividend} as f64) / ${divisor}\`. For the whole part write \`(${text}) as ${type}\`.`,
    fix: isUpdate ? undefined : divided(node, type),
  });
}

/** How a value that comes from a division keeps the fraction. */
function withFloats(node: as.Node): string {
  if (!(node instanceof as.CallExpression) || node.expression.kind !== NodeKind.Identifier || node.args.length !== 1)
    return "give it numbers of type f64";
  return `write \`${textOf(node.expression)}<f64>(${textOf(node.args[0]!)})\``;
}

/** Help for an expression of constants that does not fit. A literal has the type of its place, and names have their own. */
function helpFor(node: as.Node, value: bigint, type: string): string {
  if (node.kind === NodeKind.Literal) return `Write it as a float, which holds it nearly: \`${value}.0\`.`;
  const fits = type !== "i64" && value >= -(2n ** 63n) && value < 2n ** 63n;
  const wide = fits ? "i64" : "f64";
  const first = firstOf(node);
  const negated = /^-(?<operand>[\w.]+)$/.exec(textOf(node))?.groups?.["operand"];
  const begin = negated === undefined ? `Begin with \`(${first} as ${wide})\`` : `Write \`-(${negated} as ${wide})\``;
  if (!fits) return `An f64 holds it nearly. ${begin}.`;
  return /^[\d_\s*+()-]+$/.test(textOf(node))
    ? `An i64 holds it. ${begin}, or declare the constant with its type: \`const LIMIT: i64 = ${textOf(node)};\`.`
    : `An i64 holds it. ${begin}.`;
}

function testInWords(test: Test, answer: boolean): { readonly message: string; readonly help: string } {
  switch (test.kind) {
    case "null":
      return {
        message: `This test is always ${answer}, because a value of type ${readableTypes(test.type)} is never null.`,
        help: "Remove the test. If the value can be missing, give it a type with `| null`.",
      };
    case "not-a-number":
      return {
        message: `The test \`${test.name}\` is always ${answer}, because a value of type ${test.type} is always a whole number.`,
        help: test.isTime
          ? "Write `parseTime(text)`, which is null if the text is not a date: `const starts = parseTime(text); if (starts == null) abort(400, …)`."
          : "Remove the test. To find out whether a text is a number, parse it: `isNaN(Number(text))`.",
      };
    case "range":
      return {
        message: `This comparison is always ${answer}, because the value is from ${test.range.min} to ${test.range.max}.`,
        help: "Compare with a number that the value can pass, or give the value a type that reaches further.",
      };
  }
}

/** Behind which the fraction is missed. */
const LOST = {
  float: ", before its result becomes a float",
  text: ", before its result becomes a text",
  inferred: ", and no type here says that whole numbers are meant",
} as const;

const ACCESSES = {
  key: {
    message: "This test comes too late, because `Map.get` ends the handler as a trap if the key is missing.",
    help: "Ask before: `if (!ages.has(name)) …`.",
  },
  index: {
    message: "This test comes too late, because an index behind the end ends the handler as a trap.",
    help: "Ask before: `index < list.length`.",
  },
  element: {
    message: "This test comes too late, because taking an element of an empty array ends the handler as a trap.",
    help: "Ask before: `list.length > 0`.",
  },
} as const;

/** A function that compares. A difference of numbers without a sign is never below 0. */
function comparison(isSubtracting: boolean): string {
  return isSubtracting ? "(a, b) => a - b" : "(a, b) => (a < b ? -1 : a > b ? 1 : 0)";
}

/** A function that compares, as the argument of a call that has none. */
function ordered({ range }: as.CallExpression, text: string): Fix {
  const source = { path: range.source.normalizedPath, text: range.source.text };
  return { title: "Sort by number", edits: [{ span: spanOf(source, range.end - 1, range.end - 1), text }] };
}

/** `a.localeCompare(b)` of texts that may be read twice compares them by their codes. */
function byCodes({ expression, args, range }: as.CallExpression): Fix | undefined {
  const text = (expression as as.PropertyAccessExpression).expression;
  const [other] = args;
  if (other === undefined || args.length > 1 || !isRepeatable(text) || !isRepeatable(other)) return undefined;
  const [a, b] = [textOf(text), textOf(other)];
  const compared = `(${a} < ${b} ? -1 : ${a} > ${b} ? 1 : 0)`;
  return { title: "Compare by < and >", edits: [{ span: spanOfRange(range), text: compared }] };
}

/** The declaration whose first value this is gets the type. */
function typedAsI64({ range }: as.Node, name: string): Fix | undefined {
  const { text, normalizedPath: path } = range.source;
  const sign = /\s*=\s*$/.exec(text.slice(0, range.start));
  if (sign === null || !text.slice(0, sign.index).endsWith(name)) return undefined;
  const span = spanOf({ path, text }, sign.index, sign.index);
  return { title: `Make ${name} an i64`, edits: [{ span, text: ": i64" }] };
}

function replaced({ range }: as.Node, text: string): Fix {
  return { title: `Write ${text}`, edits: [{ span: spanOfRange(range), text }] };
}

/** `??` in place of the `||` behind an expression. */
function asNullish({ range }: as.Node): Fix | undefined {
  const operator = /^\s*\|\|/.exec(range.source.text.slice(range.end))?.[0];
  if (operator === undefined) return undefined;
  const end = range.end + operator.length;
  const source = { path: range.source.normalizedPath, text: range.source.text };
  return { title: "Write ??", edits: [{ span: spanOf(source, end - 2, end), text: "??" }] };
}

/** The text of an expression that a cast follows. */
function operandText(expression: as.Expression): string {
  const text = textOf(expression);
  return expression.kind === NodeKind.Binary || expression.kind === NodeKind.Ternary ? `(${text})` : text;
}

/** The text of the first number in an expression. */
function firstOf(node: as.Node): string {
  return textOf(firstNodeOf(node));
}

function firstNodeOf(node: as.Node): as.Node {
  const inner = withoutParentheses(node);
  return inner.kind === NodeKind.Binary ? firstNodeOf((inner as as.BinaryExpression).left) : inner;
}

/** Begins with an i64, where the first operand is a number that is written there. */
function widened(node: as.Node): Fix | undefined {
  const first = firstNodeOf(node);
  const text = textOf(first);
  if (!/^\d[\d_]*$/.test(text)) return undefined;
  return { title: "Compute it as i64", edits: [{ span: spanOfRange(first.range), text: `(${text} as i64)` }] };
}

/** Keeps the fraction, as TypeScript does. An integer of 64 bits becomes a float by a cast only. */
function divided({ left, right }: as.BinaryExpression, type: string): Fix {
  const cast = (operand: as.Expression): Edit => ({
    span: spanOfRange(operand.range),
    text: `(${operandText(operand)} as f64)`,
  });
  return { title: "Keep the fraction", edits: [cast(left), ...(/64|size/.test(type) ? [cast(right)] : [])] };
}

/** `ages.get(name) == null` asks the map whether it has the key. */
function asked(node: as.Node, access: "key" | "index" | "element"): Fix | undefined {
  if (access !== "key" || node.kind !== NodeKind.Binary) return undefined;
  const { operator, left, right } = node as as.BinaryExpression;
  const call = withoutParentheses(right.kind === NodeKind.Null ? left : right);
  const [, map, key] = /^(.*)\.get(\(.*\))$/s.exec(textOf(call)) ?? [];
  if (map === undefined || key === undefined || call.kind !== NodeKind.Call) return undefined;
  const isAbsent = operator === Token.Equals_Equals || operator === Token.Equals_Equals_Equals;
  const text = `${isAbsent ? "!" : ""}${map}.has${key}`;
  return { title: `Write ${text}`, edits: [{ span: spanOfRange(node.range), text }] };
}
