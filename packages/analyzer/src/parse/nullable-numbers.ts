/**
 * `f64 | null`, and the other numbers and booleans that may be null. The compiler has null for objects only, so such a type
 * is an object of the SDK's class `Boxed`. Nobody sees it: a number is boxed where null would fit too, and unboxed as
 * soon as it is known not to be null. Objects are never compared: numbers are.
 */
import {
  as,
  AssertionKind,
  Constraints,
  DiagnosticCode,
  NodeKind,
  ReportMode,
  Token,
  TypeKind,
} from "./assemblyscript.ts";
import { withoutParentheses } from "./children.ts";
import { mistakeText } from "./expand/mistakes.ts";

/** Path of the file with the class, in the SDK. */
export const BOXED_FILE = "boxed.ts";

const BOXED = "~lib/@radical/sdk/boxed/Boxed";
const IS_SAME = "~lib/@radical/sdk/boxed/isSame";
const IS_DIFFERENT = "~lib/@radical/sdk/boxed/isDifferent";
const IS_TRUE = "~lib/@radical/sdk/boxed/isTrue";

/** The number or boolean in a box, also in one that may be null; null: the type is another one. */
export function boxedType(type: as.Type): as.Type | null {
  const found = type.getClass();
  return found?.prototype.internalName === BOXED ? found.typeArguments![0]! : null;
}

/** Whether values of the type are boxed where they may be null. */
export function isBoxable(type: as.Type): boolean {
  return !type.isReference && NUMBERS.has(type.kind);
}

/** The type of values that may be null too. */
export function nullableOf(program: as.Program, type: as.Type): as.Type | null {
  return type.isReference ? type.asNullable() : (boxOf(program, type)?.type.asNullable() ?? null);
}

/** The compiler by itself, of which nobody writes anything down. */
export type Original = Pick<as.Compiler, "compileExpression" | "convertExpression" | "makeCallDirect">;

interface ResolverInternals {
  resolveType(node: as.TypeNode, ...context: readonly unknown[]): as.Type | null;
  resolveExpression(node: as.Expression, flow: as.Flow, ...context: readonly unknown[]): as.Type | null;
  lookupExpression(node: as.Expression, flow: as.Flow, ...context: readonly unknown[]): as.Element | null;
  getElementOfType(type: as.Type): as.Element | null;
}

/** Teaches the resolver of a program what a nullable number is. */
export function resolveNullableNumbers(program: as.Program): void {
  // Instances have no methods of their own: these come before those of the class.
  const resolver = program.resolver as unknown as ResolverInternals;
  const resolveType = resolver.resolveType.bind(resolver);
  resolver.resolveType = (node, ...context) => {
    if (!node.isNullable || node.kind !== NodeKind.NamedType || node.range.source.isLibrary)
      return resolveType(node, ...context);
    const plain = Object.assign(Object.create(Object.getPrototypeOf(node) as object) as as.TypeNode, node, {
      isNullable: false,
    });
    const type = resolveType(plain, ...context);
    if (type === null) return null;
    return nullableOf(program, type) ?? resolveType(node, ...context);
  };
  const resolveExpression = resolver.resolveExpression.bind(resolver);
  resolver.resolveExpression = (node, ...context) => {
    const type = resolveExpression(node, ...context);
    if (type === null || type.isNullableReference || node.range.source.isLibrary) return type;
    return boxedType(type) ?? type;
  };
  // The members of `price!` are those of a number.
  const lookupExpression = resolver.lookupExpression.bind(resolver);
  resolver.lookupExpression = (node, ...context) => {
    const inner = withoutParentheses(node);
    if (!isNonNull(inner) || inner.range.source.isLibrary) return lookupExpression(node, ...context);
    const type = resolver.resolveExpression(inner, ...context);
    return type === null || !isBoxable(type) ? lookupExpression(node, ...context) : resolver.getElementOfType(type);
  };
}

/** The class that holds values of the type; null: there is none, as these are other values. */
function boxOf(program: as.Program, type: as.Type): as.Class | null {
  const prototype = program.elementsByName.get(BOXED);
  if (prototype === undefined || !NUMBERS.has(type.kind)) return null;
  return program.resolver.resolveClass(prototype as as.ClassPrototype, [type]);
}

