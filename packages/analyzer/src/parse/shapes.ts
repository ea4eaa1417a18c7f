/**
 * Records that are declared by their shape: `type X = { … }`, `interface X { … }`, and object types without a name.
 * The compiler has classes only, so each shape is one.
 *
 * A file alone tells what its object types are called (`nameShapes`). A shape without a name is called by its content, so
 * that equal shapes are one class in every file and every program. A program tells which of them it declares, and which
 * interfaces are records (`declareShapes`): those without methods that no class implements.
 */
import { as, CommonFlags, DiagnosticCode, NodeKind } from "./assemblyscript.ts";
import { isOptionalMember, markOptional, ObjectTypeNode, TextsNode, type TypesParser } from "./forms-types.ts";

/** How the names of classes begin that stand for object types without a name. */
const SHAPE_PREFIX = "__radicalShape$";

/** The shapes of one file. */
export interface FileShapes {
  /** By the statements that declare them. */
  readonly interfaces: ReadonlyMap<as.Statement, Interface>;
  /** The interfaces of its classes, by the names in all files. */
  readonly implemented: readonly string[];
  /** Of object types without a name. */
  readonly nameless: readonly Shape[];
  /** Those that it gives a name. */
  readonly named: readonly NamedShape[];
}

export const NO_SHAPES: FileShapes = { interfaces: new Map(), implemented: [], nameless: [], named: [] };

interface Interface {
  readonly name: string;
  /** The type that it extends. */
  readonly base: string | null;
  /** The class that it is as a record; null: it has methods. */
  readonly record: as.ClassDeclaration | null;
}

interface NamedShape {
  readonly content: string;
  /** In all files. */
  readonly name: string;
}

interface Shape {
  readonly content: string;
  readonly declaration: as.ClassDeclaration;
}

/** Whether a class stands for an object type without a name. */
export function isNamelessShape(declaration: as.Node & { readonly name: as.IdentifierExpression }): boolean {
  return declaration.name.text.startsWith(SHAPE_PREFIX);
}

const NAMELESS = /(?:[\w~@./-]*\/)?__radicalShape\$([\w$]*)\$[0-9a-f]{16}/g;

/** The compiler's words with the names of such classes as their fields: `{ name, age }`. */
export function readableShapes(text: string): string {
  return text.replaceAll(NAMELESS, (_, names: string) => {
    const fields = fieldsOf(names);
    return fields.length === 0 ? "{}" : `{ ${fields.map((name) => (name === "" ? "…" : name)).join(", ")} }`;
  });
}

/** Names of such classes as a developer may have chosen them: `NameAge`. */
export function titledShapes(text: string): string {
  return text.replaceAll(NAMELESS, (_, names: string) => {
    const fields = fieldsOf(names);
    return fields.length === 0 ? "Empty" : fields.map((name) => name.charAt(0).toUpperCase() + name.slice(1)).join("");
  });
}

function fieldsOf(names: string): readonly string[] {
  return names === "" ? [] : names.split("$");
}

/** Names the object types of a file that was just parsed, and declares records in place of `type X = { … }`. */
export function nameShapes(source: as.Source, parser: TypesParser): FileShapes {
  return new ShapeNames(source, parser).all();
}

class ShapeNames {
  readonly #source: as.Source;
  readonly #parser: TypesParser;
  readonly #names: ReadonlyMap<string, string>;
  readonly #contents = new Map<ObjectTypeNode, string>();

  constructor(source: as.Source, parser: TypesParser) {
    this.#source = source;
    this.#parser = parser;
    this.#names = namesOf(source);
  }

