/**
 * Waits of workflows, and signals: `approved.send(id, value)`, `approved.wait(2 * DAY)`, `sleep(DAY)`. They are compiled with the
 * name of the signal and the place of the call. `all` of steps without results gives nothing.
 */
import { as, CommonFlags, ElementKind } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import { nullableOf } from "../nullable-numbers.ts";
import { sdkCall } from "../sdk-functions.ts";
import { FUTURE, SIGNAL, signalName } from "../signals.ts";
import { drawPlace, spanOfRange } from "../span.ts";
import type { Expansion } from "./expander.ts";
import { elementOf, keep } from "./quotes.ts";
import { isImported, namesOf } from "./sdk-names.ts";
import { again, run, textLiteral } from "./syntax.ts";

const FUNCTIONS: ReadonlySet<string> = new Set(["sleep", "all", "any"]);
const METHODS: ReadonlySet<string> = new Set(["send", "wait"]);
const LIBRARY = "~lib/@radical/sdk/workflows";

/** Whether a call may be one of these, as far as its words show it. */
export function mayWait({ expression, range }: as.CallExpression): boolean {
  if (range.source.isLibrary) return false;
  const callee = withoutParentheses(expression);
  if (callee instanceof as.PropertyAccessExpression && METHODS.has(callee.property.text)) return true;
  return isImported(callee, namesOf(range.source), FUNCTIONS);
}

type Wait =
  | { readonly kind: "sleep" }
  /** Of steps without results. */
  | { readonly kind: "all" }
  | { readonly kind: "others" }
  | { readonly kind: "send" | "wait"; readonly signal: as.Expression; readonly type: as.Type };

/** Null: the call is another. */
function waitOf(expansion: Expansion, node: as.CallExpression): Wait | null {
  if (!mayWait(node)) return null;
  const { typing, flow } = expansion;
  const callee = withoutParentheses(node.expression);
  if (callee instanceof as.PropertyAccessExpression && METHODS.has(callee.property.text)) {
    const found = typing.of(callee.expression, flow)?.getClass() ?? null;
    if (found?.prototype.internalName !== SIGNAL) return null;
    const kind = callee.property.text as "send" | "wait";
    return { kind, signal: callee.expression, type: found.typeArguments![0]! };
  }
  const name = elementOf(expansion, node.expression)?.internalName;
  if (name === `${LIBRARY}/sleep`) return { kind: "sleep" };
  const [futures] = node.args;
  if ((name !== `${LIBRARY}/all` && name !== `${LIBRARY}/any`) || futures === undefined) return null;
  const type = typing.of(futures, flow);
  // The compiler says what is wrong with it.
  if (type === null) return null;
  const future = type.getClass()?.typeArguments?.[0]?.getClass() ?? null;
  if (future?.prototype.internalName !== FUTURE) return node.typeArguments === null ? { kind: "others" } : null;
  return name === `${LIBRARY}/all` && future.typeArguments![0] === as.Type.void ? { kind: "all" } : null;
}

/** Undefined: the call is another. */
export function typeOfWait(expansion: Expansion, node: as.CallExpression): as.Type | null | undefined {
  const wait = waitOf(expansion, node);
  if (wait === null) return undefined;
  if (wait.kind !== "wait") return as.Type.void;
  return node.args.length === 0 ? wait.type : nullableOf(expansion.typing.program, wait.type);
}

/** Null: the call is another, or a mistake was told. */
export function expandWait(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  const wait = waitOf(expansion, node);
  if (wait === null) return null;
  const { args, range } = node;
  const statements: as.Statement[] = [];
  const kept = keep(statements);
  const place = textLiteral(drawPlace(spanOfRange(range)), range);
  const ended = (call: as.Expression): as.Expression => new BlockExpression([...statements, run(call)], null, range);
  switch (wait.kind) {
    case "sleep":
      if (args.length !== 1) return expansion.tell("sleep_arguments", range);
      return ended(sdkCall("sleepAt", [again(kept("delay", args[0]!, as.Type.i64)), place], range));
    case "all":
      return ended(sdkCall("allDone", args, range, [new ResolvedTypeNode(as.Type.void, range)]));
    case "others":
      return expansion.tell("not_futures", args[0]!.range);
    case "send":
    case "wait": {
      const element = elementOf(expansion, withoutParentheses(wait.signal));
      const name = element?.kind === ElementKind.Global ? signalName(element as as.Global) : null;
      if (name === null || !element!.is(CommonFlags.Const))
        return expansion.tell("signal_not_constant", wait.signal.range);
      const type = [new ResolvedTypeNode(wait.type, range)];
      const signal = textLiteral(name, range);
      if (wait.kind === "send") {
        if (args.length !== 2) return expansion.tell("send_arguments", range);
        const workflow = kept("workflow", args[0]!, expansion.typing.program.stringInstance.type);
        const value = kept("value", args[1]!, wait.type);
        return ended(sdkCall("sendSignal", [signal, again(workflow), again(value)], range, type));
      }
      if (args.length === 0) return sdkCall("receiveSignal", [signal, place], range, type);
      const nullable = nullableOf(expansion.typing.program, wait.type);
      if (args.length > 1 || nullable === null) return expansion.tell("wait_arguments", range);
      const ms = kept("delay", args[0]!, as.Type.i64);
      const within = [new ResolvedTypeNode(nullable, range)];
      return new BlockExpression(
        statements,
        sdkCall("receiveWithin", [signal, again(ms), place], range, within),
        range,
      );
    }
  }
}
