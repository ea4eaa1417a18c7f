/**
 * Which operations of the language and its library never trap, whatever their operands: all that f^rw may run where f
 * itself would not have. Operations that are not listed may trap. (Memory, stack, and keys that no store takes are the host's to
 * judge: there f^rw gives no set at all.)
 */
import { nonNullable, type Expression, type LibraryCall, type Type } from "../lower/ir.ts";

/** `owner.name`, as the library's models name them. */
export const QUIET_MEMBERS: ReadonlySet<string> = new Set([
  ...named(
    "String",
    "charAt charCodeAt codePointAt concat endsWith startsWith includes indexOf lastIndexOf replace slice split substring toLowerCase toUpperCase trim trimEnd trimStart trimLeft trimRight toString == != < > <= >= + length",
  ),
  ...named(
    "Array",
    "length includes indexOf lastIndexOf join toString slice concat reverse sort forEach some every findIndex findLastIndex filter map reduceRight push unshift",
  ),
  ...named("Map", "has set delete clear size keys values new"),
  ...named("Set", "has add delete clear size values new"),
  ...named("Bool I8 U8 I16 U16 I32 U32 I64 U64 Isize Usize F32 F64", "toString"),
  ...named(
    "NativeMath NativeMathf",
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp exp2 expm1 floor fround hypot imul log log10 log1p log2 max min mod pow rem round scalbn sign sin sinh sqrt tan tanh trunc",
  ),
  ...named(
    "",
    "abs ceil floor max min nearest sqrt trunc isNaN isFinite parseFloat parseInt log parseTime ascending descending sha256 numberOf quoted jsonOfFloat entryPart",
  ),
  ...named("Table", "all prefix range"),
  ...named("Range", "after before"),
  ...named("log", "debug warn error"),
]);

function named(owners: string, names: string): string[] {
  return owners.split(" ").flatMap((owner) => names.split(" ").map((name) => `${owner}.${name}`));
}

/** Whether the expression itself may trap; its operands and callees are the caller's to ask about. */
export function mayTrap(expression: Expression): boolean {
  switch (expression.kind) {
    case "non-null":
      return expression.operand.type.kind === "nullable";
    case "cast":
      return !isQuietCast(expression.operand.type, expression.type);
    case "operation":
      return mayOperationTrap(expression.operator, expression.operands, expression.type);
    case "assignment":
      return (
        expression.target.kind === "element" ||
        (expression.value !== null && mayOperationTrap(expression.operator, [expression.value], expression.type))
      );
    case "library":
      return !isQuietMember(expression);
    case "call":
      // The compiler finds no method that a class inherits from a base that does not name the interface.
      return expression.callees.some((callee) => callee.owner?.kind === "interface");
    default:
      return false;
  }
}

function isQuietMember({ member, arguments: args }: LibraryCall): boolean {
  if (member.form === "constructor" && member.owner === "Array") return args.length === 0;
  if (member.name === "toString" && !args.every(isRadix)) return false;
  return QUIET_MEMBERS.has(`${member.owner}.${member.name}`);
}

/** Of `toString(radix)`. */
function isRadix(argument: Expression): boolean {
  const radix = argument.kind === "constant" ? Number(argument.text) : Number.NaN;
  return radix >= 2 && radix <= 36;
}

/** Only division by what may be 0, or -1 (which overflows for the smallest number). */
function mayOperationTrap(operator: string, operands: readonly Expression[], type: Type): boolean {
  if (operator !== "/" && operator !== "%") return false;
  if (type.kind === "number" && (type.name === "f32" || type.name === "f64")) return false;
  const divisor = operands.at(-1);
  if (divisor?.kind !== "constant") return true;
  const number = Number(divisor.text.replaceAll("_", ""));
  return Number.isNaN(number) || number === 0 || number === -1;
}

/** Conversions between numbers saturate or wrap. A reference may turn out not to be of the class. */
function isQuietCast(from: Type, to: Type): boolean {
  if (from.kind === "nullable" && to.kind !== "nullable") return false;
  const source = nonNullable(from);
  const target = nonNullable(to);
  if (source.kind !== "class" || target.kind !== "class") return true;
  for (let base: typeof source.declaration | null = source.declaration; base !== null; base = base.base)
    if (base === target.declaration) return true;
  return false;
}
