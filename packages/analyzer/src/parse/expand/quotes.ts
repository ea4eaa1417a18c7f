/**
 * Quoted calls: `enqueue(remind(order), { delay, key })` calls nothing. The arguments are evaluated under the types of the parameters,
 * then the options, in the order in which they stand. The call is then put together from these values, by functions of the SDK that
 * run no code of the developer's. So are the steps of workflows: `run(hold(order))`. A task calls a handler or a service.
 */
import { as, ElementKind, ReportMode } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import { calleeOf } from "../handlers.ts";
import { sdkCall } from "../sdk-functions.ts";
import { drawPlace, spanOfRange } from "../span.ts";
import type { Expansion } from "./expander.ts";
import { isImported, namesOf } from "./sdk-names.ts";
import { again, constant, hasSpread, hidden, integer, nothing, run, textLiteral } from "./syntax.ts";

/** The functions of the SDK whose first argument is a quoted call. */
const VERBS = {
  enqueue: "index/enqueue",
  run: "workflows/run",
  start: "workflows/start",
  undo: "workflows/undo",
  again: "workflows/again",
} as const;
type Verb = keyof typeof VERBS;
const SDK_LIBRARY = "~lib/@radical/sdk";
const ELEMENTS: ReadonlyMap<string, Verb> = new Map(
  (Object.keys(VERBS) as Verb[]).map((verb) => [`${SDK_LIBRARY}/${VERBS[verb]}`, verb]),
);
const NAMES: ReadonlySet<string> = new Set(Object.keys(VERBS));
const OPTIONS: ReadonlySet<string> = new Set(["delay", "key"]);

/** Whether a call may be one with a quoted call, as far as its words show it. */
export function mayQuote({ expression, range }: as.CallExpression): boolean {
  return isImported(withoutParentheses(expression), namesOf(range.source), NAMES);
}

/** Null: it is another call. */
function verbOf(expansion: Expansion, node: as.CallExpression): Verb | null {
  if (!mayQuote(node)) return null;
  return ELEMENTS.get(elementOf(expansion, node.expression)?.internalName ?? "") ?? null;
}

export function elementOf({ typing, flow }: Expansion, callee: as.Expression): as.Element | null {
  const { resolver } = typing.program;
  return typing.quietly(() => resolver.lookupExpression(callee, flow, as.Type.auto, ReportMode.Swallow));
}

/** Undefined: the call is another. */
export function typeOfQuote(expansion: Expansion, node: as.CallExpression): as.Type | null | undefined {
  const { program } = expansion.typing;
  const verb = verbOf(expansion, node);
  switch (verb) {
    case null:
      return undefined;
    case "enqueue":
      return program.stringInstance.type;
    case "undo":
      return as.Type.void;
    case "run":
    case "again":
      return resultOf(expansion, node);
    case "start": {
      const result = resultOf(expansion, node);
      return result === null ? null : futureOf(program, result);
    }
  }
}

/** The type of the result of the quoted call; null: it calls nothing that can be quoted. */
function resultOf(expansion: Expansion, { args: [first] }: as.CallExpression): as.Type | null {
  const call = first === undefined ? null : withoutParentheses(first);
  if (!(call instanceof as.CallExpression)) return null;
  const element = elementOf(expansion, withoutParentheses(call.expression));
  if (element?.kind !== ElementKind.FunctionPrototype) return null;
  const { typing } = expansion;
  const instance = typing.quietly(() =>
    typing.program.resolver.resolveFunction(element as as.FunctionPrototype, null, new Map(), ReportMode.Swallow),
  );
  return instance?.signature.returnType ?? null;
}

function futureOf(program: as.Program, result: as.Type): as.Type | null {
  const prototype = program.elementsByName.get(`${SDK_LIBRARY}/workflows/Future`) as as.ClassPrototype | undefined;
  return prototype === undefined ? null : (program.resolver.resolveClass(prototype, [result])?.type ?? null);
}

