/**
 * Functions that capture, given to the methods of arrays, sets and maps. The method is a loop, and the function its body:
 * the variables around it stay variables. A function that AssemblyScript takes as it is stays an argument.
 */
import { as, AssertionKind, CommonFlags, Token } from "../assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import { PredicateNode } from "../forms-types.ts";
import { boxedType, nullableOf } from "../nullable-numbers.ts";
import { isArrayFrom, lengthIn } from "./array-from.ts";
import { zeroOf } from "./chains.ts";
import type { Expansion } from "./expander.ts";
import {
  alwaysReturns,
  captures,
  given,
  isOmitted,
  lambdaFor,
  lambdaOf,
  mentions,
  provesThere,
  type Lambda,
  type Names,
} from "./lambda.ts";
import { resultOf } from "./results.ts";
import {
  access,
  again,
  assigned,
  binary,
  block,
  call,
  constant,
  counted,
  counting,
  declared,
  element,
  hidden,
  integer,
  newList,
  not,
  nothing,
  run,
  truth,
  variable,
  when,
} from "./syntax.ts";
import { mergeSort } from "./sorting.ts";
import { isReference } from "./typing.ts";

/** Methods whose function may capture. */
const LOOPED_METHODS: ReadonlySet<string> = new Set([
  "forEach",
  "map",
  "filter",
  "find",
  "findLast",
  "findIndex",
  "findLastIndex",
  "some",
  "every",
  "reduce",
  "reduceRight",
  "flatMap",
  "sort",
  "toSorted",
]);

/** Methods that AssemblyScript's arrays lack. */
const MISSING = new Set(["find", "findLast", "flatMap", "toSorted"]);
/** Methods that AssemblyScript may lack for a function that is named. */
const NAMED = new Set([...MISSING, "sort"]);
/** Methods whose type argument AssemblyScript can't find by itself. */
const GENERIC = new Set(["map", "reduce", "reduceRight", "flatMap"]);

const SORTING = new Set(["sort", "toSorted"]);

/** Functions of the library that take one value: AssemblyScript has no function of that name. */
const CONVERSIONS: ReadonlySet<string> = new Set(["String", "Number", "Boolean"]);

const ARRAYS = /^(Static|(Int|Uint|Float)\d+(Clamped)?)?Array$/;

interface Callback {
  readonly method: string;
  readonly receiver: as.Expression;
  readonly receiverType: as.Type;
  readonly element: as.Type;
  readonly lambda: Lambda;
  /** Whether the function is one of the library, such as `String`. */
  readonly isConverting: boolean;
  readonly call: as.CallExpression;
  /** Where the name of the method stands. */
  readonly at: number;
  readonly where: as.Range;
  /** Of a set or map: what the loop goes over is not the receiver. Of a length: there is nothing but an index. */
  readonly owner: "array" | "Set" | "Map" | "length";
}

function callbackOf(expansion: Expansion, node: as.CallExpression): Callback | null {
  return isArrayFrom(node) ? callbackOfLength(node) : callbackOfMethod(expansion, node);
}

/** `Array.from({ length: n }, (_, index) => …)`. */
function callbackOfLength(node: as.CallExpression): Callback | null {
  const length = lengthIn(node);
  const lambda = lambdaOf(node.args[1]);
  if (length === null || lambda === null) return null;
  const [first] = lambda.parameters;
  // There are no elements that it could be given.
  if (first !== undefined && mentions(lambda, first.name.text)) return null;
  const { range } = (withoutParentheses(node.expression) as as.PropertyAccessExpression).property;
  return {
    method: "map",
    receiver: length,
    receiverType: as.Type.i32,
    element: as.Type.i32,
    lambda,
    isConverting: false,
    call: node,
    at: range.start,
    where: range,
    owner: "length",
  };
}