  all(): FileShapes {
    const { statements } = this.#source;
    const interfaces = new Map<as.Statement, Interface>();
    const implemented: string[] = [];
    const named: NamedShape[] = [];
    const direct = new Set<ObjectTypeNode>();
    const addNamed = ({ text }: as.IdentifierExpression, members: readonly as.FieldDeclaration[]): void => {
      named.push({ content: this.#contentOf(members), name: this.#qualified(text) });
    };
    statements.forEach((statement, index) => {
      if (statement.kind === NodeKind.TypeDeclaration) {
        const { name, decorators, flags, typeParameters, type, range } = statement as as.TypeDeclaration;
        if (!(type instanceof ObjectTypeNode) || type.isNullable) return;
        direct.add(type);
        statements[index] = recordClass(name, decorators, flags, typeParameters, null, type.members, range);
        if (typeParameters === null) addNamed(name, type.members);
      } else if (statement.kind === NodeKind.InterfaceDeclaration) {
        const { name, extendsType, typeParameters } = statement as as.InterfaceDeclaration;
        const record = recordOf(statement as as.InterfaceDeclaration);
        const base = extendsType === null ? null : this.#typeName(extendsType);
        interfaces.set(statement, { name: this.#qualified(name.text), base, record });
        if (record !== null && base === null && typeParameters === null)
          addNamed(name, record.members as as.FieldDeclaration[]);
      } else {
        for (const type of classOf(statement)?.implementsTypes ?? []) implemented.push(this.#typeName(type));
      }
    });
    const nameless = new Map<string, Shape>();
    for (const node of this.#parser.objectTypes) {
      if (direct.has(node)) continue;
      const content = this.#content(node);
      const identifier = identifierOf(node.members, content);
      node.name.identifier.text = identifier;
      const name = as.Node.createIdentifierExpression(identifier, node.range);
      const known = nameless.get(identifier);
      if (known === undefined) {
        const declaration = recordClass(
          name,
          [global(node.range)],
          CommonFlags.None,
          null,
          null,
          node.members,
          node.range,
        );
        nameless.set(identifier, { content, declaration });
      }
    }
    return { interfaces, implemented, nameless: [...nameless.values()], named };
  }

  /** Equal for equal shapes, in whichever file and order their members are written. */
  #content(node: ObjectTypeNode): string {
    const known = this.#contents.get(node);
    if (known !== undefined) return known;
    const content = this.#contentOf(node.members);
    this.#contents.set(node, content);
    return content;
  }

  #contentOf(fields: readonly as.FieldDeclaration[]): string {
    const members = fields.map((member) => {
      const { name, flags, type } = member;
      const readonly = (flags & CommonFlags.Readonly) !== 0 ? "readonly " : "";
      return `${readonly}${name.text}${isOptionalMember(member) ? "?" : ""}:${type === null ? "" : this.#typeContent(type)}`;
    });
    return `{${members.toSorted().join(";")}}`;
  }

  #typeContent(type: as.TypeNode): string {
    const suffix = type.isNullable ? "|null" : "";
    if (type instanceof ObjectTypeNode) return this.#content(type) + suffix;
    if (type instanceof TextsNode) {
      const parts = type.parts.map((part) => (typeof part === "string" ? JSON.stringify(part) : this.#typeName(part)));
      return `(${[...new Set(parts)].toSorted().join("|")})${suffix}`;
    }
    if (type.kind === NodeKind.FunctionType) {
      const { parameters, returnType } = type as as.FunctionTypeNode;
      const taken = parameters.map((one) => `${one.parameterKind}${this.#typeContent(one.type)}`);
      return `((${taken.join(",")})=>${this.#typeContent(returnType)})${suffix}`;
    }
    const named = type as as.NamedTypeNode;
    const given = (named.typeArguments ?? []).map((argument) => this.#typeContent(argument));
    return `${this.#typeName(named)}${given.length === 0 ? "" : `<${given.join(",")}>`}${suffix}`;
  }

  /** The name of a type in all files. */
  #typeName({ name }: as.NamedTypeNode): string {
    const parts: string[] = [];
    for (let part: as.TypeName | null = name; part !== null; part = part.next) parts.push(part.identifier.text);
    const [first, ...rest] = parts;
    const known = this.#names.get(first!);
    if (known === undefined && this.#parser.typeParameterNames.has(first!))
      this.#parser.error(
        DiagnosticCode.Not_implemented_0,
        name.range,
        "object types without a name that mention a type parameter",
      );
    return [known ?? SYNONYMS.get(first!) ?? first!, ...rest].join(".");
  }

  #qualified(name: string): string {
    return `${this.#source.internalPath}/${name}`;
  }
}

/** Types with two names. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["number", "f64"],
  ["boolean", "bool"],
  ["String", "string"],
]);

/** For each name of a file the one that it has in all files. */
function namesOf({ statements, internalPath }: as.Source): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const statement of statements) {
    if (statement.kind === NodeKind.Import) {
      const { declarations, namespaceName, internalPath: from } = statement as as.ImportStatement;
      for (const { name, foreignName } of declarations ?? []) names.set(name.text, `${from}/${foreignName.text}`);
      if (namespaceName !== null) names.set(namespaceName.text, from);
    } else if (statement.kind === NodeKind.ExportDefault) {
      const { name } = (statement as as.ExportDefaultStatement).declaration;
      names.set(name.text, `${internalPath}/${name.text}`);
    } else if (statement instanceof as.DeclarationStatement) {
      names.set(statement.name.text, `${internalPath}/${statement.name.text}`);
    }
  }
  return names;
}

function classOf(statement: as.Statement): as.ClassDeclaration | null {
  if (statement.kind === NodeKind.ExportDefault) return classOf((statement as as.ExportDefaultStatement).declaration);
  return statement.kind === NodeKind.ClassDeclaration ? (statement as as.ClassDeclaration) : null;
}

/** The class that an interface is if it is a record; null: it has methods. */
function recordOf(declaration: as.InterfaceDeclaration): as.ClassDeclaration | null {
  const { name, decorators, flags, typeParameters, extendsType, members, indexSignature, range } = declaration;
  if (indexSignature !== null) return null;
  const fields: as.FieldDeclaration[] = [];
  for (const member of members) {
    if (member.kind !== NodeKind.FieldDeclaration) return null;
    fields.push(member as as.FieldDeclaration);
  }
  return recordClass(name, decorators, flags, typeParameters, extendsType, fields, range);
}

/** The class of a record with these fields. */
export function recordClass(
  name: as.IdentifierExpression,
  decorators: as.DecoratorNode[] | null,
  flags: CommonFlags,
  typeParameters: as.TypeParameterNode[] | null,
  base: as.NamedTypeNode | null,
  fields: readonly as.FieldDeclaration[],
  range: as.Range,
): as.ClassDeclaration {
  const members = fields.map((field) => {
    // Members of interfaces have marks that are not for fields.
    let own: CommonFlags = field.flags & (CommonFlags.Readonly | CommonFlags.Instance);
    if (typeParameters !== null) own |= CommonFlags.GenericContext;
    const made = as.Node.createFieldDeclaration(
      field.name,
      field.decorators,
      own,
      field.type,
      field.initializer,
      field.range,
    );
    return isOptionalMember(field) ? markOptional(made) : made;
  });
  return as.Node.createClassDeclaration(name, decorators, flags, typeParameters, base, null, members, range);
}

/** The class can be named in every file. */
export function global(range: as.Range): as.DecoratorNode {
  return as.Node.createDecorator(as.Node.createIdentifierExpression("global", range), null, range);
}

/** Of names the first four: messages show them. */
const SHOWN_FIELDS = 4;

function identifierOf(members: readonly as.FieldDeclaration[], content: string): string {
  return shapeIdentifier(
    members.map(({ name }) => name.text),
    content,
  );
}

/** The identifier of a class for a record without a name, which has fields of these names. Equal contents have equal identifiers. */
export function shapeIdentifier(fields: readonly string[], content: string): string {
  const names = fields.toSorted();
  const shown = names.length > SHOWN_FIELDS ? [...names.slice(0, SHOWN_FIELDS - 1), ""] : names;
  return `${SHAPE_PREFIX}${shown.join("$")}$${hash(content, 0x811c9dc5)}${hash(content, 0x01000193)}`;
}

/** FNV-1a of 32 bits, in 8 digits. */
function hash(text: string, start: number): string {
  let value = start;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, "0");
}

