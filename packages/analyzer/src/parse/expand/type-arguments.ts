/** The type arguments that nobody writes, of calls with functions among their arguments. */
import { as, CommonFlags, ReportMode } from "../assemblyscript.ts";
import type { Expansion } from "./expander.ts";
import { isOmitted, type Lambda, type Names } from "./lambda.ts";
import { resultOf } from "./results.ts";

/** Private members of the resolver. */
interface ResolverInternals {
  propagateInferredGenericTypes(
    node: as.TypeNode,
    type: as.Type,
    element: as.Element,
    types: Map<string, as.Type>,
    names: Set<string>,
  ): void;
}

/** An argument that is a function: one that is written there, or one whose types are known. */
type GivenFunction =
  | { readonly kind: "lambda"; readonly lambda: Lambda }
  | { readonly kind: "closure"; readonly signature: as.Signature };

/** The type arguments of a call: those that other arguments say first, then those of functions, from left to right. */
export function inferTypeArguments(
  expansion: Expansion,
  node: as.CallExpression,
  prototype: as.FunctionPrototype,
  given: readonly (GivenFunction | null)[],
): as.Type[] | null {
  const { typing, flow } = expansion;
  const { resolver } = typing.program;
  const { parameters } = prototype.functionTypeNode;
  const wanted = prototype.typeParameterNodes ?? [];
  const names = new Set(wanted.map(({ name }) => name.text));
  const owner = prototype.is(CommonFlags.Instance) ? prototype.getBoundClassOrInterface() : null;
  const types = new Map([...(flow.contextualTypeArguments ?? []), ...(owner?.contextualTypeArguments ?? [])]);
  for (const name of names) types.set(name, as.Type.auto);
  const learn = (written: as.TypeNode, type: as.Type | null): void => {
    if (type === null || type === as.Type.void) return;
    (resolver as unknown as ResolverInternals).propagateInferredGenericTypes(written, type, prototype, types, names);
  };
  const known = (written: as.TypeNode): as.Type | null => {
    const open = wanted.filter(({ name }) => types.get(name.text) === as.Type.auto);
    if (open.length > 0 && written.hasGenericComponent(open)) return null;
    return resolver.resolveType(written, null, prototype.parent, new Map(types), ReportMode.Swallow);
  };
  for (const [index, argument] of node.args.entries()) {
    const written = parameters[index]?.type;
    if (given[index] === null && written !== undefined) learn(written, typing.of(argument, flow));
  }
  for (const [index, one] of given.entries()) {
    const written = parameters[index]?.type;
    if (one === null || !(written instanceof as.FunctionTypeNode)) continue;
    const { parameters: taken, returnType } = written;
    if (one.kind === "closure") {
      const { signature } = one;
      for (const [at, parameter] of taken.entries()) learn(parameter.type, signature.parameterTypes[at] ?? null);
      learn(returnType, signature.returnType);
      continue;
    }
    const own = one.lambda.parameters.map(({ name, type }, at) => {
      const said = isOmitted(type) ? null : expansion.resolve(type);
      const place = taken[at]?.type;
      if (said !== null && place !== undefined) learn(place, said);
      return [name, said ?? (place === undefined ? null : known(place))] as const;
    });
    if (own.every(([, type]) => type !== null))
      learn(returnType, resultOf(expansion, one.lambda, own as Names, known(returnType) ?? as.Type.auto));
  }
  const found = wanted.map(({ name }) => types.get(name.text)!);
  return found.includes(as.Type.auto) ? null : found;
}