function callbackOfMethod(expansion: Expansion, node: as.CallExpression): Callback | null {
  const { typing, flow } = expansion;
  const callee = withoutParentheses(node.expression);
  if (!(callee instanceof as.PropertyAccessExpression)) return null;
  const { property, expression: receiver } = callee;
  const method = property.text;
  if (!LOOPED_METHODS.has(method)) return null;
  const converting = conversionIn(expansion, node.args[0]);
  const lambda =
    lambdaOf(node.args[0]) ??
    converting ??
    expansion.closures.calling(
      expansion,
      node.args[0],
      ({ returnType }) => MISSING.has(method) || (method === "sort" && returnType !== as.Type.i32),
    );
  if (lambda === null) return null;
  const receiverType = typing.of(receiver, flow);
  if (receiverType === null) return null;
  const container = typing.containerOf(receiverType);
  const name = container?.prototype.name ?? "";
  const common = {
    method,
    receiver,
    receiverType,
    lambda,
    isConverting: converting !== null,
    call: node,
    at: property.range.start,
    where: property.range,
  };
  if ((name === "Set" || name === "Map") && method === "forEach") {
    const types = container!.typeArguments!;
    return { ...common, element: types[name === "Map" ? 1 : 0]!, owner: name };
  }
  if (!ARRAYS.test(name)) return null;
  const found = typing.of(element(receiver, 0, receiver.range), flow);
  return found === null ? null : { ...common, element: found, owner: "array" };
}

/** Whether AssemblyScript has no way to compile the call. */
function isNeeded(expansion: Expansion, callback: Callback): boolean {
  const { method, lambda, call: node, owner, isConverting } = callback;
  if (MISSING.has(method) || owner !== "array" || isConverting || captures(lambda, expansion)) return true;
  // Its comparisons give integers of 32 bits.
  if (method === "sort")
    return resultOf(expansion, lambda, namesOf(callback), as.Type.auto)?.isStrictlyAssignableTo(as.Type.i32) === false;
  if (method === "filter" && keptElement(expansion, callback) !== callback.element) return true;
  if (!GENERIC.has(method) || node.typeArguments !== null) return false;
  const { parameters, result, body } = lambda;
  return parameters.some(({ type }) => isOmitted(type)) || (result === null && body.kind === "statements");
}

/** Whether a call may be one of these, as far as its words show it. */
export function mayLoop({ expression, args }: as.CallExpression): boolean {
  return (
    expression instanceof as.PropertyAccessExpression &&
    !expression.range.source.isLibrary &&
    LOOPED_METHODS.has(expression.property.text) &&
    (lambdaOf(args[0]) !== null || isConversion(args[0]) || (args.length > 0 && NAMED.has(expression.property.text)))
  );
}

function isConversion(node: as.Expression | undefined): node is as.IdentifierExpression {
  return node instanceof as.IdentifierExpression && CONVERSIONS.has(node.text);
}

/** `String` is `(value) => String(value)`. Null: the name means something else. */
function conversionIn({ typing, flow }: Expansion, node: as.Expression | undefined): Lambda | null {
  if (!isConversion(node) || !typing.isGlobal(node, flow)) return null;
  const value = hidden("value", node.range.start, node.range);
  return lambdaOf(lambdaFor([value], as.Node.createCallExpression(again(node), null, [again(value)], node.range)));
}

export function typeOfCallback(expansion: Expansion, node: as.CallExpression): as.Type | null | undefined {
  const callback = callbackOf(expansion, node);
  if (callback === null || !isNeeded(expansion, callback)) return undefined;
  const { typing } = expansion;
  const { method, element: found, receiverType } = callback;
  switch (method) {
    case "forEach":
      return as.Type.void;
    case "some":
    case "every":
      return as.Type.bool;
    case "findIndex":
    case "findLastIndex":
      return as.Type.i32;
    case "find":
    case "findLast": {
      const kept = keptElement(expansion, callback);
      return nullableOf(expansion.typing.program, kept) ?? kept;
    }
    case "filter": {
      const kept = keptElement(expansion, callback);
      return kept === found ? receiverType.nonNullableType : arrayOf(typing.program, kept);
    }
    case "sort":
    case "toSorted":
      return receiverType.nonNullableType;
    case "map":
    case "flatMap": {
      const made = madeElement(expansion, callback);
      return made === null ? null : arrayOf(typing.program, made);
    }
    case "reduce":
    case "reduceRight":
      return accumulated(expansion, callback);
    default:
      return undefined;
  }
}

