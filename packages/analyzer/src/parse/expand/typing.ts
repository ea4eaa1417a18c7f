/** The compiler's answers that an expansion hangs on. None of them reports anything. */
import { as, ElementKind, ReportMode } from "../assemblyscript.ts";
import { isTupleClass } from "../tuples.ts";

export class Typing {
  readonly program: as.Program;
  readonly #resolver: as.Resolver;

  constructor(program: as.Program) {
    this.program = program;
    this.#resolver = program.resolver;
  }

  /** Null: there is a mistake in the expression, or nothing says its type. */
  of(node: as.Expression, flow: as.Flow, context: as.Type = as.Type.auto): as.Type | null {
    return this.quietly(() => {
      const type = this.#resolver.resolveExpression(node, flow, context, ReportMode.Swallow);
      return type?.signatureReference ? this.#ofFunction(node, flow, type) : type;
    });
  }

  /** Forgets all that an answer reports. */
  quietly<T>(answer: () => T): T {
    const { diagnostics } = this.program;
    const reported = diagnostics.length;
    const given = answer();
    diagnostics.length = reported;
    return given;
  }

  /** Of a variable or field that holds a function or null, the resolver says that it holds a function. */
  #ofFunction(node: as.Expression, flow: as.Flow, type: as.Type): as.Type {
    const element = this.#resolver.lookupExpression(node, flow, as.Type.auto, ReportMode.Swallow);
    const own = element !== null && "type" in element ? (element.type as as.Type) : null;
    return own?.nonNullableType === type ? own : type;
  }

  /** The declaration of the field that an expression names; null: it is another expression. */
  fieldOf(node: as.Expression, flow: as.Flow): as.FieldDeclaration | null {
    return this.#propertyOf(node, flow)?.fieldDeclaration ?? null;
  }

  /** Whether an expression calls a getter that the developer wrote. */
  isGetter(node: as.Expression, flow: as.Flow): boolean {
    const property = this.#propertyOf(node, flow);
    return property?.fieldDeclaration === null && !property.declaration.range.source.isLibrary;
  }

  #propertyOf(node: as.Expression, flow: as.Flow): as.PropertyPrototype | null {
    const { diagnostics } = this.program;
    const reported = diagnostics.length;
    const found = this.#resolver.lookupExpression(node, flow, as.Type.auto, ReportMode.Swallow);
    diagnostics.length = reported;
    if (found?.kind === ElementKind.PropertyPrototype) return found as as.PropertyPrototype;
    return found?.kind === ElementKind.Property ? (found as as.Property).prototype : null;
  }

  /** The type of an expression that also sees these names. */
  within(
    node: as.Expression,
    flow: as.Flow,
    names: Iterable<readonly [name: as.IdentifierExpression, type: as.Type]>,
    context: as.Type = as.Type.auto,
  ): as.Type | null {
    const inner = flow.fork();
    for (const [name, type] of names) inner.addScopedDummyLocal(name.text, type, name);
    return this.of(node, inner, context);
  }

  /** The class of the library that a value is of, null left aside: `Array`, `Map`, `String`. A tuple is of none. */
  containerOf(type: as.Type | null): as.Class | null {
    const found = type?.getClass() ?? null;
    return found !== null && found.declaration.range.source.isLibrary && !isTupleClass(found) ? found : null;
  }

  /** Whether a name is one of the library, or one that nobody has declared. */
  isGlobal(name: as.Expression, flow: as.Flow): boolean {
    if (!(name instanceof as.IdentifierExpression)) return false;
    const element = this.#resolver.lookupExpression(name, flow, as.Type.auto, ReportMode.Swallow);
    return element === null || !(element instanceof as.DeclaredElement) || element.declaration.range.source.isLibrary;
  }

  isText(type: as.Type | null): boolean {
    return type?.getClass() === this.program.stringInstance;
  }
}

/** Whether values of a type can be null, in a way that the type says. */
export function isNullable(type: as.Type): boolean {
  return type.isNullableReference;
}

export function isReference(type: as.Type): boolean {
  return type.isReference;
}
