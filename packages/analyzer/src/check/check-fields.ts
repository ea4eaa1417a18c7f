/**
 * Fields of derived classes whose initial values would be other ones than in TypeScript. AssemblyScript computes them when the
 * constructor begins, and TypeScript behind `super()`. A constructor that is not written is right.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { as, CommonFlags, NodeKind } from "../parse/assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../parse/children.ts";
import { isDevelopers } from "../parse/graft.ts";
import { spanOfRange } from "../parse/span.ts";

export function checkFields(sources: readonly as.Source[]): Diagnostic[] {
  return sources.filter(isDevelopers).flatMap(({ statements }) => statements.flatMap(fieldsIn));
}

function fieldsIn(statement: as.Statement): Diagnostic[] {
  if (statement instanceof as.ExportDefaultStatement) return fieldsIn(statement.declaration);
  if (!(statement instanceof as.ClassDeclaration) || statement.extendsType === null) return [];
  const { members } = statement;
  if (!members.some((member) => member.is(CommonFlags.Constructor))) return [];
  return members.flatMap((member) => {
    const { initializer } = member as as.FieldDeclaration;
    if (!(member instanceof as.FieldDeclaration) || member.is(CommonFlags.Static)) return [];
    // variant: field-behind-super
    if (initializer === null || !depends(initializer)) return [];
    const { text } = member.name;
    return [
      diagnostic("class_form", {
        message: `The initial value of ${text} is computed before \`super()\` runs, and in TypeScript behind it.`,
        primary: spanOfRange(initializer.range),
        help: `Give the field a constant value here, and its own in the constructor, behind \`super()\`: \`this.${text} = …;\`.`,
      }),
    ];
  });
}

/** Functions of the SDK that change nothing, and whose results are the same at both times. */
const QUIET: ReadonlySet<string> = new Set(["uuid", "random", "now", "caller", "parseTime"]);

/** Whether a value may be another one, or do something else, behind `super()`: it uses the object or calls a function. */
function depends(node: as.Node): boolean {
  if (node.kind === NodeKind.This) return true;
  if (node.kind === NodeKind.Function) return false;
  if (node instanceof as.CallExpression) {
    const callee = withoutParentheses(node.expression);
    if (callee instanceof as.IdentifierExpression && !QUIET.has(callee.text)) return true;
  }
  return childrenOf(node).some(depends);
}