/** The function that a method is given for its elements, with its parameters behind an accumulator and their types. */
export function calledFor(
  expansion: Expansion,
  node: as.CallExpression,
): { readonly lambda: Lambda; readonly names: Names } | null {
  const callback = callbackOf(expansion, node);
  if (callback === null) return null;
  return { lambda: callback.lambda, names: namesOf(callback, callback.method.startsWith("reduce") ? 1 : 0) };
}

/** Where the mistake may be if the type of such a call is not known: the value of its function, and the names in there. */
export function unknownIn(
  expansion: Expansion,
  node: as.CallExpression,
): { readonly value: as.Expression; readonly names: Names } | null {
  const callback = callbackOf(expansion, node);
  if (callback === null || callback.lambda.body.kind !== "value") return null;
  const { value } = callback.lambda.body;
  const [first] = callback.lambda.parameters;
  if (!callback.method.startsWith("reduce") || first === undefined) return { value, names: namesOf(callback) };
  const type = accumulated(expansion, callback);
  return type === null ? null : { value, names: [[first.name, type], ...namesOf(callback, 1)] };
}

function arrayOf(program: as.Program, type: as.Type): as.Type | null {
  return program.resolver.resolveClass(program.arrayPrototype, [type])?.type ?? null;
}

/** The parameters of a function with what they are given: the element, its index, the whole; or two elements. */
function namesOf({ method, lambda, receiverType, element: found, owner }: Callback, from = 0): Names {
  if (SORTING.has(method)) return lambda.parameters.map(({ name }) => [name, found] as const);
  if (owner === "length") return lambda.parameters.slice(1).map(({ name }) => [name, as.Type.i32] as const);
  const index =
    owner === "Map"
      ? (receiverType.getClass()!.typeArguments![0] ?? as.Type.i32)
      : owner === "Set"
        ? found
        : as.Type.i32;
  const types = [found, index, receiverType.nonNullableType];
  return lambda.parameters.slice(from).map(({ name }, at) => [name, types[at] ?? as.Type.i32] as const);
}

/** The type of the elements for which the function holds: `(e): e is T => …` says it, and `(e) => e != null` does. */
function keptElement(expansion: Expansion, { lambda, element: found }: Callback): as.Type {
  const { result } = lambda;
  if (result instanceof PredicateNode) return expansion.resolve(result.tested) ?? found;
  return result === null && provesThere(lambda, found) ? (boxedType(found) ?? found.nonNullableType) : found;
}

/** The type of the elements that `map` and `flatMap` make. */
function madeElement(expansion: Expansion, callback: Callback): as.Type | null {
  const { typing, context } = expansion;
  const { lambda, call: node, method } = callback;
  const wanted = context === as.Type.auto || context === as.Type.void ? null : typing.containerOf(context);
  const wantedElement = wanted?.prototype.name === "Array" ? (wanted.typeArguments?.[0] ?? null) : null;
  const type = node.typeArguments?.at(-1);
  if (type !== undefined) return expansion.resolve(type);
  const wantedOfBody = method === "map" ? wantedElement : context;
  const found = resultOf(expansion, lambda, namesOf(callback), wantedOfBody ?? as.Type.auto);
  if (method === "map") return wantedElement ?? found;
  const inner = found === null ? null : typing.containerOf(found);
  return wantedElement ?? inner?.typeArguments?.[0] ?? null;
}

/** The type of the value that `reduce` goes on with: wide enough for the start and for what the function gives. */
function accumulated(expansion: Expansion, callback: Callback): as.Type | null {
  const { typing, flow, context } = expansion;
  const { lambda, call: node, element: found } = callback;
  const [type] = node.typeArguments ?? [];
  if (type !== undefined) return expansion.resolve(type);
  const start = node.args[1];
  const [first] = lambda.parameters;
  if (first !== undefined && !isOmitted(first.type)) return expansion.resolve(first.type);
  let all = start === undefined ? found : typing.of(start, flow, context === as.Type.void ? as.Type.auto : context);
  if (all === null || first === undefined) return all;
  // The results of the function may be wider than the start, as those of a sum that starts with 0.
  for (let round = 0; round < 3; round++) {
    const names: Names = [[first.name, all], ...namesOf(callback, 1)];
    const next: as.Type | null = resultOf(expansion, lambda, names, all);
    if (next === null || next === as.Type.void) return all;
    const both: as.Type | null = as.Type.commonType(all, next, as.Type.auto);
    if (both === null || both === all) return all;
    all = both;
  }
  return all;
}

