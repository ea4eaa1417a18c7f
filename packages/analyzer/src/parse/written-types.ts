/**
 * Types as they are written, beside what the compiler makes of them: it knows a union of texts as `string` only.
 */
import { type as, ElementKind, NodeKind, ReportMode } from "./assemblyscript.ts";
import { TextsNode } from "./forms-types.ts";

export interface WrittenType {
  /** Null: it is not written. */
  readonly node: as.TypeNode | null;
  /** Where its names are looked up. */
  readonly scope: as.Element;
  /** The types that are given for the type parameters in it. */
  readonly given?: ReadonlyMap<string, WrittenType>;
}

export type Texts =
  | { readonly kind: "any" }
  | { readonly kind: "texts"; readonly texts: readonly string[] }
  /** A part is something else than texts. */
  | { readonly kind: "other"; readonly part: as.TypeNode };

/** Of a union of texts, without `null`, what it may be, each once. */
export function textsOf(program: as.Program, { node, scope, given }: WrittenType): Texts {
  if (!(node instanceof TextsNode)) return { kind: "any" };
  const texts = new Set<string>();
  for (const part of node.parts) {
    if (typeof part === "string") {
      texts.add(part);
      continue;
    }
    const named = textsOf(program, withoutAliases(program, { node: part, scope, ...(given && { given }) }));
    if (named.kind !== "texts") return { kind: "other", part };
    for (const text of named.texts) texts.add(text);
  }
  return { kind: "texts", texts: [...texts] };
}

/** The type behind names of other types. `seen`: these names, from now on. */
export function withoutAliases(
  program: as.Program,
  written: WrittenType,
  seen: Set<as.Element> = new Set(),
): WrittenType {
  let current = written;
  for (;;) {
    const { node, scope, given } = current;
    if (node === null || node.kind !== NodeKind.NamedType || node instanceof TextsNode) return current;
    const { name, typeArguments } = node as as.NamedTypeNode;
    const bound = name.next === null ? given?.get(name.identifier.text) : undefined;
    if (bound !== undefined) {
      current = bound;
      continue;
    }
    const element = program.resolver.resolveTypeName(name, null, scope, ReportMode.Swallow);
    if (element?.kind !== ElementKind.TypeDefinition || seen.has(element)) return current;
    const { typeNode, typeParameterNodes } = element as as.TypeDefinition;
    if (typeNode.range.source.isNative) return current;
    seen.add(element);
    const bindings = new Map<string, WrittenType>();
    typeParameterNodes?.forEach((parameter, index) => {
      const argument = typeArguments?.[index];
      if (argument !== undefined) bindings.set(parameter.name.text, { node: argument, scope, ...(given && { given }) });
    });
    current = { node: typeNode, scope: element, given: bindings };
  }
}

/** A type argument of what is written: of `T[]` the T. */
export function elementOf(program: as.Program, written: WrittenType, index: number): WrittenType {
  const { node, scope, given } = withoutAliases(program, written);
  const argument = node?.kind === NodeKind.NamedType ? (node as as.NamedTypeNode).typeArguments?.[index] : undefined;
  return { node: argument ?? null, scope, ...(given && { given }) };
}