const NUMBERS: ReadonlySet<as.TypeKind> = new Set<as.TypeKind>([
  TypeKind.Bool,
  TypeKind.I8,
  TypeKind.U8,
  TypeKind.I16,
  TypeKind.U16,
  TypeKind.I32,
  TypeKind.U32,
  TypeKind.I64,
  TypeKind.U64,
  TypeKind.F32,
  TypeKind.F64,
]);

/** The part of a compiler that is about nullable numbers. */
export class NullableNumbers {
  readonly #compiler: as.Compiler;
  readonly #original: Original;
  /** Expressions whose box is wanted, though the context does not say so. */
  readonly #kept = new WeakSet<as.Node>();
  /** Sides of a `?:` that stands where a box is wanted. */
  readonly #boxed = new WeakSet<as.Node>();

  constructor(compiler: as.Compiler, original: Original) {
    this.#compiler = compiler;
    this.#original = original;
  }

  compileExpression(expression: as.Expression, context: as.Type, constraints: as.Constraints): as.ExpressionRef {
    if (expression.range.source.isLibrary) return this.#original.compileExpression(expression, context, constraints);
    const node = withoutParentheses(expression);
    const wanted = boxedType(context);
    if (node.kind === NodeKind.Binary) {
      const compared = this.#compileComparison(node as as.BinaryExpression);
      if (compared !== null) return compared;
    }
    let demands = constraints;
    if (wanted !== null) {
      if (this.#boxed.has(node)) demands |= Constraints.ConvImplicit;
      if (node.kind === NodeKind.Ternary) {
        const { ifThen, ifElse } = node as as.TernaryExpression;
        this.#boxed.add(withoutParentheses(ifThen)).add(withoutParentheses(ifElse));
      } else if (isArithmetic(node)) {
        // The operands are numbers, whatever their sum becomes.
        const value = this.#original.compileExpression(node, wanted, Constraints.ConvImplicit);
        return this.convertExpression(value, this.#compiler.currentType, context, false, node);
      }
    }
    const value = this.#original.compileExpression(node, context, demands);
    const type = this.#compiler.currentType;
    if (node.kind === NodeKind.New && hasNullableKeys(type))
      this.#compiler.error(DiagnosticCode.Not_implemented_0, node.range, mistakeText("nullable_keys"));
    if (wanted !== null || this.#kept.has(node) || boxedType(type) === null) return value;
    return this.#compiler.currentFlow.isNonnull(value, type) ? this.#unboxed(value, type) : value;
  }

  convertExpression(
    value: as.ExpressionRef,
    from: as.Type,
    to: as.Type,
    explicit: boolean,
    node: as.Node,
  ): as.ExpressionRef {
    const target = boxedType(to);
    const held = boxedType(from);
    if (!node.range.source.isLibrary) {
      if (target !== null && held === null && isBoxable(from)) return this.#box(value, from, to, explicit, node);
      if (held !== null && target === null && isBoxable(to)) {
        const isKnown = this.#compiler.currentFlow.isNonnull(value, from);
        if (isKnown || explicit) {
          const some = isKnown ? value : this.#compiler.makeRuntimeNonNullCheck(value, from, node);
          return this.#original.convertExpression(this.#unboxed(some, from), held, to, explicit, node);
        }
      }
    }
    return this.#original.convertExpression(value, from, to, explicit, node);
  }

  /** The text of a number, or "null"; null: the value is another. */
  makeToString(value: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef | null {
    const held = boxedType(type);
    if (held === null) return null;
    const { module, currentFlow } = this.#compiler;
    const box = currentFlow.getTempLocal(type);
    const number = this.#unboxed(module.local_get(box.index, type.toRef()), type);
    const text = this.#compiler.makeToString(number, held, node);
    return module.if(module.local_tee(box.index, value, true), text, this.#compiler.ensureStaticString("null"));
  }

  #box(value: as.ExpressionRef, from: as.Type, to: as.Type, explicit: boolean, node: as.Node): as.ExpressionRef {
    const box = to.getClass()!;
    const held = this.#original.convertExpression(value, from, boxedType(to)!, explicit, node);
    const constructor = this.#compiler.ensureConstructor(box, node);
    const { module } = this.#compiler;
    const made = this.#original.makeCallDirect(constructor, [module.i32(0), held], node);
    this.#compiler.currentType = to;
    return made;
  }

  #unboxed(box: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    const held = boxedType(type)!;
    const member = type.getClass()!.getMember("value") as as.PropertyPrototype;
    const { memoryOffset } = this.#compiler.resolver.resolveProperty(member)!;
    this.#compiler.currentType = held;
    return this.#compiler.module.load(held.byteSize, held.isSignedIntegerValue, box, held.toRef(), memoryOffset);
  }

  /** As a condition, null is false, and so are 0, "not a number" and false. */
  isTrue(box: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef {
    return this.#call(IS_TRUE, [box], type, node);
  }

  isSame(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef {
    return this.#call(IS_SAME, [left, right], type, node);
  }

  /** A call of one of the functions beside the class, whose result is a bool. The type of the expression around it stays. */
  #call(name: string, operands: as.ExpressionRef[], type: as.Type, node: as.Node): as.ExpressionRef {
    const { program, resolver, currentType } = this.#compiler;
    const prototype = program.elementsByName.get(name) as as.FunctionPrototype;
    const called = resolver.resolveFunction(prototype, [boxedType(type)!])!;
    const made = this.#original.makeCallDirect(called, operands, node);
    this.#compiler.currentType = currentType;
    return made;
  }

  /** A comparison in which a side may be null; null: it is none. */
  #compileComparison({ operator, left, right }: as.BinaryExpression): as.ExpressionRef | null {
    const isDifferent = operator === Token.Exclamation_Equals || operator === Token.Exclamation_Equals_Equals;
    if (!isDifferent && operator !== Token.Equals_Equals && operator !== Token.Equals_Equals_Equals) return null;
    const [one, other] = [withoutParentheses(left), withoutParentheses(right)];
    if (one.kind === NodeKind.Null || other.kind === NodeKind.Null) {
      this.#kept.add(one).add(other);
      return null;
    }
    if (isPlain(one) && isPlain(other)) return null;
    const type = this.#nullableOf(one) ?? this.#nullableOf(other);
    if (type === null) return null;
    const { program, resolver } = this.#compiler;
    const prototype = program.elementsByName.get(isDifferent ? IS_DIFFERENT : IS_SAME) as as.FunctionPrototype;
    const comparing = resolver.resolveFunction(prototype, [boxedType(type)!])!;
    const sides = [one, other].map((side) =>
      this.#compiler.compileExpression(side, type.nullableType!, Constraints.ConvImplicit),
    );
    const compared = this.#original.makeCallDirect(comparing, sides, one);
    this.#compiler.currentType = as.Type.bool;
    return compared;
  }

  #nullableOf(node: as.Expression): as.Type | null {
    if (isPlain(node)) return null;
    const { resolver, program, currentFlow } = this.#compiler;
    const told = program.diagnostics.length;
    const type = resolver.resolveExpression(node, currentFlow, as.Type.auto, ReportMode.Swallow);
    program.diagnostics.length = told;
    return type !== null && boxedType(type) !== null ? type : null;
  }
}

/** Whether values of a type are sets or maps with nullable numbers as keys. */
function hasNullableKeys(type: as.Type): boolean {
  const { prototype, typeArguments } = type.getClass() ?? {};
  const isCollection = /^~lib\/(map\/Map|set\/Set)$/.test(prototype?.internalName ?? "");
  return isCollection && boxedType(typeArguments![0]!) !== null;
}

function isNonNull(node: as.Expression): boolean {
  return node.kind === NodeKind.Assertion && (node as as.AssertionExpression).assertionKind === AssertionKind.NonNull;
}

/** Whether it surely is not a nullable number. */
function isPlain({ kind }: as.Expression): boolean {
  return kind === NodeKind.Literal || kind === NodeKind.Binary || kind === NodeKind.True || kind === NodeKind.False;
}

function isArithmetic(node: as.Expression): boolean {
  switch (node.kind) {
    case NodeKind.Literal:
    case NodeKind.UnaryPrefix:
      return true;
    case NodeKind.Binary: {
      const { operator } = node as as.BinaryExpression;
      return operator !== Token.Equals && operator !== Token.Bar_Bar && operator !== Token.Ampersand_Ampersand;
    }
    default:
      return false;
  }
}