/** A type for orders: numbers without a sign become numbers with one, so that a difference that wraps around is told. */
function withSign(type: as.Type): as.Type {
  if (!type.isIntegerValue || type.isSignedIntegerValue || type === as.Type.bool) return type;
  // variant: order-with-sign
  return type.size < 32 ? as.Type.i32 : as.Type.i64;
}

// ── Expansion ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Null: the call is none of these, or something in it has no type. */
export function expandCallback(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  const callback = callbackOf(expansion, node);
  if (callback === null && lengthIn(node) !== null)
    return expansion.tell("from_length", node.args.at(-1)?.range ?? node.range);
  if (callback === null || !isNeeded(expansion, callback)) return null;
  const { method, lambda } = callback;
  const { body } = lambda;
  if (method !== "forEach" && body.kind === "statements" && !alwaysReturns(body.statements))
    return expansion.tell("callback_without_value", lambda.node.range);
  return new CallbackExpansion(expansion, callback).expand();
}

/** The values of a round, for parameters that the function may have or not. */
interface Round {
  readonly item: () => as.Expression;
  readonly position: () => as.Expression;
  readonly whole: () => as.Expression;
}

type Consume = (value: as.Expression | null) => as.Statement[];

class CallbackExpansion {
  readonly #expansion: Expansion;
  readonly #callback: Callback;
  readonly #list: as.IdentifierExpression;
  readonly #index: as.IdentifierExpression;
  readonly #result: as.IdentifierExpression;
  /** The element of the round: the parameter may have another value by the end. */
  readonly #item: as.IdentifierExpression;

  constructor(expansion: Expansion, callback: Callback) {
    this.#expansion = expansion;
    this.#callback = callback;
    const { at, where, receiver } = callback;
    this.#list = hidden("list", at, receiver.range);
    this.#index = hidden("index", at, where);
    this.#result = hidden("result", at, where);
    this.#item = hidden("item", at, where);
  }

