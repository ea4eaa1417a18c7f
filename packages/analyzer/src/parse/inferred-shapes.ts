/**
 * Records whose type nobody wrote: `{ id, title }` has the fields of the literal, with the types of their values. Types are
 * known only while a program compiles, so the class of such a record is declared then. Equal records are one class.
 *
 * The analysis comes upon them first. Each program after it declares them from the start, because generated code names them
 * (`CompileRequest.inferred`).
 */
import { as, CommonFlags } from "./assemblyscript.ts";
import { ResolvedTypeNode } from "./forms-nodes.ts";
import { markOptional, TextsNode } from "./forms-types.ts";
import { global, isNamelessShape, recordClass, shapeIdentifier, withStatements } from "./shapes.ts";

/** A field of a record, with the type of its values. */
export interface InferredField {
  readonly name: string;
  readonly type: as.Type;
  /** The texts of a union; null: it is not one. */
  readonly texts: readonly string[] | null;
  /** Null counts as absent. */
  readonly isOptional: boolean;
}

/** A type in the words of every program. */
type DescribedType =
  | { readonly kind: "number"; readonly type: as.Type }
  | {
      readonly kind: "class";
      readonly name: string;
      readonly given: readonly DescribedType[];
      readonly isNullable: boolean;
    };

/** A record without a written type, for other programs of the same files. */
export interface InferredShape {
  readonly identifier: string;
  /** Where the first literal of its kind stands. */
  readonly range: as.Range;
  readonly fields: readonly (Omit<InferredField, "type"> & { readonly described: DescribedType })[];
}

interface ProgramInternals {
  initializeClass(
    declaration: as.ClassDeclaration,
    parent: as.Element,
    queuedExtends: as.ClassPrototype[],
    queuedImplements: as.ClassPrototype[],
  ): as.ClassPrototype | null;
}

/** The records without a written type in one program. */
class InferredShapes {
  readonly #program: as.Program;
  readonly #shapes = new Map<string, InferredShape>();

  /** `known`: those of an earlier program, which this one declares. */
  constructor(program: as.Program, known: readonly InferredShape[]) {
    this.#program = program;
    for (const shape of known) this.#shapes.set(shape.identifier, shape);
  }

  /** In the order in which they were found. */
  get all(): readonly InferredShape[] {
    return [...this.#shapes.values()];
  }

  isInferred({ declaration }: as.ClassPrototype): boolean {
    return this.#shapes.has((declaration as as.ClassDeclaration).name.text);
  }

  /** The class of records with these fields, which hold no functions. `range`: a literal of this kind. */
  classOf(given: readonly InferredField[], range: as.Range): as.Class | null {
    const fields = given.map(({ type, ...field }) => ({ ...field, described: describe(type) }));
    const identifier = shapeIdentifier(
      fields.map(({ name }) => name),
      contentOf(fields),
    );
    if (!this.#shapes.has(identifier)) {
      const shape: InferredShape = { identifier, range, fields };
      const file = this.#program.filesByName.get(range.source.internalPath);
      if (file === undefined) return null;
      const internals = this.#program as unknown as ProgramInternals;
      internals.initializeClass(declarationOf(shape, this.#program), file, [], []);
      this.#shapes.set(identifier, shape);
    }
    const prototype = this.#program.elementsByName.get(identifier);
    return prototype === undefined ? null : this.#program.resolver.resolveClass(prototype as as.ClassPrototype, null);
  }
}

const SHAPES = new WeakMap<as.Program, InferredShapes>();

/** The records without a written type of a program. `known`: those of an earlier one, before anything else is asked. */
export function inferredShapes(program: as.Program, known: readonly InferredShape[] = []): InferredShapes {
  let shapes = SHAPES.get(program);
  if (shapes === undefined) SHAPES.set(program, (shapes = new InferredShapes(program, known)));
  return shapes;
}

/** The files with the declarations of shapes that an earlier program came upon: copies, where one is declared. */
export function withInferred(
  sources: readonly as.Source[],
  shapes: readonly InferredShape[],
  program: as.Program,
): readonly as.Source[] {
  return sources.map((source) => {
    const added = shapes.filter(({ range }) => range.source.internalPath === source.internalPath);
    if (added.length === 0) return source;
    const declared = added.map((shape) => declarationOf(shape, program));
    return withStatements(source, [...source.statements, ...declared]);
  });
}

function declarationOf(shape: InferredShape, program: as.Program): as.ClassDeclaration {
  const { identifier, range, fields } = shape;
  const name = as.Node.createIdentifierExpression(identifier, range);
  const members = fields.map((field) => {
    const declared = as.Node.createFieldDeclaration(
      as.Node.createIdentifierExpression(field.name, range),
      null,
      CommonFlags.Instance,
      typeNodeOf(field, range, program),
      null,
      range,
    );
    return field.isOptional ? markOptional(declared) : declared;
  });
  return recordClass(name, [global(range)], CommonFlags.None, null, null, members, range);
}

function typeNodeOf(
  { texts, described }: InferredShape["fields"][number],
  range: as.Range,
  program: as.Program,
): as.TypeNode {
  if (texts === null) return new ResolvedTypeNode(() => resolved(described, program), range);
  const node = new TextsNode(texts, range);
  node.isNullable = described.kind === "class" && described.isNullable;
  return node;
}

/** Equal for equal records, in whichever order their fields stand. */
function contentOf(fields: InferredShape["fields"]): string {
  const members = fields.map(({ name, texts, isOptional, described }) => {
    const type =
      texts === null
        ? wordsOf(described)
        : texts
            .toSorted()
            .map((text) => JSON.stringify(text))
            .join("|");
    return `${name}${isOptional ? "?" : ""}:${type}`;
  });
  return `inferred{${members.toSorted().join(";")}}`;
}

function describe(type: as.Type): DescribedType {
  const found = type.getClass();
  if (found === null) return { kind: "number", type };
  const { prototype, typeArguments } = found;
  // The class of an object type without a name stands in the file that is read first, and every file knows it.
  const isShape = isNamelessShape(prototype.declaration);
  return {
    kind: "class",
    name: isShape ? prototype.name : prototype.internalName,
    given: (typeArguments ?? []).map(describe),
    isNullable: type.isNullableReference,
  };
}

function wordsOf(type: DescribedType): string {
  if (type.kind === "number") return type.type.toString();
  return `${type.name}<${type.given.map(wordsOf).join(",")}>${type.isNullable ? "|null" : ""}`;
}

function resolved(type: DescribedType, program: as.Program): as.Type {
  if (type.kind === "number") return type.type;
  const prototype = program.elementsByName.get(type.name) as as.ClassPrototype | undefined;
  const given = type.given.map((argument) => resolved(argument, program));
  const found =
    prototype === undefined ? null : program.resolver.resolveClass(prototype, given.length === 0 ? null : given);
  if (found === null) throw new Error(`The class ${type.name} of an inferred record is not in the program.`);
  return type.isNullable ? found.type.asNullable() : found.type;
}