/** A file of a program with its shapes. */
export interface ShapedSource {
  readonly source: as.Source;
  readonly shapes: FileShapes;
}

/** The declarations of a program by shape. */
export interface Declared {
  /** The files; copies, where something is declared. */
  readonly sources: readonly as.Source[];
  /** The names of nameless shapes that are records with a name, and the names of these. */
  readonly aliases: ReadonlyMap<string, string>;
}

export function declareShapes(files: readonly ShapedSource[]): Declared {
  const interfaces = remainingInterfaces(files);
  const named = onlyNames(files, interfaces);
  const aliases = new Map<string, string>();
  const homes = homesOf(files);
  const declared = new Map<string, string>();
  const sources = files.map(({ source, shapes }) => {
    const added: as.Statement[] = [];
    for (const { content, declaration } of shapes.nameless) {
      const { text } = declaration.name;
      const name = named.get(content);
      if (name !== undefined) {
        aliases.set(text, name);
        continue;
      }
      const before = declared.get(text);
      if (before !== undefined && before !== content) throw new Error(`two shapes are called ${text}`);
      if (before !== undefined || homes.get(text) !== source.internalPath) continue;
      added.push(declaration);
      declared.set(text, content);
    }
    let changed = added.length > 0;
    const statements = source.statements.map((statement) => {
      const found = shapes.interfaces.get(statement);
      if (found === undefined || found.record === null || interfaces.has(found.name)) return statement;
      changed = true;
      return found.record;
    });
    return changed ? withStatements(source, [...statements, ...added]) : source;
  });
  return { sources, aliases };
}

