/** The declarations that function bodies refer to. Each is lowered once for each program. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { as, OperatorKind } from "../parse/assemblyscript.ts";
import type { Facts } from "../parse/facts.ts";
import type {
  ClassDeclaration,
  DrawSite,
  FieldDeclaration,
  FunctionDeclaration,
  Global,
  Local,
  Statement,
  Type,
} from "./ir.ts";

export interface Declarations {
  /** Code without a rule is left out instead of refused; see `lowerAsKnown`. */
  readonly asKnown: boolean;
  readonly facts: Facts;
  readonly program: as.Program;
  function(source: as.Function): FunctionDeclaration;
  /** A function that calls the SDK's, for what uses that as a value; null: it can't be one. `span`: of the first use. */
  sdkFunction(source: as.Function, span: Span): FunctionDeclaration | null;
  /** The functions that a call of this instance may reach: itself and its overrides. */
  callees(source: as.Function): FunctionDeclaration[];
  field(property: as.Property, span: Span): FieldDeclaration;
  global(source: as.Global, span: Span): Global;
  enumValue(source: as.EnumValue): Global;
  /** The site of a call of `random` or `uuid`: one for each place, also in several instances of a generic function. */
  drawSite(span: Span): DrawSite;
  type(source: as.Type, span: Span): Type;
  /** The class of rows whose items are texts. */
  rowOfText(span: Span): Type;
  /** The constructor of a class of rows. */
  rowConstructor(row: ClassDeclaration, span: Span): FunctionDeclaration;
  /** A table that the source does not name, one for each table and type. `purpose`: in its name in a printed source. */
  hiddenTable(purpose: string, table: string, type: Type, span: Span): Global;
  /** Makes a function that the source does not have. */
  synthetic(
    name: string,
    parameters: readonly Local[],
    result: Type,
    body: readonly Statement[],
    span: Span,
  ): FunctionDeclaration;
  /** The function that an operator on objects of the class calls; null: there is none. */
  operator(declaration: ClassDeclaration, operator: OperatorKind): as.Function | null;
  method(declaration: ClassDeclaration, name: string): as.Function | null;
}
