/**
 * Objects: records with methods that clients call. A constant `new Objects<Thread>("threads")` makes two things of the class
 * `Thread`. The class gets a method `save()`, unless it has one. Each of its public methods gets a function that finds the
 * object and calls the method. These functions are handlers like those that a developer writes, of the same trees:
 *
 *     function Thread.reply(id: string, text: string): i32 {
 *       const object = threads.get(id);
 *       if (object == null) abort(404, "not_found", `There is no Thread ${id}.`);
 *       return object.reply(text);
 *     }
 *
 * The names in them are the program's, and no developer can write them. So the function of an inherited method is in the file of
 * that method, where its types have their names.
 */
import { OBJECT_CREATION, OBJECT_ID } from "@radical/protocol";
import { ArrowKind, as, CommonFlags, ElementKind, NodeKind, ParameterKind, ReportMode } from "./assemblyscript.ts";
import {
  access,
  again,
  assigned,
  block,
  call,
  constant,
  hidden,
  identifier,
  integer,
  isNull,
  run,
  template,
  textLiteral,
  when,
} from "./expand/syntax.ts";
import { tableClass } from "./table-classes.ts";

const SAVE = "save";

/** A method of objects as a handler. */
export interface ObjectMethod {
  /** `Thread.reply`. */
  readonly name: string;
  /** The name by which the entry file calls it. */
  readonly calledAs: string;
  /** Path of the file with the table. */
  readonly file: string;
  readonly prototype: as.FunctionPrototype;
}

/** A class of objects with its table. */
export interface ObjectClass {
  readonly name: string;
  readonly table: as.VariableDeclaration;
  readonly methods: readonly ObjectMethod[];
}

const CLASSES = new WeakMap<as.Program, readonly ObjectClass[]>();

/** Those of a program whose elements are declared, in the order of their tables. */
export function objectClasses(program: as.Program): readonly ObjectClass[] {
  return CLASSES.get(program) ?? [];
}

/** The name by which WebAssembly exports a handler, as an identifier of the source. */
export function exportedName(handler: string): string {
  return handler.replace(".", "$");
}

/** The handler that has the name as an identifier of the source. */
export function handlerOfExport(name: string): string {
  return name.replace("$", ".");
}

/** Declares the functions and methods of all objects, in a program whose elements are declared. */
export function declareObjects(program: as.Program, library: string): void {
  const declared: ObjectClass[] = [];
  const abort = program.elementsByName.get(`${library}/index/abort`);
  if (abort !== undefined) program.elementsByName.set(ABORT, abort);
  const found = [...program.filesByName.values()].flatMap((file) => tablesOf(file));
  for (const one of found) {
    program.elementsByName.set(nameOfTable(one.objects), one.table);
    program.elementsByName.set(nameOfClass(one.objects), one.objects);
  }
  for (const { objects } of found) {
    const save = memberOf(objects, SAVE);
    if (save === null || (isMade(save) && save.parent !== objects)) addSave(objects, [put(objects)]);
  }
  for (const { objects } of found) addSaveOfRoot(objects);
  linkSaves(found.map(({ objects }) => objects));
  const classes = new Set<as.ClassPrototype>();
  for (const { objects, table } of found) {
    // The schema refuses a second table of a class.
    const methods = classes.has(objects)
      ? []
      : methodsOf(objects).map((method) => declareMethod(objects, table, method));
    classes.add(objects);
    declared.push({ name: objects.name, table: table.declaration as as.VariableDeclaration, methods });
  }
  CLASSES.set(program, declared);
}

const ABORT = "abort@objects";

interface Found {
  readonly table: as.Global;
  readonly objects: as.ClassPrototype;
}