  expand(): as.Expression | null {
    const { method, where, owner } = this.#callback;
    if (owner === "length") return this.#overLength();
    if (owner !== "array") return this.#overCollection();
    const result = (): as.Expression => again(this.#result);
    switch (method) {
      case "forEach":
        return this.#loop(null, (value) => (value === null ? [] : [run(value)]));
      case "map": {
        const made = madeElement(this.#expansion, this.#callback);
        if (made === null) return null;
        if (made === as.Type.void)
          return this.#expansion.tell("callback_without_value", this.#callback.lambda.node.range);
        return this.#loop(newList(this.#result, made), (value) => [run(call(result(), "push", [value!], where))]);
      }
      case "flatMap": {
        const made = madeElement(this.#expansion, this.#callback);
        if (made === null) return null;
        const inner = hidden("inner", this.#callback.at, where);
        return this.#loop(newList(this.#result, made), (value) => [
          as.Node.createForOfStatement(
            declared(inner, null, CommonFlags.Const, null),
            value!,
            run(call(result(), "push", [again(inner)], where)),
            where,
          ),
        ]);
      }
      case "filter":
        return this.#loop(
          newList(this.#result, keptElement(this.#expansion, this.#callback)),
          (value) => [when(value!, run(call(result(), "push", [this.#kept()], where)), where)],
          { keepsItem: true },
        );
      case "some":
      case "every": {
        const isSome = method === "some";
        return this.#loop(variable(this.#result, truth(!isSome, where)), (value) => [
          this.#leaving(isSome ? value! : not(value!, value!.range), truth(isSome, where)),
        ]);
      }
      case "findIndex":
      case "findLastIndex": {
        const minusOne = as.Node.createUnaryPrefixExpression(Token.Minus, integer(1, where), where);
        return this.#loop(
          variable(this.#result, minusOne, as.Type.i32),
          (value) => [this.#leaving(value!, again(this.#index))],
          { isBackward: method === "findLastIndex" },
        );
      }
      case "find":
      case "findLast": {
        const kept = keptElement(this.#expansion, this.#callback);
        const nullable = nullableOf(this.#expansion.typing.program, kept);
        if (nullable === null) return null;
        return this.#loop(
          variable(this.#result, nothing(where), nullable),
          (value) => [this.#leaving(value!, this.#kept())],
          { isBackward: method === "findLast", keepsItem: true },
        );
      }
      case "reduce":
      case "reduceRight":
        return this.#reduce(method === "reduceRight");
      case "sort":
      case "toSorted":
        return this.#sort(method === "sort");
      default:
        return null;
    }
  }

  /** The element of the round, of the type that the function has proved. */
  #kept(): as.Expression {
    const { element: found, where } = this.#callback;
    const kept = keptElement(this.#expansion, this.#callback);
    const item = again(this.#item);
    if (kept === found) return item;
    const isThere = kept === (boxedType(found) ?? found.nonNullableType);
    return isThere
      ? as.Node.createAssertionExpression(AssertionKind.NonNull, item, null, where)
      : as.Node.createAssertionExpression(AssertionKind.As, item, new ResolvedTypeNode(kept, where), where);
  }

  #sort(inPlace: boolean): as.Expression | null {
    const { at, where, call: node, lambda, receiver } = this.#callback;
    const { parameters, body } = lambda;
    const returned = this.#returned(0);
    if (returned === null) return null;
    if (returned === as.Type.void) return this.#expansion.tell("callback_without_value", lambda.node.range);
    const type = withSign(returned);
    const list = (): as.IdentifierExpression => again(this.#list);
    const order = hidden("order", at, where);
    const comparison = this.#body((value) => [run(assigned(again(order), value!, where))], 0);
    if (comparison === null) return null;
    const { statements, sorted } = mergeSort({
      at,
      where,
      list,
      compare: (first, second, isBehind) => {
        const inner = parameters.slice(0, 2).map((one, index) => parameter(one, index === 0 ? first : second));
        const compared = block([...inner, ...comparison], lambda.node.range);
        return [
          variable(order, zeroOf(type, where), type),
          // A `return` leaves the comparison alone.
          body.kind === "value" ? compared : as.Node.createDoStatement(compared, truth(false, where), where),
          run(
            assigned(isBehind(), counting(binary(Token.GreaterThan, again(order), zeroOf(type, where), where)), where),
          ),
        ];
      },
    });
    const written = [element(list(), again(this.#index), where), element(sorted, again(this.#index), where)] as const;
    const back = run(assigned(...written, where));
    return new BlockExpression(
      [
        constant(this.#list, receiver),
        ...statements,
        ...(inPlace ? [counted(this.#index, this.#list, [back], node.range)] : []),
      ],
      inPlace ? list() : again(sorted as as.IdentifierExpression),
      node.range,
    );
  }

  /** Ends the loop with a result, if the condition holds. */
  #leaving(condition: as.Expression, value: as.Expression): as.Statement {
    const { where } = this.#callback;
    const leave = as.Node.createBreakStatement(null, where);
    return when(condition, block([run(assigned(again(this.#result), value, where)), leave], where), where);
  }

  #reduce(isBackward: boolean): as.Expression | null {
    const { call: node, lambda, where } = this.#callback;
    const type = accumulated(this.#expansion, this.#callback);
    if (type === null) return null;
    const [, start] = node.args;
    const [accumulator] = lambda.parameters;
    const list = again(this.#list);
    const last = counting(binary(Token.Minus, access(list, "length", where), integer(1, where), where));
    const first = start ?? element(again(this.#list), isBackward ? last : 0, where);
    return this.#loop(
      variable(this.#result, first, type),
      (value) => [run(assigned(again(this.#result), value!, where))],
      {
        isBackward,
        skips: 1,
        from: start === undefined ? 1 : 0,
        before: accumulator === undefined ? [] : [parameter(accumulator, again(this.#result), type)],
      },
    );
  }

  /** Goes over the array; null: the type of what the function returns is not known. */
  #loop(first: as.Statement | null, consume: Consume, options: LoopOptions = {}): as.Expression | null {
    const { isBackward = false, from = 0 } = options;
    const { where, call: node, receiver, lambda, at } = this.#callback;
    const { range } = node;
    const list = (): as.IdentifierExpression => again(this.#list);
    const index = (): as.IdentifierExpression => again(this.#index);
    const round = this.#round(consume, options, {
      item: () => element(list(), index(), where),
      position: index,
      whole: list,
    });
    if (round === null) return null;
    const body = block(round, range);
    const length = (): as.Expression => access(list(), "length", where);
    const before = [constant(this.#list, receiver), ...(first === null ? [] : [first])];
    const result = first === null ? null : again(this.#result);
    if (isBackward) {
      const start = variable(this.#index, counting(binary(Token.Minus, length(), integer(1 + from, where), where)));
      const condition = counting(binary(Token.GreaterThan_Equals, index(), integer(0, where), where));
      const step = counting(as.Node.createUnaryPrefixExpression(Token.Minus_Minus, index(), where));
      return new BlockExpression(
        [...before, as.Node.createForStatement(start, condition, step, body, range)],
        result,
        range,
      );
    }
    const isWithin = counting(binary(Token.LessThan, index(), length(), where));
    const start = variable(this.#index, integer(from, where));
    const step = counting(as.Node.createUnaryPrefixExpression(Token.Plus_Plus, index(), where));
    if (!mayGrow(lambda.node))
      return new BlockExpression(
        [...before, as.Node.createForStatement(start, isWithin, step, body, range)],
        result,
        range,
      );
    // Elements that the function adds get no round.
    const end = hidden("end", at, where);
    const isOld = counting(binary(Token.LessThan, index(), again(end), where));
    const condition = binary(Token.Ampersand_Ampersand, isOld, isWithin, where);
    const loop = as.Node.createForStatement(start, condition, step, body, range);
    return new BlockExpression([...before, constant(end, length()), loop], result, range);
  }

  /** `forEach` of a set or map: over what it holds at the start. */
  #overCollection(): as.Expression | null {
    const { where, call: node, receiver, owner, at } = this.#callback;
    const { range } = node;
    const whole = hidden("whole", at, receiver.range);
    const keys = hidden("keys", at, where);
    const index = (): as.IdentifierExpression => again(this.#index);
    const item = (): as.Expression => element(again(this.#list), index(), where);
    const round = this.#round(
      (value) => (value === null ? [] : [run(value)]),
      {},
      {
        item,
        position: owner === "Map" ? () => element(again(keys), index(), where) : item,
        whole: () => again(whole),
      },
    );
    if (round === null) return null;
    const statements = [
      constant(whole, receiver),
      ...(owner === "Map" ? [constant(keys, call(again(whole), "keys", [], where))] : []),
      constant(this.#list, call(again(whole), "values", [], where)),
      counted(this.#index, this.#list, round, range),
    ];
    return new BlockExpression(statements, null, range);
  }

  /** `Array.from({ length: n }, …)`: so many rounds, each with its index. */
  #overLength(): as.Expression | null {
    const { where, call: node, receiver, at, lambda } = this.#callback;
    const { range } = node;
    const made = madeElement(this.#expansion, this.#callback);
    if (made === null) return null;
    if (made === as.Type.void) return this.#expansion.tell("callback_without_value", lambda.node.range);
    const index = (): as.IdentifierExpression => again(this.#index);
    const round = this.#round(
      (value) => [run(call(again(this.#result), "push", [value!], where))],
      { skips: 1 },
      { item: index, position: index, whole: index },
    );
    if (round === null) return null;
    const length = hidden("length", at, receiver.range);
    const { typing, flow } = this.#expansion;
    const isWhole = typing.of(receiver, flow)?.isIntegerValue === true;
    const whole = isWhole
      ? receiver
      : as.Node.createAssertionExpression(
          AssertionKind.As,
          receiver,
          new ResolvedTypeNode(as.Type.i32, receiver.range),
          receiver.range,
        );
    const loop = as.Node.createForStatement(
      variable(this.#index, integer(0, where)),
      counting(binary(Token.LessThan, index(), again(length), where)),
      counting(as.Node.createUnaryPrefixExpression(Token.Plus_Plus, index(), where)),
      block(round, range),
      range,
    );
    return new BlockExpression(
      [constant(length, whole), newList(this.#result, made), loop],
      again(this.#result),
      range,
    );
  }

  /** The statements of a round. */
  #round(
    consume: Consume,
    { skips = 0, keepsItem = false, before = [] }: LoopOptions,
    values: Round,
  ): as.Statement[] | null {
    const { lambda } = this.#callback;
    const [item, position, whole] = lambda.parameters.slice(skips);
    const round: as.Statement[] = [];
    if (keepsItem) round.push(constant(this.#item, values.item()));
    round.push(...before);
    if (item !== undefined) round.push(parameter(item, keepsItem ? again(this.#item) : values.item()));
    if (position !== undefined) round.push(parameter(position, values.position()));
    if (whole !== undefined) round.push(parameter(whole, values.whole()));
    const body = this.#body(consume, skips);
    return body === null ? null : [...round, ...body];
  }

  /** The body of the function, with what it returns consumed, in a scope of its own. */
  #body(consume: Consume, skips: number): as.Statement[] | null {
    const { lambda, at, where } = this.#callback;
    const { body, node } = lambda;
    if (body.kind === "value") return consume(body.value);
    const done = hidden("done", at, where);
    const value = hidden("value", at, where);
    const type = this.#returned(skips);
    const made = given(body.statements, {
      give: consume,
      next: (range) => as.Node.createContinueStatement(null, range),
      keep: (returned, range) => [
        ...(returned === null ? [] : [run(assigned(again(value), returned, range))]),
        run(assigned(again(done), truth(true, range), range)),
      ],
      kept: (range) => ({
        is: again(done),
        value: type === null || type === as.Type.void ? null : heldBy(value, type, range),
      }),
    });
    const inner = block(made.statements, node.range);
    if (!made.keeps) return [inner];
    if (type === null) return null;
    const flag = variable(done, truth(false, where));
    if (type === as.Type.void) return [flag, inner];
    const first = isReference(type)
      ? variable(value, nothing(where), type.asNullable())
      : variable(value, zeroOf(type, where), type);
    return [flag, first, inner];
  }

  /** The type of the function's results. */
  #returned(skips: number): as.Type | null {
    const { lambda, owner } = this.#callback;
    const names = namesOf(this.#callback, skips);
    const [first] = lambda.parameters;
    if (skips === 0 || first === undefined || owner === "length")
      return resultOf(this.#expansion, lambda, names, as.Type.auto);
    const type = accumulated(this.#expansion, this.#callback);
    return type === null ? null : resultOf(this.#expansion, lambda, [[first.name, type], ...names], type);
  }
}

/** The value of a variable that holds null until there is one. */
function heldBy(name: as.IdentifierExpression, type: as.Type, range: as.Range): as.Expression {
  if (!isReference(type) || type.isNullableReference) return again(name);
  return as.Node.createAssertionExpression(AssertionKind.NonNull, again(name), null, range);
}

interface LoopOptions {
  readonly isBackward?: boolean;
  /** Whether what is consumed needs the element. */
  readonly keepsItem?: boolean;
  /** Parameters before that of the element. */
  readonly skips?: number;
  /** How many elements have no round. */
  readonly from?: number;
  readonly before?: readonly as.Statement[];
}

const GROWING: ReadonlySet<string> = new Set(["push", "unshift", "splice"]);

/** Whether something that is written in a function makes an array longer. */
function mayGrow(node: as.Node): boolean {
  if (node instanceof as.PropertyAccessExpression && GROWING.has(node.property.text)) return true;
  return childrenOf(node).some(mayGrow);
}

function parameter({ name, type }: as.ParameterNode, value: as.Expression, known: as.Type | null = null): as.Statement {
  const { range } = name;
  const node = !isOmitted(type) ? type : known === null ? null : new ResolvedTypeNode(known, range);
  const declaration = as.Node.createVariableDeclaration(name, null, CommonFlags.Let, node, value, range);
  return as.Node.createVariableStatement(null, [declaration], range);
}
