/**
 * Which operations of the language and its library never trap, whatever their operands: all that f^rw may run where f
 * itself would not have. What is not listed may trap. (Memory, stack, and keys that no store takes are the host's to
 * judge: there f^rw gives no set at all.)
 */
import { nonNullable, type Expression, type LibraryCall, type Type } from "../lower/ir.ts";

const QUIET_MEMBERS: ReadonlySet<string> = new Set([
  ..."charAt charCodeAt codePointAt concat endsWith startsWith includes indexOf lastIndexOf localeCompare replace replaceAll slice split substr substring toLowerCase toUpperCase trim trimEnd trimStart trimLeft trimRight toString == != < > <= >= + length"
    .split(" ")
    .map((name) => `String.${name}`),
  ..."length includes indexOf lastIndexOf join toString slice concat reverse sort forEach some every findIndex findLastIndex filter map reduceRight push unshift fill"
    .split(" ")
    .map((name) => `Array.${name}`),
  ..."has set delete clear size keys values new".split(" ").map((name) => `Map.${name}`),
  ..."has add delete clear size values new".split(" ").map((name) => `Set.${name}`),
  ..."Bool I8 U8 I16 U16 I32 U32 I64 U64 Isize Usize F32 F64".split(" ").map((name) => `${name}.toString`),
]);

const QUIET_FUNCTIONS: ReadonlySet<string> = new Set(
  "abs ceil floor max min nearest sqrt trunc isNaN isFinite parseFloat parseInt".split(" "),
);

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

function isQuietMember({ member, name, arguments: args }: LibraryCall): boolean {
  if (member.form === "constructor" && member.owner === "Array") return args.length === 0;
  if (member.owner === "NativeMath" || member.owner === "NativeMathf") return true;
  if (member.owner === "") return QUIET_FUNCTIONS.has(name) || QUIET_FUNCTIONS.has(member.name);
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