/** The constants of a file that are tables of objects with an id. */
function tablesOf(file: as.File): readonly Found[] {
  const { source, program } = file;
  if (source.isLibrary) return [];
  const found: Found[] = [];
  for (const statement of source.statements) {
    if (statement.kind !== NodeKind.Variable) continue;
    for (const { initializer, name } of (statement as as.VariableStatement).declarations) {
      if (initializer?.kind !== NodeKind.New) continue;
      const { typeName, typeArguments } = initializer as as.NewExpression;
      const made = resolved(typeName, file, program);
      if (made === null || tableClass(made.internalName) !== "Objects") continue;
      const argument = typeArguments?.[0];
      if (argument?.kind !== NodeKind.NamedType) continue;
      const objects = resolved((argument as as.NamedTypeNode).name, file, program);
      const table = file.members?.get(name.text);
      if (objects?.kind !== ElementKind.ClassPrototype || table?.kind !== ElementKind.Global) continue;
      const prototype = objects as as.ClassPrototype;
      if (isApplicationClass(prototype) && memberOf(prototype, OBJECT_ID) !== null)
        found.push({ table: table as as.Global, objects: prototype });
    }
  }
  return found;
}

function resolved(name: as.TypeName, file: as.File, program: as.Program): as.Element | null {
  return program.resolver.resolveTypeName(name, null, file, ReportMode.Swallow);
}

function isApplicationClass({ declaration, parent }: as.ClassPrototype): boolean {
  return !declaration.range.source.isLibrary && parent.kind === ElementKind.File;
}

/** The class and those that it extends, of the application. */
function lineOf(objects: as.ClassPrototype): readonly as.ClassPrototype[] {
  const line: as.ClassPrototype[] = [];
  for (let one: as.ClassPrototype | null = objects; one !== null && isApplicationClass(one); one = one.basePrototype)
    line.push(one);
  return line;
}

function memberOf(objects: as.ClassPrototype, name: string): as.DeclaredElement | null {
  for (const one of lineOf(objects)) {
    const member = one.instanceMembers?.get(name);
    if (member !== undefined) return member;
  }
  return null;
}

/** The public methods, inherited ones too. */
function methodsOf(objects: as.ClassPrototype): readonly as.FunctionPrototype[] {
  const methods = new Map<string, as.FunctionPrototype | null>();
  for (const one of lineOf(objects))
    for (const [name, member] of one.instanceMembers ?? [])
      if (!methods.has(name)) methods.set(name, isMethod(member) ? (member as as.FunctionPrototype) : null);
  return [...methods.values()].filter(
    (method) => method !== null && method.bodyNode !== null,
  ) as as.FunctionPrototype[];
}

function isMethod(member: as.DeclaredElement): boolean {
  return (
    member.kind === ElementKind.FunctionPrototype &&
    !member.isAny(CommonFlags.Private | CommonFlags.Protected | CommonFlags.Abstract | CommonFlags.Generic) &&
    member.declaration.decorators === null &&
    !isMade(member)
  );
}

/** Methods that no developer wrote. */
const MADE = new WeakSet<as.Node>();

function nameOfTable({ internalName }: as.ClassPrototype): string {
  return `table@${internalName}`;
}

function nameOfClass({ internalName }: as.ClassPrototype): string {
  return `class@${internalName}`;
}

/** `threads.put(this.id, this);` */
function put(objects: as.ClassPrototype): as.Statement {
  const { range } = nameNode(objects);
  const self = (): as.Expression => as.Node.createThisExpression(range);
  return run(call(identifier(nameOfTable(objects), range), "put", [access(self(), OBJECT_ID, range), self()], range));
}

/** Methods of the class that all of these extend can save too; its own objects have no table. */
function addSaveOfRoot(objects: as.ClassPrototype): void {
  const root = lineOf(objects).at(-1)!;
  if (memberOf(root, SAVE) !== null || !isMade(memberOf(objects, SAVE))) return;
  const { range } = nameNode(root);
  const words = textLiteral(
    `An object of class ${root.name} can't be saved, because it has no table of objects.`,
    range,
  );
  const error = as.Node.createNewExpression(as.Node.createSimpleTypeName("Error", range), null, [words], range);
  addSave(root, [as.Node.createThrowStatement(error, range)]);
}

function addSave(objects: as.ClassPrototype, body: as.Statement[]): void {
  const { range } = nameNode(objects);
  const signature = as.Node.createFunctionType([], named("void", range), null, false, range);
  const declaration = as.Node.createMethodDeclaration(
    identifier(SAVE, range),
    null,
    CommonFlags.Instance,
    null,
    signature,
    block(body, range),
    range,
  );
  MADE.add(declaration);
  objects.addInstance(SAVE, new as.FunctionPrototype(SAVE, objects, declaration));
}

