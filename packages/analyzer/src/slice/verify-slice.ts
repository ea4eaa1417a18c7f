/**
 * Checks every slice for three properties. It makes all accesses, and names all lanes, of the functions that it still has. It
 * has values of puts only where they are read again. It has no field that its classes lack.
 */
import { MalformedProgram, verifyProgram } from "../lower/verify-ir.ts";
import {
  isAccess,
  walkExpression,
  walkFunction,
  type Expression,
  type FunctionDeclaration,
  type Program,
} from "../lower/ir.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import type { Relevance } from "../infer/relevance.ts";
import type { Residual } from "./residual.ts";

/** Throws `MalformedProgram`. */
export function verifySlice(original: Program, residual: Residual, relevance: Relevance): void {
  const { program, fields, accesses } = residual;
  verifyProgram(program, "sliced");
  const stored = new Set(Array.from(relevance.stored, ({ span }) => place(span)));
  const check = (expression: Expression): void => {
    const { span } = expression;
    if (expression.kind === "access" && (expression.operation === "put" || expression.operation === "delete")) {
      if (!stored.has(place(span))) throw new MalformedProgram(`${expression.operation} that nobody reads again`, span);
    }
    const field =
      expression.kind === "field"
        ? expression.field
        : expression.kind === "assignment" && expression.target.kind === "field"
          ? expression.target.field
          : null;
    if (field !== null && !fields.has(field)) throw new MalformedProgram(`the field ${field.name} is not kept`, span);
  };
  for (const declaration of program.functions) walkFunction(declaration, check);
  for (const initializer of fields.values()) if (initializer !== null) walkExpression(initializer, check);

  const said = new Set(Array.from(accesses.keys(), ({ span }) => place(span)));
  for (const declaration of program.functions)
    walkFunction(declaration, ({ kind, span }) => {
      if (kind === "lane") said.add(place(span));
    });
  const kept = new Set(program.functions.map(identity));
  for (const declaration of original.functions) {
    if (!kept.has(identity(declaration))) continue;
    walkFunction(declaration, (expression) => {
      if ((isAccess(expression) || expression.kind === "lane") && !said.has(place(expression.span)))
        throw new MalformedProgram(
          `${expression.kind === "lane" ? "a lane" : "an access"} of ${declaration.name} is lost`,
          expression.span,
        );
    });
  }
}

function place({ file, start, end }: Span): string {
  return `${file}:${start}:${end}`;
}

/** A function of the slice stands at the same place as its original; of several generic instances each has its name. */
function identity({ name, kind, span }: FunctionDeclaration): string {
  return `${place(span)}:${kind}:${name}`;
}