/** Null: the call is another, or a mistake was told. */
export function expandQuote(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  const verb = verbOf(expansion, node);
  if (verb === null) return null;
  const { args, range } = node;
  const [first, options] = args;
  const isTask = verb === "enqueue";
  const noCall = isTask ? "quote_not_call" : "step_not_call";
  if (first === undefined || args.length > (isTask ? 2 : 1)) return expansion.tell(noCall, range);
  const call = withoutParentheses(first);
  if (!(call instanceof as.CallExpression)) return expansion.tell(noCall, first.range);
  const quoted = handlerIn(expansion, call, isTask);
  if (quoted === null) return null;
  if (verb === "again" && expansion.flow.sourceFunction.prototype !== quoted.prototype)
    return expansion.tell("again_elsewhere", call.range);
  const given = optionsIn(expansion, options);
  if (given === null) return null;
  const statements: as.Statement[] = [];
  const kept = keep(statements);
  const values = quoted.parameters.map(({ type }, index) => kept("argument", call.args[index]!, type));
  const chosen = new Map(given.map(({ name, value, type }) => [name.text, kept(name.text, value, type)]));
  statements.push(
    run(sdkCall("beginTask", [textLiteral(quoted.handler, range), integer(values.length, range)], range)),
  );
  for (const [index, { name, type }] of quoted.parameters.entries()) {
    const parts = [textLiteral(name, range), again(values[index]!)];
    statements.push(run(sdkCall("taskArgument", parts, range, [new ResolvedTypeNode(type, range)])));
  }
  if (isTask) return enqueued(statements, chosen, range);
  const place = textLiteral(drawPlace(spanOfRange(range)), range);
  const result = [new ResolvedTypeNode(quoted.result, range)];
  switch (verb) {
    case "run":
      return new BlockExpression(statements, sdkCall("runStep", [place], range, result), range);
    case "start":
      return new BlockExpression(statements, sdkCall("startStep", [place], range, result), range);
    case "again":
      return new BlockExpression(statements, sdkCall("goOnAgain", [], range, result), range);
    case "undo":
      return new BlockExpression([...statements, run(sdkCall("undoStep", [place], range))], null, range);
  }
}

interface Quoted {
  readonly handler: string;
  readonly prototype: as.FunctionPrototype;
  readonly result: as.Type;
  /** Those that the call gives a value. */
  readonly parameters: readonly { readonly name: string; readonly type: as.Type }[];
}

/** Null: a mistake was told. */
function handlerIn(expansion: Expansion, call: as.CallExpression, isTask: boolean): Quoted | null {
  const { program } = expansion.typing;
  const callee = withoutParentheses(call.expression);
  const element = elementOf(expansion, callee);
  if (element === null) {
    // The compiler says what is wrong with it.
    program.resolver.lookupExpression(callee, expansion.flow, as.Type.auto, ReportMode.Report);
    return null;
  }
  const isFunction = element.kind === ElementKind.FunctionPrototype;
  const isMember = callee instanceof as.PropertyAccessExpression;
  const noMethod = isTask ? "quote_method" : "step_method";
  if (!isFunction && isMember) return expansion.tell(noMethod, callee.range);
  const handler = isFunction ? calleeOf(program, element) : null;
  if (handler === null) {
    const noHandler = isTask ? "quote_not_handler" : "step_not_handler";
    return expansion.tell(isFunction && isMember ? noMethod : noHandler, callee.range);
  }
  const prototype = element as as.FunctionPrototype;
  const instance = program.resolver.resolveFunction(prototype, null);
  if (instance === null) return null;
  const { parameterTypes, requiredParameters, returnType: result } = instance.signature;
  if (hasSpread(call.args) || call.args.length > parameterTypes.length || call.args.length < requiredParameters)
    return expansion.tell("quote_arguments", call.range);
  const names = prototype.functionTypeNode.parameters.map(({ name }) => name.text);
  const parameters = call.args.map((_, index) => ({ name: names[index]!, type: parameterTypes[index]! }));
  return { handler, prototype, result, parameters };
}

/** Evaluates a value under a type, and gives its name. */
export function keep(
  statements: as.Statement[],
): (purpose: string, value: as.Expression, type: as.Type) => as.IdentifierExpression {
  return (purpose, value, type) => {
    const name = hidden(purpose, value.range.start, value.range);
    statements.push(constant(name, value, type));
    return name;
  };
}

interface Option {
  readonly name: as.IdentifierExpression;
  readonly value: as.Expression;
  readonly type: as.Type;
}

/** In the order in which they stand; null: a mistake was told. */
function optionsIn(expansion: Expansion, options: as.Expression | undefined): readonly Option[] | null {
  if (options === undefined) return [];
  const literal = withoutParentheses(options);
  if (!(literal instanceof as.ObjectLiteralExpression)) return expansion.tell("quote_options", options.range);
  const { names, values } = literal;
  const wrong = names.find(
    ({ text }, index) => !OPTIONS.has(text) || names.findIndex((one) => one.text === text) !== index,
  );
  if (wrong !== undefined) return expansion.tell("quote_options", wrong.range);
  const text = expansion.typing.program.stringInstance.type;
  return names.map((name, index) => {
    const value = values[index]!;
    if (name.text === "delay") return { name, value, type: as.Type.i64 };
    const type = expansion.typing.of(value, expansion.flow, text.asNullable());
    return { name, value, type: type === text ? text : text.asNullable() };
  });
}

function enqueued(
  statements: as.Statement[],
  options: ReadonlyMap<string, as.IdentifierExpression>,
  range: as.Range,
): as.Expression {
  const [key, delay] = [options.get("key"), options.get("delay")];
  if (key !== undefined) statements.push(run(sdkCall("nameLane", [again(key)], range)));
  const ending = [
    delay === undefined ? integer(0, range) : again(delay),
    key === undefined ? nothing(range) : again(key),
  ];
  return new BlockExpression(statements, sdkCall("enqueueTask", ending, range), range);
}
