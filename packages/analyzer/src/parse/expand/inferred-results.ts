/**
 * Functions without a result type. The resolver makes an instance of a function from its types, so it needs that of the
 * result first. It is the type of what the body returns (`results.ts`), with the parameters of this instance.
 */
import { as, CommonFlags, ReportMode } from "../assemblyscript.ts";
import { isDevelopers } from "../graft.ts";
import { ResolvedTypeNode } from "../forms-nodes.ts";
import type { Expansion } from "./expander.ts";
import { isOmitted } from "./lambda.ts";
import { returnedType, returnsOf } from "./results.ts";

type ResolveFunction = as.Resolver["resolveFunction"];

export interface Asking {
  readonly program: as.Program;
  /** The questions about the place where a flow is. */
  at(flow: as.Flow): Expansion;
  /** Reports the mistake of an expression without a type. False: it has none. */
  report(node: as.Expression, flow: as.Flow): boolean;
}

/** Teaches the resolver to find the types of results. */
export function inferResults(resolver: as.Resolver, asking: Asking): void {
  const resolveFunction = resolver.resolveFunction.bind(resolver);
  const results = new InferredResults(resolveFunction, asking);
  resolver.resolveFunction = (prototype, typeArguments, types = new Map(), mode = ReportMode.Report) => {
    const key = typeArguments === null ? "" : as.typesToString(typeArguments);
    if (!hasInferredResult(prototype) || prototype.getResolvedInstance(key) !== null)
      return resolveFunction(prototype, typeArguments, types, mode);
    const type = results.typeOf(prototype, typeArguments, types, mode === ReportMode.Report);
    return type === null
      ? null
      : withResult(prototype, type, () => resolveFunction(prototype, typeArguments, types, mode));
  };
}

function hasInferredResult({ declaration, functionTypeNode }: as.FunctionPrototype): boolean {
  return (
    isOmitted(functionTypeNode.returnType) &&
    declaration instanceof as.FunctionDeclaration &&
    declaration.body !== null &&
    !declaration.isAny(CommonFlags.Constructor | CommonFlags.Set) &&
    isDevelopers(declaration.range.source)
  );
}

/** Builds share the tree: the type stands there for a moment. */
function withResult<T>({ functionTypeNode }: as.FunctionPrototype, type: as.Type, action: () => T): T {
  const { returnType } = functionTypeNode;
  functionTypeNode.returnType = new ResolvedTypeNode(type, returnType.range);
  try {
    return action();
  } finally {
    functionTypeNode.returnType = returnType;
  }
}

class InferredResults {
  readonly #resolveFunction: ResolveFunction;
  readonly #asking: Asking;
  /** Those whose result is looked for, and whether it is asked for in there. */
  readonly #open = new Map<as.Node, { isAsked: boolean }>();

  constructor(resolveFunction: ResolveFunction, asking: Asking) {
    this.#resolveFunction = resolveFunction;
    this.#asking = asking;
  }

  /** Null: it is not known. `isReported`: then a mistake is told, and the function goes on without a result. */
  typeOf(
    prototype: as.FunctionPrototype,
    typeArguments: as.Type[] | null,
    types: Map<string, as.Type>,
    isReported: boolean,
  ): as.Type | null {
    const { body } = prototype.declaration as as.FunctionDeclaration;
    const open = this.#open.get(body!);
    if (open !== undefined) {
      open.isAsked = true;
      return null;
    }
    const sketch = this.#sketch(prototype, typeArguments, types);
    // A parameter has no type: the compiler tells it.
    if (sketch === null) return as.Type.void;
    const state = { isAsked: false };
    this.#open.set(body!, state);
    try {
      const within = this.#asking.at(sketch.flow.fork());
      const nodes = body instanceof as.BlockStatement ? body.statements : (body as as.ExpressionStatement).expression;
      const type = returnedType(within, nodes, as.Type.auto);
      if (type !== null || !isReported) return type;
      if (state.isAsked) within.tell("result_of_itself", prototype.functionTypeNode.returnType.range);
      else this.#tell(within, nodes, prototype);
      return as.Type.void;
    } finally {
      this.#open.delete(body!);
    }
  }

  #tell(
    within: Expansion,
    nodes: as.Expression | readonly as.Statement[],
    { functionTypeNode }: as.FunctionPrototype,
  ): void {
    for (const { node, expansion } of returnsOf(within, nodes)) {
      if (node === null || expansion.typing.of(node, expansion.flow) !== null) continue;
      if (this.#asking.report(node, expansion.flow)) return;
    }
    within.tell("result_unknown", functionTypeNode.returnType.range);
  }

  /** An instance without a result that nobody else sees; null: it has no types. */
  #sketch(
    prototype: as.FunctionPrototype,
    typeArguments: as.Type[] | null,
    types: Map<string, as.Type>,
  ): as.Function | null {
    const { program } = this.#asking;
    const key = typeArguments === null ? "" : as.typesToString(typeArguments);
    const { diagnostics } = program;
    const reported = diagnostics.length;
    const instance = withResult(prototype, as.Type.void, () =>
      this.#resolveFunction(prototype, typeArguments, new Map(types), ReportMode.Swallow),
    );
    diagnostics.length = reported;
    if (instance === null) return null;
    prototype.instances?.delete(key);
    program.instancesByName.delete(instance.internalName);
    return instance;
  }
}
