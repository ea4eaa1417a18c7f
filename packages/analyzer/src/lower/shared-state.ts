/**
 * The effects of an initial value or module statement without a rule that a handler can notice.
 *
 * Everything that runs before the handlers is a *unit*. A unit can change its own global, the globals that it mentions, and
 * the objects that are reachable from them. It mentions the globals of the functions that it may call, too. Objects get
 * from one global to another only through units that mention both. So a handler notices a unit that makes an access. It also
 * notices a unit that mentions connect with a global of the handler's slice.
 */
import { type as, CommonFlags, ElementKind } from "../parse/assemblyscript.ts";
import { SDK_LIBRARY } from "../parse/compile.ts";
import type { Facts, NodeFacts, Unit } from "../parse/facts.ts";
import { isApplication, sourcePath } from "./nodes.ts";

export class SharedState {
  readonly #facts: Facts;
  readonly #program: as.Program;
  readonly #mentions = new Map<Unit, Mentions>();

  constructor(facts: Facts, program: as.Program) {
    this.#facts = facts;
    this.#program = program;
    for (const unit of facts.units) this.#mentions.set(unit, this.#mentionsOf(unit));
  }

  /** Null: anything may hang on the unit, or it makes an access itself. */
  connected(unit: Unit): ReadonlySet<as.Element> | null {
    const own = this.#mentions.get(unit);
    if (own === undefined || own.anything) return null;
    const found = new Set(own.globals);
    for (let size = -1; size !== found.size;) {
      size = found.size;
      for (const { globals, anything } of this.#mentions.values()) {
        if (anything) return null;
        if ([...globals].some((global) => found.has(global))) for (const global of globals) found.add(global);
      }
    }
    return found;
  }

  #mentionsOf(unit: Unit): Mentions {
    const mentions: Mentions = { globals: new Set(), anything: false };
    const functions = new Set<as.Function>();
    if (unit.kind === "global") mentions.globals.add(unit.global);
    if (unit.kind === "enum") for (const value of unit.enumeration.members?.values() ?? []) mentions.globals.add(value);
    const { range } = unit.node;
    for (const [node, facts] of this.#facts.nodes()) {
      const isInside =
        node.range.source === range.source && node.range.start >= range.start && node.range.end <= range.end;
      if (isInside) this.#add(facts, mentions, functions);
    }
    for (const called of functions)
      for (const facts of this.#facts.nodesOf(called)) this.#add(facts, mentions, functions);
    return mentions;
  }

  #add(facts: NodeFacts, mentions: Mentions, functions: Set<as.Function>): void {
    // The called function is not known here.
    if (facts.indirect !== undefined) mentions.anything = true;
    const { target } = facts;
    if (
      target?.kind === ElementKind.Global &&
      isApplication(sourcePath(target as as.Global)) &&
      isShared(target as as.Global)
    )
      mentions.globals.add(target);
    const called = [...(facts.calls ?? []), ...(facts.lambda === undefined ? [] : [facts.lambda])];
    if (target?.kind === ElementKind.FunctionPrototype && !target.isAny(CommonFlags.Generic | CommonFlags.Instance)) {
      const instance = this.#program.resolver.resolveFunction(target as as.FunctionPrototype, null);
      if (instance !== null) called.push(instance);
    }
    for (const callee of called) {
      const path = sourcePath(callee);
      if (path.startsWith(SDK_LIBRARY) && callee.is(CommonFlags.Instance) && !callee.is(CommonFlags.Constructor))
        mentions.anything = true;
      if (!isApplication(path)) continue;
      functions.add(callee);
      const overrides = callee.is(CommonFlags.Overridden) ? this.#program.resolver.resolveOverrides(callee) : null;
      for (const override of overrides ?? []) functions.add(override);
    }
  }
}

interface Mentions {
  readonly globals: Set<as.Element>;
  anything: boolean;
}

/** Whether anyone can change what the global holds. */
function isShared(global: as.Global): boolean {
  return global.type.isReference ? !isText(global.type) : !global.isAny(CommonFlags.Const | CommonFlags.Readonly);
}

function isText(type: as.Type): boolean {
  return type.getClass()?.prototype.name === "String";
}
