/**
 * The one importer of the AssemblyScript compiler. Its internals are not a documented API, so the version is pinned
 * exactly and checked. *f*, *f^rw* and the analysis must all come from the same compiler.
 *
 * The compiler's enums are ambient `const enum`s in its typings but objects at run time; they are re-exported here
 * as both. Numbers of enum members change between versions: never write them down.
 */
import * as as from "assemblyscript";
import binaryen from "assemblyscript/binaryen";
import packageJson from "assemblyscript/package.json" with { type: "json" };

export const ASSEMBLYSCRIPT_VERSION = "0.28.20";

if (packageJson.version !== ASSEMBLYSCRIPT_VERSION) {
  throw new Error(
    `@radical/analyzer needs exactly assemblyscript ${ASSEMBLYSCRIPT_VERSION}, found ${packageJson.version}: reinstall the dependencies`,
  );
}

type EnumObject<E> = { readonly [Member in keyof E]: E[Member] };

const enums = as as unknown as {
  readonly NodeKind: EnumObject<typeof as.NodeKind>;
  readonly ElementKind: EnumObject<typeof as.ElementKind>;
  readonly LiteralKind: EnumObject<typeof as.LiteralKind>;
  readonly ArrowKind: EnumObject<typeof as.ArrowKind>;
  readonly AssertionKind: EnumObject<typeof as.AssertionKind>;
  readonly ParameterKind: EnumObject<typeof as.ParameterKind>;
  readonly CommonFlags: EnumObject<typeof as.CommonFlags>;
  readonly DiagnosticCode: EnumObject<typeof as.DiagnosticCode>;
  readonly IdentifierHandling: EnumObject<typeof as.IdentifierHandling>;
  readonly TypeKind: EnumObject<typeof as.TypeKind>;
  readonly OperatorKind: EnumObject<typeof as.OperatorKind>;
  readonly Token: EnumObject<typeof as.Token>;
  readonly FlowFlags: EnumObject<typeof as.FlowFlags>;
  readonly LocalFlags: EnumObject<typeof as.LocalFlags>;
  readonly ReportMode: EnumObject<typeof as.ReportMode>;
  readonly Runtime: EnumObject<typeof as.Runtime>;
  readonly Target: EnumObject<typeof as.Target>;
  readonly Constraints: EnumObject<typeof as.Constraints>;
  readonly ExpressionId: EnumObject<typeof as.ExpressionId>;
  readonly BinaryOp: EnumObject<typeof as.BinaryOp>;
  readonly UnaryOp: EnumObject<typeof as.UnaryOp>;
  readonly Precedence: EnumObject<typeof as.Precedence>;
};

export const NodeKind = enums.NodeKind;
export type NodeKind = as.NodeKind;
export const ElementKind = enums.ElementKind;
export type ElementKind = as.ElementKind;
export const LiteralKind = enums.LiteralKind;
export type LiteralKind = as.LiteralKind;
export const ArrowKind = enums.ArrowKind;
export type ArrowKind = as.ArrowKind;
export const AssertionKind = enums.AssertionKind;
export type AssertionKind = as.AssertionKind;
export const ParameterKind = enums.ParameterKind;
export type ParameterKind = as.ParameterKind;
export const CommonFlags = enums.CommonFlags;
export type CommonFlags = as.CommonFlags;
export const DiagnosticCode = enums.DiagnosticCode;
export type DiagnosticCode = as.DiagnosticCode;
export const IdentifierHandling = enums.IdentifierHandling;
export type IdentifierHandling = as.IdentifierHandling;
export const TypeKind = enums.TypeKind;
export type TypeKind = as.TypeKind;
export const OperatorKind = enums.OperatorKind;
export type OperatorKind = as.OperatorKind;
export const Token = enums.Token;
export type Token = as.Token;
export const FlowFlags = enums.FlowFlags;
export type FlowFlags = as.FlowFlags;
export const LocalFlags = enums.LocalFlags;
export type LocalFlags = as.LocalFlags;
export const ReportMode = enums.ReportMode;
export type ReportMode = as.ReportMode;
export const Runtime = enums.Runtime;
export type Runtime = as.Runtime;
export const Target = enums.Target;
export type Target = as.Target;
export const Constraints = enums.Constraints;
export type Constraints = as.Constraints;
export const ExpressionId = enums.ExpressionId;
export type ExpressionId = as.ExpressionId;
export const BinaryOp = enums.BinaryOp;
export type BinaryOp = as.BinaryOp;
export const UnaryOp = enums.UnaryOp;
export type UnaryOp = as.UnaryOp;
export const Precedence = enums.Precedence;
export type Precedence = as.Precedence;

export { as, binaryen };