/** The file that declares each nameless shape: the first by its path, whatever the order in which files are loaded. */
function homesOf(files: readonly ShapedSource[]): ReadonlyMap<string, string> {
  const homes = new Map<string, string>();
  for (const { source, shapes } of files)
    for (const { declaration } of shapes.nameless) {
      const { text } = declaration.name;
      const home = homes.get(text);
      if (home === undefined || source.internalPath < home) homes.set(text, source.internalPath);
    }
  return homes;
}

/** A copy of a file with other statements: builds share the file itself. */
export function withStatements(source: as.Source, statements: as.Statement[]): as.Source {
  const copy = Object.create(Object.getPrototypeOf(source) as object) as as.Source;
  return Object.assign(copy, source, { statements });
}

/** Gives the records of an initialized program the names of their nameless shapes too. */
export function nameAliases(program: as.Program, aliases: Declared["aliases"]): void {
  for (const [alias, name] of aliases) {
    const record = program.elementsByName.get(name);
    if (record !== undefined) program.elementsByName.set(alias, record);
  }
}

/** The interfaces that stay interfaces: those with methods, those that a class implements, and their relatives. */
function remainingInterfaces(files: readonly ShapedSource[]): ReadonlySet<string> {
  const all = files.flatMap(({ shapes }) => [...shapes.interfaces.values()]);
  const remaining = new Set(all.filter(({ record }) => record === null).map(({ name }) => name));
  for (const implemented of files.flatMap(({ shapes }) => shapes.implemented)) {
    // The name of one that another file passes on is not known: then each that is called so may be meant.
    const isKnown = all.some(({ name }) => name === implemented);
    for (const { name } of all)
      if (isKnown ? name === implemented : lastOf(name) === lastOf(implemented)) remaining.add(name);
  }
  for (let size = -1; size !== remaining.size;) {
    size = remaining.size;
    for (const { name, base } of all) {
      if (base === null) continue;
      if (remaining.has(base)) remaining.add(name);
      if (remaining.has(name)) remaining.add(base);
    }
  }
  return remaining;
}

function lastOf(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf(".")) + 1);
}

/** The name of each shape that has exactly one, by content. */
function onlyNames(files: readonly ShapedSource[], interfaces: ReadonlySet<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string[]>();
  for (const { content, name } of files.flatMap(({ shapes }) => shapes.named))
    if (!interfaces.has(name)) names.set(content, [...(names.get(content) ?? []), name]);
  return new Map([...names].flatMap(([content, [only, ...others]]) => (others.length === 0 ? [[content, only!]] : [])));
}
