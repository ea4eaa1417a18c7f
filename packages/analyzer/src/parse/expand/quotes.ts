/**
 * Quoted calls: `enqueue(remind(order), { delay, key })` calls nothing. It names a handler or a service. The arguments are evaluated
 * under the types of its parameters, then the options, in the order in which they stand. The call is then put together from these values, by functions
 * of the SDK that run no code of the developer's.
 */
import { as, ElementKind, ReportMode } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import { calleeOf } from "../handlers.ts";
import { sdkCall } from "../sdk-functions.ts";
import type { Expansion } from "./expander.ts";
import { again, constant, hasSpread, hidden, integer, nothing, run, textLiteral } from "./syntax.ts";

/** The function of the SDK whose calls are expanded. */
const VERB = "enqueue";
const VERB_ELEMENT = "~lib/@radical/sdk/index/enqueue";
const OPTIONS: ReadonlySet<string> = new Set(["delay", "key"]);

/** Names under which sources import the function. */
const NAMES = new WeakMap<as.Source, ReadonlySet<string>>();

/** Whether a call may be one of `enqueue`, as far as its words show it. */
export function mayQuote({ expression, range }: as.CallExpression): boolean {
  if (range.source.isLibrary) return false;
  const callee = withoutParentheses(expression);
  if (callee instanceof as.PropertyAccessExpression) return callee.property.text === VERB;
  return callee instanceof as.IdentifierExpression && namesIn(range.source).has(callee.text);
}

function namesIn(source: as.Source): ReadonlySet<string> {
  let names = NAMES.get(source);
  if (names === undefined) {
    const imports = source.statements.filter((statement) => statement instanceof as.ImportStatement);
    const found = imports.flatMap(({ declarations }) => declarations ?? []);
    names = new Set(found.filter(({ foreignName }) => foreignName.text === VERB).map(({ name }) => name.text));
    NAMES.set(source, names);
  }
  return names;
}

function isQuote(expansion: Expansion, node: as.CallExpression): boolean {
  return mayQuote(node) && elementOf(expansion, node.expression)?.internalName === VERB_ELEMENT;
}

function elementOf({ typing, flow }: Expansion, callee: as.Expression): as.Element | null {
  const { resolver } = typing.program;
  return typing.quietly(() => resolver.lookupExpression(callee, flow, as.Type.auto, ReportMode.Swallow));
}

/** Undefined: the call is another. */
export function typeOfQuote(expansion: Expansion, node: as.CallExpression): as.Type | undefined {
  return isQuote(expansion, node) ? expansion.typing.program.stringInstance.type : undefined;
}

/** Null: the call is another, or a mistake was told. */
export function expandQuote(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  if (!isQuote(expansion, node)) return null;
  const { args, range } = node;
  const [first, options] = args;
  if (first === undefined || args.length > 2) return expansion.tell("quote_not_call", range);
  const call = withoutParentheses(first);
  if (!(call instanceof as.CallExpression)) return expansion.tell("quote_not_call", first.range);
  const quoted = handlerIn(expansion, call);
  if (quoted === null) return null;
  const given = optionsIn(expansion, options);
  if (given === null) return null;
  return put(node, call, quoted, given);
}

interface Quoted {
  readonly handler: string;
  readonly parameters: readonly { readonly name: string; readonly type: as.Type }[];
}

/** Null: a mistake was told. */
function handlerIn(expansion: Expansion, call: as.CallExpression): Quoted | null {
  const { program } = expansion.typing;
  const callee = withoutParentheses(call.expression);
  const element = elementOf(expansion, callee);
  if (element === null) {
    // The compiler says what is wrong with it.
    program.resolver.lookupExpression(callee, expansion.flow, as.Type.auto, ReportMode.Report);
    return null;
  }
  const isFunction = element.kind === ElementKind.FunctionPrototype;
  if (!isFunction && callee instanceof as.PropertyAccessExpression) return expansion.tell("quote_method", callee.range);
  const handler = isFunction ? calleeOf(program, element) : null;
  if (handler === null)
    return expansion.tell(
      isFunction && callee instanceof as.PropertyAccessExpression ? "quote_method" : "quote_not_handler",
      callee.range,
    );
  const instance = program.resolver.resolveFunction(element as as.FunctionPrototype, null);
  if (instance === null) return null;
  const { parameterTypes, requiredParameters } = instance.signature;
  if (hasSpread(call.args) || call.args.length > parameterTypes.length || call.args.length < requiredParameters)
    return expansion.tell("quote_arguments", call.range);
  const names = (element as as.FunctionPrototype).functionTypeNode.parameters.map(({ name }) => name.text);
  return { handler, parameters: call.args.map((_, index) => ({ name: names[index]!, type: parameterTypes[index]! })) };
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

function put(
  { range }: as.CallExpression,
  call: as.CallExpression,
  { handler, parameters }: Quoted,
  options: readonly Option[],
): as.Expression {
  const statements: as.Statement[] = [];
  const kept = (purpose: string, value: as.Expression, type: as.Type): as.IdentifierExpression => {
    const name = hidden(purpose, value.range.start, value.range);
    statements.push(constant(name, value, type));
    return name;
  };
  const values = parameters.map(({ type }, index) => kept("argument", call.args[index]!, type));
  const given = new Map(options.map(({ name, value, type }) => [name.text, kept(name.text, value, type)]));
  statements.push(run(sdkCall("beginTask", [textLiteral(handler, range), integer(parameters.length, range)], range)));
  for (const [index, { name, type }] of parameters.entries()) {
    const parts = [textLiteral(name, range), again(values[index]!)];
    statements.push(run(sdkCall("taskArgument", parts, range, [new ResolvedTypeNode(type, range)])));
  }
  const key = given.get("key");
  if (key !== undefined) statements.push(run(sdkCall("nameLane", [again(key)], range)));
  const delay = given.get("delay");
  const ending = [
    delay === undefined ? integer(0, range) : again(delay),
    key === undefined ? nothing(range) : again(key),
  ];
  return new BlockExpression(statements, sdkCall("enqueueTask", ending, range), range);
}