/** Makes the methods overrides, as the compiler has done with those that it knew. */
function linkSaves(classes: readonly as.ClassPrototype[]): void {
  for (const [own, ...bases] of classes.map((objects) => lineOf(objects))) {
    const save = own!.instanceMembers?.get(SAVE) ?? null;
    if (!isMade(save)) continue;
    for (const base of bases) {
      const overridden = base.instanceMembers?.get(SAVE);
      if (overridden?.kind !== ElementKind.FunctionPrototype) continue;
      overridden.set(CommonFlags.Overridden);
      const method = overridden as as.FunctionPrototype;
      (method.unboundOverrides ??= new Set()).add(save as as.FunctionPrototype);
    }
  }
}

function isMade(member: as.DeclaredElement | null): boolean {
  return member !== null && MADE.has(member.declaration);
}

function nameNode({ declaration }: as.ClassPrototype): as.IdentifierExpression {
  return (declaration as as.ClassDeclaration).name;
}

function declareMethod(
  objects: as.ClassPrototype,
  { declaration: { range: of } }: as.Global,
  method: as.FunctionPrototype,
): ObjectMethod {
  const { program, name } = objects;
  const declaration = method.declaration as as.MethodDeclaration;
  const { range } = declaration.name;
  const { parameters, returnType } = declaration.signature;
  // A diagnostic about the table or its key finds no text.
  const nowhere = range.atStart;
  const id = (): as.Expression => identifier(OBJECT_ID, nowhere);
  const table = (): as.Expression => identifier(nameOfTable(objects), nowhere);
  const object = hidden("object", range.start, range);
  const refuse = (status: number, code: string, before: string, behind: string): as.Statement =>
    run(
      as.Node.createCallExpression(
        identifier(ABORT, range),
        null,
        [integer(status, range), textLiteral(code, range), template([before, behind], [id()], range)],
        range,
      ),
    );
  const found =
    method.name === OBJECT_CREATION
      ? [
          when(
            call(table(), "has", [id()], nowhere),
            refuse(409, "already_exists", `There is a ${name} `, " already."),
            range,
          ),
          constant(
            object,
            as.Node.createNewExpression(as.Node.createSimpleTypeName(nameOfClass(objects), range), null, [], range),
          ),
          run(assigned(access(again(object), OBJECT_ID, range), id(), range)),
        ]
      : [
          constant(object, call(table(), "get", [id()], nowhere)),
          when(isNull(again(object), range), refuse(404, "not_found", `There is no ${name} `, "."), range),
        ];
  const args = parameters.map((parameter) => identifier(parameter.name.text, range));
  const called = call(again(object), method.name, args, range);
  const handler = `${name}.${method.name}`;
  const made = as.Node.createFunctionDeclaration(
    identifier(exportedName(handler), range),
    null,
    CommonFlags.Export,
    null,
    as.Node.createFunctionType(
      [
        as.Node.createParameter(
          ParameterKind.Default,
          identifier(OBJECT_ID, range),
          named("string", range),
          null,
          range,
        ),
        ...parameters,
      ],
      returnType,
      null,
      false,
      declaration.signature.range,
    ),
    block(
      [...found, isVoid(returnType) ? run(called) : as.Node.createReturnStatement(called, range)],
      declaration.range,
    ),
    ArrowKind.None,
    declaration.range,
  );
  const prototype = new as.FunctionPrototype(exportedName(handler), method.parent.parent, made);
  const calledAs = `__radicalMethod$${exportedName(handler)}`;
  program.elementsByDeclaration.set(made, prototype);
  program.elementsByName.set(calledAs, prototype);
  return { name: handler, calledAs, file: of.source.normalizedPath, prototype };
}

/** A function that returns no value has this type, written or not. */
function isVoid(type: as.TypeNode): boolean {
  return type.kind === NodeKind.NamedType && (type as as.NamedTypeNode).name.identifier.text === "void";
}

function named(name: string, range: as.Range): as.TypeNode {
  return as.Node.createNamedType(as.Node.createSimpleTypeName(name, range), null, false, range);
}
