/**
 * Words for the findings of `parse/arithmetic.ts` about numbers and tests: forms that mean something else than they seem
 * to.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type Edit, type Fix } from "../diagnostics/diagnostic.ts";
import type { Finding, Test } from "../parse/arithmetic.ts";
import { NodeKind, Token, type as } from "../parse/assemblyscript.ts";
import { withoutParentheses } from "../parse/children.ts";
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
        help:
          value >= -(2n ** 63n) && value < 2n ** 63n && type !== "i64"
            ? `An i64 holds it. Begin with \`(${firstOf(node)} as i64)\`, or declare the constant with its type: \`const LIMIT: i64 = ${textOf(node)};\`.`
            : `An f64 holds it nearly. Begin with \`(${firstOf(node)} as f64)\`.`,
        fix: value >= -(2n ** 63n) && value < 2n ** 63n && type !== "i64" ? widened(node) : undefined,
      });
    }
    case "integer-division": {
      const { left, right } = node as as.BinaryExpression;
      const [dividend, divisor] = [operandText(left), textOf(right)];
      return diagnostic("integer_division", {
        message: `A division of integers cuts the fraction, before its result becomes a ${finding.into}.`,
        primary,
        help: `For the fraction write \`(${dividend} as f64) / ${divisor}\`. For the whole part write \`(${textOf(node)}) as ${finding.type}\`.`,
        fix: divided(node as as.BinaryExpression, finding.type),
      });
    }
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
      });
    }
    case "shift-by-zero": {
      const { left } = node as as.BinaryExpression;
      return diagnostic("dead_code", {
        message: "This shift changes nothing, because the number keeps its type and its sign.",
        primary,
        help: `Without the sign it is \`${operandText(left)} as u32\`.`,
      });
    }
    case "large-literal":
      return diagnostic("constant_overflow", {
        message: `${textOf(node)} does not fit into an i32, so ${finding.name} would be a number without a sign.`,
        primary,
        help: `Write the type: \`${finding.name}: i64 = ${textOf(node)}\`.`,
      });
    case "locale-order":
      return diagnostic("sort_order", {
        message: "Handlers know no order of a language, so that `localeCompare` would put B before a.",
        primary,
        help: "Compare the texts: `a < b ? -1 : a > b ? 1 : 0`. Where letters are equal in both cases, compare `toLowerCase()`.",
      });
    case "sort-order":
      return diagnostic("sort_order", {
        message: "Without a function, TypeScript sorts numbers by their texts, so that 10 comes before 9.",
        primary,
        help: `Say the order: \`${textOf((node as as.CallExpression).expression)}(${BY_NUMBER})\`.`,
        fix: ordered(node as as.CallExpression),
      });
  }
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

const BY_NUMBER = "(a, b) => a - b";

/** A function that compares, as the argument of a call that has none. */
function ordered({ range }: as.CallExpression): Fix {
  const source = { path: range.source.normalizedPath, text: range.source.text };
  return { title: "Sort by number", edits: [{ span: spanOf(source, range.end - 1, range.end - 1), text: BY_NUMBER }] };
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
