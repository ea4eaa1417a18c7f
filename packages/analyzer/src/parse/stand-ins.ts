/**
 * A build tells all mistakes at once. A type that does not resolve would hide every mistake of the functions around it,
 * since the compiler leaves these out. So another type stands in for it. It leads to errors that the type itself would
 * not lead to; `check/consequences.ts` knows them by the names in them.
 */
import { as, ReportMode } from "./assemblyscript.ts";
import { isDevelopers } from "./graft.ts";

/** The compiler reports types of the developer's that do not resolve, and goes on with a number. */
export function standInForTypes({ resolver }: as.Program): void {
  const resolveType = resolver.resolveType.bind(resolver);
  resolver.resolveType = (node, flow, element, types, mode) => {
    const type = resolveType(node, flow, element, types, mode);
    const isReported = (mode ?? ReportMode.Report) === ReportMode.Report;
    return type === null && isReported && isDevelopers(node.range.source) ? as.Type.i32 : type;
  };
  const resolveFunction = resolver.resolveFunction.bind(resolver);
  resolver.resolveFunction = (prototype, typeArguments, types, mode) => {
    const found = resolveFunction(prototype, typeArguments, types, mode);
    const isReported = (mode ?? ReportMode.Report) === ReportMode.Report;
    if (found !== null || !isReported || !isDevelopers(prototype.functionTypeNode.range.source)) return found;
    // The compiler said which types are missing.
    const signature = prototype.functionTypeNode;
    const { parameters, returnType } = signature;
    const omitted = parameters.filter(({ type }) => isOmitted(type));
    if (omitted.length === 0 && !isOmitted(returnType)) return null;
    const written = omitted.map(({ type }) => type);
    for (const parameter of omitted) parameter.type = named("i32", parameter.type.range);
    if (isOmitted(returnType)) signature.returnType = named("void", returnType.range);
    try {
      return resolveFunction(prototype, typeArguments, types, ReportMode.Swallow);
    } finally {
      // Builds share the tree.
      for (const [index, parameter] of omitted.entries()) parameter.type = written[index]!;
      signature.returnType = returnType;
    }
  };
}

function isOmitted({ range }: as.TypeNode): boolean {
  return range.start === range.end;
}

function named(name: string, range: as.Range): as.TypeNode {
  return as.Node.createNamedType(as.Node.createSimpleTypeName(name, range), null, false, range);
}
