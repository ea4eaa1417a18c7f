/** The values by which an index is asked: each is of the type of its field, and there are no more of them than fields. */
import type { ValueType } from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { type as, ElementKind, NodeKind } from "../parse/assemblyscript.ts";
import { withoutParentheses } from "../parse/children.ts";
import type { CompiledProgram } from "../parse/compile.ts";
import type { FactsCompiler } from "../parse/facts.ts";
import { isDevelopers } from "../parse/graft.ts";
import { INDEXES_LIBRARY, writtenIndexes } from "../parse/indexes.ts";
import { readableTypes, spanOfRange } from "../parse/span.ts";
import type { IndexSchema } from "../schema/indexes.ts";

export function checkIndexes(
  { compiler }: CompiledProgram<FactsCompiler>,
  indexes: readonly IndexSchema[],
): Diagnostic[] {
  if (compiler === null) return [];
  const found: Diagnostic[] = [];
  for (const [called, sites] of compiler.calls) {
    const { name, internalName } = called.prototype;
    if (!internalName.startsWith(`${INDEXES_LIBRARY}/`) || (name !== "equal" && name !== "find")) continue;
    const [type] = called.signature.parameterTypes;
    for (const { node } of sites) {
      if (node.kind !== NodeKind.Call || !isDevelopers(node.range.source) || type === undefined) continue;
      const problem = problemOf(compiler, node as as.CallExpression, name, type, indexes);
      if (problem !== null) found.push(diagnostic("index_part", { ...problem, primary: spanOfRange(node.range) }));
    }
  }
  return found;
}

interface Problem {
  readonly message: string;
  readonly help: string;
}

function problemOf(
  { facts, program }: FactsCompiler,
  node: as.CallExpression,
  method: string,
  type: as.Type,
  indexes: readonly IndexSchema[],
): Problem | null {
  const { root, before } = rootOf(node);
  const { target } = facts.getAnywhere(root);
  const declaration = target?.kind === ElementKind.Global ? (target as as.Global).declaration : null;
  const index = indexes.find((one) => one.declaration === declaration);
  // The mistake in its declaration is told.
  if (index === undefined && writtenIndexes(program).some((written) => written.declaration === declaration))
    return null;
  if (index === undefined)
    return {
      message: `The build can't tell which field this \`${method}\` is about, because it does not stand behind an index.`,
      help: "Call it of the constant: `byAuthor.equal(author).equal(at)`.",
    };
  const { fields, types, variable } = index;
  const field = fields[before];
  const expected = types[before];
  if (field === undefined || expected === undefined)
    return {
      message: `The index ${variable} has no field for this \`${method}\`.`,
      help: `Give at most ${fields.length} values: ${formOf(index)}.`,
    };
  if (method === "find" && before < fields.length - 1)
    return {
      message: `This \`find\` gives ${before + 1} of the ${fields.length} fields of ${variable}, so several items may fit.`,
      help: `Give all of them: ${formOf(index)}.`,
    };
  if (isOf(program, type, expected)) return null;
  return {
    message: `The field ${field} of the index ${variable} is ${wordsOf(expected)}, and this value is of type ${readableTypes(type.toString())}.`,
    help: type.isNullableReference
      ? "Test the value first: an item with null in the field is not in the index."
      : `Give ${wordsOf(expected)}.`,
  };
}

/** The expression before the calls of a chain, and the number of calls before the last one. */
function rootOf(node: as.CallExpression): { readonly root: as.Expression; readonly before: number } {
  let root: as.Expression = node;
  let calls = 0;
  while (root.kind === NodeKind.Call) {
    const called = withoutParentheses((root as as.CallExpression).expression);
    if (called.kind !== NodeKind.PropertyAccess) break;
    const { property, expression } = called as as.PropertyAccessExpression;
    if (calls > 0 && property.text !== "equal") break;
    root = withoutParentheses(expression);
    calls++;
  }
  return { root, before: calls - 1 };
}

/** As many calls as the index has fields. */
function formOf({ variable, fields, unique }: IndexSchema): string {
  const last = unique ? "find" : "equal";
  const calls = fields.map((field, at) => `.${at === fields.length - 1 ? last : "equal"}(${field})`);
  return `\`${variable}${calls.join("")}\``;
}

function isOf(program: as.Program, type: as.Type, { kind }: ValueType): boolean {
  if (type.isNullableReference) return false;
  if (kind === "string") return type.getClass() === program.stringInstance;
  if (type.isReference) return false;
  return kind === "bool" ? type.isBooleanValue : type.isIntegerValue && !type.isBooleanValue;
}

function wordsOf({ kind }: ValueType): string {
  return kind === "string" ? "a text" : kind === "bool" ? "a boolean" : "an integer";
}
