/**
 * The declarations of an application: its handlers with their parameters and results, its tables, and the record classes
 * that both are made of. Types are the compiler's own resolution, so that aliases, inheritance and imports need no
 * second implementation.
 */
import {
  isSignalName,
  isStoredTable,
  isTableName,
  OBJECT_ID,
  type NamedTypes,
  type Parameter,
  type RecordTypes,
  type ServiceRules,
  type ValueType,
} from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type Fix, type Span } from "../diagnostics/diagnostic.ts";
import {
  as,
  CommonFlags,
  ElementKind,
  LiteralKind,
  NodeKind,
  ParameterKind,
  ReportMode,
  TypeKind,
} from "../parse/assemblyscript.ts";
import { isBlobClass } from "../parse/blobs.ts";
import { childrenOf } from "../parse/children.ts";
import type { Roots } from "../parse/facts.ts";
import { isPatternName } from "../parse/forms-patterns.ts";
import { exportsOf, isService } from "../parse/handlers.ts";
import { isOptionalMember, isOptionalParameter } from "../parse/forms-types.ts";
import { entriesOf } from "../parse/map-entries.ts";
import { boxedType } from "../parse/nullable-numbers.ts";
import { handlerOfExport, objectClasses, type ObjectMethod } from "../parse/objects.ts";
import { isSecret } from "../parse/secrets.ts";
import { isNamelessShape } from "../parse/shapes.ts";
import { signalsIn } from "../parse/signals.ts";
import { copiedText, readableTypes, spanOfRange, textOf } from "../parse/span.ts";
import { tableClass } from "../parse/table-classes.ts";
import { partsOfTuple } from "../parse/tuples.ts";
import { indexesIn, type IndexSchema } from "./indexes.ts";
import { descriptionBefore, documentationOf, formerNames } from "./documentation.ts";
import { TypeNames } from "./named-types.ts";
import { RecordNames } from "./record-names.ts";
import { misplaced, type TaggedService } from "./tags.ts";
import { elementOf, textsOf, withoutAliases, type WrittenType } from "../parse/written-types.ts";

/** Prefix of every generated name. */
export const RESERVED_PREFIX = "__radical";

export interface HandlerParameter extends Parameter {
  readonly resolved: as.Type;
  /** Source text of the default value, marked with where it is from; null if there is none. */
  readonly defaultText: string | null;
}

export interface HandlerSchema {
  /** Of a method of objects: `Thread.reply`. */
  readonly name: string;
  /** Path of the handler file that exports it; of a method of objects that with their table. */
  readonly exportedBy: string;
  /** Path of the file that declares it: another one if it is re-exported. */
  readonly declaredIn: string;
  /** The name by which the program calls a method of objects; null: the one that its file exports. */
  readonly calledAs: string | null;
  readonly declaration: as.FunctionDeclaration;
  readonly instance: as.Function;
  readonly parameters: readonly HandlerParameter[];
  readonly result: as.Type;
  /** Null: the handler returns nothing. */
  readonly resultType: ValueType | null;
}

/** A function that the application's Worker has. */
export interface ServiceSchema {
  readonly name: string;
  readonly declaration: as.FunctionDeclaration;
  readonly parameters: readonly HandlerParameter[];
  /** Null: the service returns nothing. */
  readonly resultType: ValueType | null;
  readonly rules: ServiceRules;
}

export interface TableSchema {
  readonly name: string;
  readonly type: ValueType;
  readonly resolved: as.Type;
  readonly file: string;
  readonly variable: string;
  readonly declaration: as.VariableDeclaration;
}

export interface RecordField {
  readonly name: string;
  readonly type: ValueType;
  readonly resolved: as.Type;
  /** Declared as `name?: T`: `type` is T, and `resolved` T | null. */
  readonly absent: boolean;
  /** Its names in earlier builds. */
  readonly was: readonly string[];
  readonly declaration: as.FieldDeclaration;
  /** The class that declares it: the record's or one that it extends. */
  readonly owner: as.Class;
  readonly readonly: boolean;
  /** Source text of the initializer, marked with where it is from, in the scope of `owner`; null if there is none. */
  readonly initializer: string | null;
}

export interface RecordSchema {
  readonly class: as.Class;
  /** Its name for clients and in the manifest. */
  readonly name: string;
  /** Its name in its file: an object type without a name has one that no developer wrote. */
  readonly identifier: string;
  readonly file: string;
  readonly fields: readonly RecordField[];
}

export interface Schema {
  readonly handlers: readonly HandlerSchema[];
  /** Handlers with a mistake in their declaration, by exported name; null: there is nothing to compile. */
  readonly broken: ReadonlyMap<string, as.Function | null>;
  /** Sorted by name. */
  readonly services: readonly ServiceSchema[];
  readonly tables: readonly TableSchema[];
  readonly indexes: readonly IndexSchema[];
  /** Tables with a mistake in their declaration. */
  readonly brokenTables: readonly Pick<TableSchema, "declaration">[];
  /** In order of first use. */
  readonly records: readonly RecordSchema[];
  readonly named: NamedTypes;
  readonly diagnostics: readonly Diagnostic[];
}

export interface SchemaOptions {
  /**
   * Whether the names of tables and records are unique in the program. They are in an application. They are not among its
   * read/write-set functions, each of which declares its own.
   */
  readonly uniqueNames: boolean;
  /** Whether an exported function is not a handler, but a read/write-set function. */
  readonly isSetFunction?: (declaration: as.FunctionDeclaration) => boolean;
  /** The functions that their tags call services. */
  readonly services?: readonly TaggedService[];
}

/** Extracts the schema of a loaded program. Problems are in the result, and as messages of the compiler in the program. */
export function extractSchema(program: as.Program, handlerFiles: readonly string[], options: SchemaOptions): Schema {
  const extractor = new SchemaExtractor(program, options);
  for (const path of handlerFiles) extractor.addHandlers(path);
  for (const service of options.services ?? []) extractor.addService(service);
  extractor.addTables();
  if (options.uniqueNames) extractor.addSignals();
  if (options.uniqueNames) extractor.addIndexes();
  // A read/write-set function is one of its own name.
  if (options.uniqueNames) extractor.addObjects();
  return extractor.finish();
}

/** The record types in the form that the manifest has. */
export function recordTypes(records: readonly RecordSchema[]): RecordTypes {
  return Object.fromEntries(
    records.map(({ name, fields, class: found }) => [
      name,
      {
        name,
        ...(isBlobClass(found) ? { isBlob: true as const } : {}),
        ...described(found.prototype.declaration),
        fields: fields.map((field) => ({
          name: field.name,
          type: field.type,
          // A Blob is whole.
          optional:
            !isBlobClass(found) && (field.initializer !== null || field.type.kind === "nullable" || field.absent),
          ...(field.absent ? { absent: true as const } : {}),
          ...(field.was.length === 0 ? {} : { was: field.was }),
          ...described(field.declaration),
        })),
      },
    ]),
  );
}

function described({ name }: as.DeclarationStatement): { readonly description?: string } {
  const description = descriptionBefore(name.range);
  return description === null ? {} : { description };
}

/** The functions and classes from which a program with this schema is compiled. */
export function rootsOf({ handlers, broken, records }: Schema): Roots {
  const instances = [...handlers.map(({ instance }) => instance), ...broken.values()];
  return {
    handlers: instances.filter((instance) => instance !== null),
    records: records.map((record) => record.class),
  };
}

type Problem = readonly [
  code: Diagnostic["code"],
  range: as.Range,
  message: string,
  details?: { readonly related?: Diagnostic["related"]; readonly help?: string; readonly fix?: Fix | undefined },
];

class SchemaExtractor {
  readonly #program: as.Program;
  readonly #uniqueNames: boolean;
  readonly #isSetFunction: (declaration: as.FunctionDeclaration) => boolean;
  readonly #handlers = new Map<string, HandlerSchema>();
  readonly #broken = new Map<string, as.Function | null>();
  readonly #services = new Map<string, ServiceSchema>();
  readonly #tables = new Map<string, TableSchema>();
  readonly #brokenTables: Pick<TableSchema, "declaration">[] = [];
  #indexes: readonly IndexSchema[] = [];
  readonly #records = new Map<as.Class, RecordSchema | null>();
  readonly #diagnostics: Diagnostic[] = [];
  readonly #names: RecordNames;
  readonly #typeNames: TypeNames;

  constructor(program: as.Program, options: SchemaOptions) {
    this.#program = program;
    this.#uniqueNames = options.uniqueNames;
    this.#isSetFunction = options.isSetFunction ?? (() => false);
    this.#names = new RecordNames(program);
    this.#typeNames = new TypeNames(program);
  }

  finish(): Schema {
    const records = [...this.#records.values()].filter((record) => record !== null);
    if (this.#uniqueNames) this.#refuseInfiniteRecords(records);
    return {
      handlers: [...this.#handlers.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      broken: this.#broken,
      services: [...this.#services.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      brokenTables: this.#brokenTables,
      tables: [...this.#tables.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      indexes: this.#indexes,
      records,
      named: this.#typeNames.named,
      diagnostics: this.#diagnostics,
    };
  }

  addHandlers(path: string): void {
    const file = this.#program.filesByName.get(path.replace(/\.ts$/, ""));
    if (file === undefined) return;
    for (const [exported, element] of exportsOf(file)) {
      const name = this.#uniqueNames ? exported : handlerOfExport(exported);
      if (element.kind === ElementKind.FunctionPrototype) {
        const prototype = element as as.FunctionPrototype;
        if (this.#isSetFunction(prototype.declaration as as.FunctionDeclaration)) continue;
        if (isService(this.#program, prototype)) continue;
        this.#addHandler(name, path, prototype, null);
      } else if (element.kind === ElementKind.Global) {
        const declaration = (element as as.Global).declaration as as.VariableDeclaration;
        const { initializer, name: variable } = declaration;
        if (initializer?.kind !== NodeKind.Function) continue;
        this.#report(
          "handler_not_function",
          variable.range,
          `The exported variable ${name} holds a function, and is not a handler.`,
          {
            help: `Declare it as a function: \`export function ${name}(…): … { … }\`.`,
            fix: asFunction(declaration, initializer as as.FunctionExpression),
          },
        );
      }
    }
  }

  /** The public methods of objects, but for those with the tag `@internal`. */
  addObjects(): void {
    const classes = new Map<string, as.VariableDeclaration>();
    for (const { name, table, methods } of objectClasses(this.#program)) {
      const other = classes.get(name);
      if (other !== undefined) {
        this.#report("duplicate_table", table.name.range, `The objects of class ${name} have two tables.`, {
          related: [{ span: spanOfRange(other.name.range), label: "the other one" }],
          help: "Keep one of them. A method would not know where its object is.",
        });
        continue;
      }
      classes.set(name, table);
      for (const method of methods) this.#addMethod(method);
    }
  }

  #addMethod({ name, calledAs, file, prototype }: ObjectMethod): void {
    const declaration = prototype.declaration as as.FunctionDeclaration;
    const { range } = declaration.name;
    if (documentationOf(range.source.text, range.start).isInternal) return;
    const parameters = declaration.signature.parameters.slice(1);
    const own = parameters.find((parameter) => parameter.name.text === OBJECT_ID);
    // variant: object-id-parameter
    if (own !== undefined) {
      this.#report(
        "invalid_handler_name",
        own.name.range,
        `The method ${name} has a parameter ${OBJECT_ID}, and its URL already has the id of its object.`,
        { help: "Give the parameter another name, or write `/** @internal */` before the method." },
      );
      return;
    }
    // The default of a handler's parameter sees the parameters before it.
    const hidden = parameters.find(({ initializer }) => initializer !== null && mentions(initializer, OBJECT_ID));
    // variant: object-id-default
    if (hidden !== undefined) {
      this.#report(
        "invalid_handler_name",
        hidden.name.range,
        `The default of ${hidden.name.text} names ${OBJECT_ID}, which is the id of the object when clients call ${name}.`,
        { help: "Give the other value another name, or compute the default in the method." },
      );
      return;
    }
    this.#addHandler(name, file, prototype, calledAs);
  }

  #addHandler(name: string, path: string, prototype: as.FunctionPrototype, calledAs: string | null): void {
    const declaration = prototype.declaration as as.FunctionDeclaration;
    const at = declaration.name.range;
    if (name === "default") {
      this.#report(
        "invalid_handler_name",
        at,
        "A handler can't be a default export, because clients call it by its name.",
        {
          help: `Export it by name: \`export function ${declaration.name.text === "" ? "post" : declaration.name.text}(…)\`.`,
        },
      );
      return;
    }
    const isNamed = this.#uniqueNames && calledAs === null ? HANDLER_NAME.test(name) : METHOD_NAME.test(name);
    if (!isNamed || name === "memory" || name in Object.prototype) {
      this.#report("invalid_handler_name", at, `A handler can't have the name ${name}.`, {
        help: "Choose a name of at most 64 letters, digits and `_` that starts with a letter. It can't be `memory`, or a member of every JavaScript object.",
      });
      return;
    }
    const other = this.#handlers.get(name);
    if (other !== undefined) {
      this.#report(
        "duplicate_handler",
        at,
        `Two handlers have the name ${name}, and a call names no file: POST /api/${name}.`,
        {
          related: [{ span: spanOfRange(other.declaration.name.range), label: "the other one" }],
          help: "Rename one of them.",
        },
      );
      return;
    }
    if (declaration.typeParameters !== null && declaration.typeParameters.length > 0) {
      this.#report(
        "generic_handler",
        at,
        `The handler ${name} has type parameters, but clients send values of definite types.`,
        {
          help: "Write one handler for each type. They can share a generic function.",
        },
      );
      return;
    }
    const instance = this.#program.resolver.resolveFunction(prototype, null, new Map(), ReportMode.Report);
    this.#broken.set(name, instance);
    // The compiler has reported the type that does not resolve.
    if (instance === null) return;
    const signature = this.#signatureOf("handler", name, prototype, instance);
    if (signature === null) return;
    this.#broken.delete(name);
    const declaredIn = declaration.range.source.normalizedPath;
    this.#handlers.set(name, { name, exportedBy: path, declaredIn, calledAs, declaration, instance, ...signature });
  }

  /** A function of another file than those that handlers import is nobody's. */
  addService({ file, name, start, rules, tag }: TaggedService): void {
    const source = this.#program.filesByName.get(file.replace(/\.ts$/, ""));
    if (source === undefined) return;
    const element = source.members?.get(name);
    const declaration = element?.declaration as as.FunctionDeclaration | undefined;
    if (element?.kind !== ElementKind.FunctionPrototype || declaration?.name.range.start !== start)
      return void this.#diagnostics.push(
        misplaced(tag, `stands before ${name}, which is not a function at the top of a file`),
      );
    const prototype = element as as.FunctionPrototype;
    const at = declaration.name.range;
    if (declaration.body !== null || !prototype.is(CommonFlags.Ambient)) {
      const signature = textOf(declaration.signature).replace(/;$/, "");
      return this.#report(
        "service_declaration",
        at,
        `The service ${name} has a body, but the application's Worker has the service.`,
        {
          help: `Declare it, and write it in \`src/worker.ts\`: \`export declare function ${name}${signature.startsWith("(") ? signature : "(…): …"};\`.`,
        },
      );
    }
    if (declaration.typeParameters !== null && declaration.typeParameters.length > 0)
      return this.#report(
        "service_declaration",
        at,
        `The service ${name} has type parameters, but the Worker gets values of definite types.`,
        {
          help: "Declare one service for each type.",
        },
      );
    if (!HANDLER_NAME.test(name) || name in Object.prototype)
      return this.#report("service_declaration", at, `A service can't have the name ${name}.`, {
        help: "Choose a name of at most 64 letters, digits and `_` that starts with a letter.",
      });
    const other = this.#services.get(name)?.declaration ?? this.#handlers.get(name)?.declaration;
    if (other !== undefined)
      return this.#report(
        "duplicate_handler",
        at,
        `The service ${name} has the name of another service, or of a handler, and a task names no file.`,
        {
          related: [{ span: spanOfRange(other.name.range), label: "the other one" }],
          help: "Rename one of them.",
        },
      );
    const instance = this.#program.resolver.resolveFunction(prototype, null, new Map(), ReportMode.Report);
    if (instance === null) return;
    const signature = this.#signatureOf("service", name, prototype, instance);
    if (signature === null) return;
    const { parameters, resultType } = signature;
    this.#services.set(name, { name, declaration, parameters, resultType, rules });
  }

  /** Null: a part of it has no value type, which is reported. */
  #signatureOf(
    noun: "handler" | "service",
    name: string,
    prototype: as.FunctionPrototype,
    instance: as.Function,
  ): Pick<HandlerSchema, "parameters" | "result" | "resultType"> | null {
    const declaration = prototype.declaration as as.FunctionDeclaration;
    const parameters: HandlerParameter[] = [];
    let complete = true;
    declaration.signature.parameters.forEach((node, index) => {
      if (node.parameterKind === ParameterKind.Rest) {
        this.#report(
          "rest_parameter",
          node.range,
          `The ${noun} ${name} has a rest parameter, but its arguments have names.`,
          {
            help: `Take an array: \`${node.name.text}: ${node.type.range.start < node.type.range.end ? textOf(node.type) : "string[]"}\`.`,
            fix: withoutFirst(node.range, /^\.\.\.\s*/, "Take an array"),
          },
        );
        complete = false;
        return;
      }
      // variant: parameter-named
      if (isPatternName(node.name)) {
        const pattern = textOf(node.name);
        this.#report("pattern_parameter", node.name.range, `A parameter of ${noun} ${name} has no name.`, {
          help: `Clients send arguments by name. Write \`input\` in its place, and in the body \`const ${pattern} = input;\`.`,
          fix: namedParameter(declaration, node.name),
        });
        complete = false;
        return;
      }
      const resolved = instance.signature.parameterTypes[index]!;
      const absent = isOptionalParameter(node);
      const written: WrittenType = { node: node.type, scope: prototype };
      const secret = isSecret(this.#program, written);
      const type = this.#valueType(absent ? resolved.nonNullableType : resolved, written, {
        range: node.type.range,
        what: `The parameter ${node.name.text} of ${noun} ${name}`,
        path: [name, node.name.text],
        ...(secret ? { secret: written } : {}),
      });
      if (type === null) {
        complete = false;
        return;
      }
      parameters.push({
        name: node.name.text,
        type,
        optional: node.initializer !== null || node.parameterKind === ParameterKind.Optional,
        ...(absent ? { absent } : {}),
        ...(secret ? { secret } : {}),
        resolved,
        defaultText: node.initializer === null || absent ? null : copiedText(node.initializer),
      });
    });
    const result = instance.signature.returnType;
    let resultType: ValueType | null = null;
    if (result.kind !== TypeKind.Void) {
      const node = declaration.signature.returnType;
      resultType = this.#valueType(
        result,
        { node, scope: prototype },
        { range: node.range, what: `The result of ${noun} ${name}`, path: [name, "result"] },
      );
      if (resultType === null) complete = false;
    }
    return complete ? { parameters, result, resultType } : null;
  }

  /** Tables and counters are constants of files: `const users = new Table<User>("users")`. */
  addTables(): void {
    for (const file of this.#program.filesByName.values()) {
      if (file.source.isLibrary) continue;
      for (const statement of file.source.statements) {
        if (statement.kind !== NodeKind.Variable) continue;
        for (const declaration of (statement as as.VariableStatement).declarations) this.#addTable(declaration, file);
      }
    }
  }

  /** Indexes of tables that are known. */
  addIndexes(): void {
    const records = [...this.#records.values()].filter((record) => record !== null);
    const broken = new Set<as.Node>(this.#brokenTables.map(({ declaration }) => declaration));
    this.#indexes = indexesIn(this.#program, [...this.#tables.values()], broken, records, (problem) =>
      this.#diagnostics.push(problem),
    );
  }

  /** Signals, whose values workflows are sent. */
  addSignals(): void {
    const names = new Map<string, as.VariableDeclaration>();
    for (const { declaration, made, file } of signalsIn(this.#program)) {
      const [name] = made.args;
      // `check/check-uses.ts` refuses other signals where they are constructed.
      if (name === undefined || !isStringLiteral(name)) continue;
      const { value } = name;
      const other = names.get(value);
      names.set(value, declaration);
      if (!isSignalName(value))
        this.#report("invalid_signal", name.range, `A signal can't have the name ${JSON.stringify(value)}.`, {
          help: "Choose a name of at most 64 letters, digits, `_` and `-` that starts with a letter or `_`.",
        });
      else if (other !== undefined)
        this.#report("invalid_signal", name.range, `The signal ${value} is declared twice.`, {
          related: [{ span: spanOfRange(other.range), label: "declared here" }],
          help: "Export the signal from one file, and import it in the others.",
        });
      else this.#signalType(value, made, file);
    }
  }

  #signalType(name: string, { typeArguments }: as.NewExpression, file: as.File): void {
    const node = typeArguments?.[0];
    // The compiler tells that it is missing.
    if (node === undefined) return;
    const resolved = this.#program.resolver.resolveType(node, null, file, null, ReportMode.Report);
    if (resolved === null) return;
    const what = `The value of the signal ${name}`;
    const type = this.#valueType(resolved, { node, scope: file }, { range: node.range, what, path: ["signal", name] });
    if (type === null) return;
    if (type.kind === "nullable" || hasTexts(type))
      this.#report(
        "invalid_signal",
        node.range,
        type.kind === "nullable"
          ? `${what} can't be null, which means that none has come.`
          : `${what} can't be of type ${textOf(node)}, because Radical checks texts of a union in records only.`,
        { help: "Send a record, and put the value into a field of it." },
      );
  }

  #addTable(declaration: as.VariableDeclaration, file: as.File): void {
    const made = declaration.initializer;
    if (made === null || made.kind !== NodeKind.New) return;
    const { typeName, typeArguments, args } = made as as.NewExpression;
    const element = this.#program.resolver.resolveTypeName(typeName, null, file, ReportMode.Swallow);
    const tables = element === null ? null : tableClass(element.internalName);
    if (tables === null) return;
    const nameNode = args[0];
    // `check/check-uses.ts` refuses other tables where they are constructed.
    if (nameNode === undefined || !isStringLiteral(nameNode) || (declaration.flags & CommonFlags.Const) === 0) return;
    const broken = { declaration };
    this.#brokenTables.push(broken);
    const name = nameNode.value;
    // A read/write-set function names the entries of indexes too.
    if (!(this.#uniqueNames ? isTableName(name) : isStoredTable(name))) {
      this.#report("invalid_table_name", nameNode.range, `A table can't have the name ${JSON.stringify(name)}.`, {
        help: "Choose a name of at most 64 letters, digits, `_` and `-` that starts with a letter or `_`.",
      });
      return;
    }
    const item = tables === "Counter" ? COUNTED : this.#itemType(name, made.range, typeArguments?.[0], file);
    if (item === null || (tables === "Objects" && !this.#hasId(name, item.type, typeArguments![0]!.range))) return;
    const other = this.#tables.get(name);
    if (other !== undefined) {
      if (!this.#uniqueNames) return;
      this.#report("duplicate_table", nameNode.range, `The table ${name} is declared twice.`, {
        related: [{ span: spanOfRange(other.declaration.range), label: "declared here" }],
        help: "Export the table from one file, and import it in the others.",
      });
      return;
    }
    this.#brokenTables.splice(this.#brokenTables.indexOf(broken), 1);
    this.#tables.set(name, {
      name,
      ...item,
      file: file.source.normalizedPath,
      variable: declaration.name.text,
      declaration,
    });
  }

  /** Whether the items of a table are objects: records with a field for their keys. Reports it if not. */
  #hasId(name: string, type: ValueType, range: as.Range): boolean {
    const record = type.kind === "record" ? [...this.#records.values()].find((one) => one?.name === type.name) : null;
    const id = record?.fields.find((field) => field.name === OBJECT_ID);
    if (id?.type.kind === "string" && id.type.oneOf === undefined) return true;
    this.#report(
      "unsupported_type",
      range,
      `The objects of ${name} can't be of type ${textOf({ range } as as.Node)}, because it has no field \`${OBJECT_ID}: string\`.`,
      { help: `Give the class the field: \`${OBJECT_ID}: string = "";\`.` },
    );
    return false;
  }

  /** The type of a table's items; null: it is wrong, and reported. */
  #itemType(
    name: string,
    range: as.Range,
    argument: as.TypeNode | undefined,
    file: as.File,
  ): Pick<TableSchema, "type" | "resolved"> | null {
    if (argument === undefined) {
      this.#report("missing_type", range, `The table ${name} has no type for its items.`, {
        help: `Write the type: \`new Table<User>("${name}")\`.`,
      });
      return null;
    }
    const resolved = this.#program.resolver.resolveType(argument, null, file, null, ReportMode.Report);
    if (resolved === null) return null;
    const written = { node: argument, scope: file };
    const type = this.#valueType(resolved, written, {
      range: argument.range,
      what: `The items of table ${name}`,
      path: singular([name]),
    });
    if (type === null) return null;
    if (hasTexts(type)) {
      this.#report(
        "unsupported_type",
        argument.range,
        `The items of table ${name} can't be of type ${textOf(argument)}, because Radical checks texts of a union in records only.`,
        {
          help: "Store the text in a field of a record.",
        },
      );
      return null;
    }
    if (type.kind !== "record" && type.kind !== "string" && type.kind !== "array" && type.kind !== "map") {
      this.#report(
        "unsupported_type",
        argument.range,
        `The items of table ${name} can't be of type ${textOf(argument)}, because a table gives null for an absent item.`,
        {
          help: "Store a record, a string, an array or a map.",
        },
      );
      return null;
    }
    return { type, resolved };
  }

  /** The value type of a resolved type; null if it has none, which is reported at the place. */
  #valueType(type: as.Type, written: WrittenType, place: Place): ValueType | null {
    if (type.isNullableReference) {
      const inner = this.#valueType(type.nonNullableType, written, place);
      return inner === null ? null : { kind: "nullable", inner };
    }
    const number = NUMBERS.get(type.kind);
    if (number !== undefined && !type.isReference) {
      const named = number.kind === "i32" ? this.#typeNames.enumNamed(written) : undefined;
      return named === undefined ? number : { kind: "i32", named };
    }
    const boxed = boxedType(type);
    if (boxed !== null) return this.#valueType(boxed, written, place);
    const found = type.getClass();
    if (found !== null) {
      if (found === this.#program.stringInstance) return this.#textType(written, place);
      if (found.prototype === this.#program.arrayPrototype) {
        const element = this.#valueType(found.typeArguments![0]!, elementOf(this.#program, written, 0), {
          ...place,
          path: singular(place.path),
        });
        return element === null ? null : { kind: "array", element };
      }
      if (found.prototype.internalName === MAP || entriesOf(type) !== null) {
        const [key, value] = found.typeArguments!;
        const keys = withoutAliases(this.#program, elementOf(this.#program, written, 0));
        const isText = key!.getClass() === this.#program.stringInstance && !key!.isNullableReference;
        if (!isText || textsOf(this.#program, keys).kind !== "any") return this.#unsupported(place, type);
        const held = this.#valueType(value!, elementOf(this.#program, written, 1), {
          ...place,
          path: singular(place.path),
        });
        return held === null ? null : { kind: "map", value: held };
      }
      const parts = partsOfTuple(type);
      if (parts !== null) return this.#tuple(parts, written, place);
      const record = this.#record(found, place);
      return record === null ? null : { kind: "record", name: record.name };
    }
    return this.#unsupported(place, type);
  }

  #tuple(parts: readonly as.Type[], written: WrittenType, place: Place): ValueType | null {
    const elements: ValueType[] = [];
    for (const [index, part] of parts.entries()) {
      const path = [...place.path, `part${index + 1}`];
      const element = this.#valueType(part, elementOf(this.#program, written, index), { ...place, path });
      if (element === null) return null;
      elements.push(element);
    }
    return { kind: "tuple", elements };
  }

  #textType(written: WrittenType, { what, range, secret }: Place): ValueType | null {
    if (written !== secret && isSecret(this.#program, written)) {
      this.#report("misplaced_secret", range, `${what} can't be a Secret, because its value is stored or sent on.`, {
        help: "Only a parameter of a handler or a service is a Secret: `password: Secret`. Store its hash, as `string`.",
      });
      return null;
    }
    const texts = textsOf(this.#program, withoutAliases(this.#program, written));
    if (texts.kind === "texts") {
      const named = this.#typeNames.textsNamed(written, texts.texts);
      return { kind: "string", oneOf: texts.texts, ...(named === undefined ? {} : { named }) };
    }
    if (texts.kind === "any") return { kind: "string" };
    this.#report("union_type", texts.part.range, `The type ${textOf(texts.part)} is not a union of texts.`, {
      help: 'Write the texts: `type Status = "free" | "held";`.',
    });
    return null;
  }

  #unsupported({ range, what }: Place, type: as.Type): null {
    const name = type.toString();
    const instead = INSTEAD.find(([pattern]) => pattern.test(name))?.[1];
    this.#report(
      "unsupported_type",
      range,
      `${what} can't be of type ${readableTypes(name)}, because such a value can't be sent or stored.`,
      {
        help:
          instead ??
          "Use `bool`, `i8` … `u64`, `f32`, `f64`, `string`, an array, a tuple, a map of texts, a record, or one of them with `| null`.",
      },
    );
    return null;
  }

  #record(found: as.Class, place: Place): RecordSchema | null {
    const known = this.#records.get(found);
    if (known !== undefined) return known;
    const { prototype } = found;
    const declaration = prototype.declaration as as.ClassDeclaration;
    const { range, what } = place;
    const refuse = (...problem: Problem): null => {
      this.#records.set(found, null);
      this.#report(...problem);
      return null;
    };
    const isData = !found.isInterface && !prototype.is(CommonFlags.Abstract) && !found.type.isUnmanaged;
    if (!isData || isOfLibrary(found, this.#program)) {
      this.#records.set(found, null);
      return this.#unsupported(place, found.type);
    }
    for (let base: as.Class | null = found; base !== null && isOwn(base); base = base.base) {
      const { name } = base.prototype.declaration;
      if (base.prototype.parent.kind !== ElementKind.File) {
        return refuse(
          "nested_record",
          name.range,
          `The record class ${name.text} is not declared at the top of a file.`,
          {
            help: "Declare it there, outside of namespaces.",
          },
        );
      }
      if (base.typeArguments !== null && base.typeArguments.length > 0) {
        return refuse(
          "generic_record",
          range,
          `${what} can't be of the generic class ${name.text}, because clients and tables have definite types.`,
          {
            related: [{ span: spanOfRange(name.range), label: "declared here" }],
            help: "Write a class without type parameters.",
          },
        );
      }
    }
    const name = isNamelessShape(declaration) ? this.#names.nameOf(place.path) : prototype.name;
    const namesake = [...this.#records.values()].find((record) => record?.name === name);
    if (this.#uniqueNames && namesake !== undefined && namesake !== null) {
      return refuse(
        "duplicate_record",
        declaration.name.range,
        `Two record classes have the name ${prototype.name}, and clients see records by name.`,
        {
          related: [{ span: spanOfRange(namesake.class.prototype.declaration.name.range), label: "the other one" }],
          help: "Rename one of them.",
        },
      );
    }
    const fields: RecordField[] = [];
    const file = declaration.range.source.normalizedPath;
    const record: RecordSchema = { class: found, name, identifier: prototype.name, file, fields };
    // A field of its own type finds the record here, before its fields are known.
    this.#records.set(found, record);
    for (const member of found.members?.values() ?? []) {
      const field = this.#field(member, record);
      if (field !== null) fields.push(field);
    }
    return record;
  }

  /** A stored field belongs to one field of the class. */
  #checkFormerName(former: string, { name }: as.FieldDeclaration, { members }: as.Class): void {
    const fields = [...(members?.values() ?? [])].filter((member) => member.kind === ElementKind.PropertyPrototype);
    // variant: former-name-shared
    const isShared = fields.some(({ name: other, declaration }) =>
      other === name.text
        ? formerNames(declaration.name.range).filter((one) => one === former).length > 1
        : other === former || formerNames(declaration.name.range).includes(former),
    );
    if (/^[A-Za-z_$][\w$]*$/.test(former) && former !== name.text && !isShared) return;
    this.#report(
      "unknown_tag",
      name.range,
      isShared
        ? `Two fields would read what is stored as ${former}: ${name.text} has the tag @was ${former}.`
        : `The tag @was of ${name.text} needs the name of another field.`,
      { help: "Write the name that the field had in earlier builds: `/** @was oldName */`." },
    );
  }

  #field(member: as.DeclaredElement, record: RecordSchema): RecordField | null {
    if (member.kind !== ElementKind.PropertyPrototype) return null;
    const prototype = member as as.PropertyPrototype;
    const declaration = prototype.fieldDeclaration;
    if (declaration === null) return null;
    const name = member.name;
    const property = this.#program.resolver.resolveProperty(prototype, ReportMode.Report);
    if (property === null) return null;
    if (member.isAny(CommonFlags.Private | CommonFlags.Protected)) {
      this.#report(
        "private_field",
        declaration.name.range,
        `The field ${name} of record class ${record.name} is not public, but records are stored and sent.`,
        {
          help: "Make the field public, or keep the value in a class that is not a record.",
          fix: withoutFirst(declaration.range, /^(private|protected)\s+/, "Make it public"),
        },
      );
      return null;
    }
    const absent = isOptionalMember(declaration);
    const owner = property.parent as as.Class;
    const type = this.#valueType(
      absent ? property.type.nonNullableType : property.type,
      { node: declaration.type, scope: owner },
      {
        range: declaration.type?.range ?? declaration.name.range,
        what: `The field ${name} of record class ${record.name}`,
        path: [record.name, name],
      },
    );
    if (type === null) return null;
    const was = formerNames(declaration.name.range);
    for (const former of was) this.#checkFormerName(former, declaration, record.class);
    return {
      name,
      type,
      absent,
      was,
      resolved: property.type,
      declaration,
      owner,
      readonly: member.is(CommonFlags.Readonly),
      initializer: initializerText(declaration, owner),
    };
  }

  /** A record that always contains another of its kind can't be made. */
  #refuseInfiniteRecords(records: readonly RecordSchema[]): void {
    const byName = new Map(records.map((record) => [record.name, record]));
    const contains = (from: RecordSchema, wanted: RecordSchema, seen: Set<RecordSchema>): boolean =>
      from.fields
        .flatMap((field) => (field.absent ? [] : alwaysIn(field.type)))
        .some((name) => {
          const next = byName.get(name);
          if (next === undefined || seen.has(next)) return false;
          seen.add(next);
          return next === wanted || contains(next, wanted, seen);
        });
    for (const record of records) {
      if (!contains(record, record, new Set())) continue;
      this.#report(
        "infinite_record",
        record.class.prototype.declaration.name.range,
        `A record ${record.name} always contains another ${record.name}, so none can be made.`,
        {
          help: `Make the field optional, nullable (\`${record.name} | null\`) or an array.`,
        },
      );
    }
  }

  #report(...[code, range, message, details = {}]: Problem): void {
    this.#diagnostics.push(diagnostic(code, { message, primary: spanOfRange(range), ...details }));
  }
}

/** An arrow function as a function; undefined: its result has no type, or the variable is not a constant. */
function asFunction(
  { name, type, range }: as.VariableDeclaration,
  { declaration }: as.FunctionExpression,
): Fix | undefined {
  const { signature, body } = declaration;
  const { source } = range;
  const { text } = source;
  const piece = (start: number, end: number): Span => spanOf({ path: source.normalizedPath, text }, start, end);
  const constant = /\bconst\s+$/.exec(text.slice(0, name.range.start));
  const { start: resultStart, end: resultEnd } = signature.returnType.range;
  if (constant === null || type !== null || body === null) return undefined;
  const arrow = /^\s*=>\s*/.exec(text.slice(resultEnd, body.range.start));
  const open = text.indexOf("(", name.range.end);
  if (resultStart >= resultEnd || arrow === null || open < 0 || open > signature.range.end) return undefined;
  const isBlock = body.kind === NodeKind.Block;
  const end = body.range.end + (/^\s*;/.exec(text.slice(body.range.end))?.[0].length ?? 0);
  const value = text.slice(body.range.start, body.range.end).replace(/;$/, "");
  return {
    title: `Make ${name.text} a function`,
    edits: [
      { span: piece(constant.index, open), text: `function ${name.text}` },
      { span: piece(resultEnd, end), text: isBlock ? ` ${value}` : ` {\n  return ${value};\n}` },
    ],
  };
}

/** Leaves out what a node begins with. */
function withoutFirst(range: as.Range, first: RegExp, title: string): Fix | undefined {
  const { source, start } = range;
  const found = first.exec(source.text.slice(start, range.end))?.[0];
  if (found === undefined) return undefined;
  const span = spanOf({ path: source.normalizedPath, text: source.text }, start, start + found.length);
  return { title, edits: [{ span, text: "" }] };
}

/** Gives a parameter a name, and takes it apart in the body. Undefined: there are several, and one name is not enough. */
function namedParameter(
  { range, body, signature }: as.FunctionDeclaration,
  name: as.IdentifierExpression,
): Fix | undefined {
  const file = { path: range.source.normalizedPath, text: range.source.text };
  if (signature.parameters.filter((parameter) => isPatternName(parameter.name)).length > 1) return undefined;
  if (body?.kind !== NodeKind.Block || /\binput\b/.test(file.text.slice(range.start, range.end))) return undefined;
  const inside = body.range.start + 1;
  return {
    title: "Name the parameter",
    edits: [
      { span: spanOfRange(name.range), text: "input" },
      { span: spanOf(file, inside, inside), text: `\n  const ${textOf(name)} = input;` },
    ],
  };
}

const HANDLER_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
/** Also of a handler that is a method of objects. */
const METHOD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63})?$/;

const MAP = "~lib/map/Map";

/** The type of a counter's items. */
const COUNTED: Pick<TableSchema, "type" | "resolved"> = { type: { kind: "i64" }, resolved: as.Type.i64 };

/** Whether an expression mentions a variable of that name. */
function mentions(node: as.Node, name: string): boolean {
  if (node.kind === NodeKind.Identifier) return (node as as.IdentifierExpression).text === name;
  if (node.kind === NodeKind.PropertyAccess) return mentions((node as as.PropertyAccessExpression).expression, name);
  return childrenOf(node).some((child) => mentions(child, name));
}

/** Where a type is used. */
interface Place {
  readonly range: as.Range;
  /** In words that begin a sentence: `The parameter post of handler publish`. */
  readonly what: string;
  /** The names on the way to it: that of the handler or record, and of its part. */
  readonly path: readonly string[];
  /** Of a parameter that is a secret, the type as it is written. */
  readonly secret?: WrittenType;
}

/** The path to an element of what is at the path: of `sections` a `section`. */
function singular(path: readonly string[]): readonly string[] {
  return path.map((name, index) =>
    index === path.length - 1 && /[^s]s$/.test(name) && name.length > 2 ? name.slice(0, -1) : name,
  );
}

/** The names of the records that every value of a type contains. */
function alwaysIn(type: ValueType): readonly string[] {
  if (type.kind === "tuple") return type.elements.flatMap(alwaysIn);
  return type.kind === "record" ? [type.name] : [];
}

/** Whether texts outside of records are of a union, so that nothing checks them where they are stored. */
function hasTexts(type: ValueType): boolean {
  switch (type.kind) {
    case "string":
      return type.oneOf !== undefined;
    case "array":
      return hasTexts(type.element);
    case "map":
      return hasTexts(type.value);
    case "tuple":
      return type.elements.some(hasTexts);
    case "nullable":
      return hasTexts(type.inner);
    default:
      return false;
  }
}

function isOwn(found: as.Class): boolean {
  return !found.prototype.declaration.range.source.isLibrary;
}

/** Whether a class is AssemblyScript's, or extends one of its classes but Object. */
function isOfLibrary(found: as.Class, program: as.Program): boolean {
  let root = found;
  while (isOwn(root) && root.base !== null) root = root.base;
  return !isOwn(root) && root.prototype !== program.objectPrototype;
}

const NUMBERS: ReadonlyMap<as.TypeKind, ValueType> = new Map<as.TypeKind, ValueType>([
  [TypeKind.Bool, { kind: "bool" }],
  [TypeKind.I8, { kind: "i8" }],
  [TypeKind.U8, { kind: "u8" }],
  [TypeKind.I16, { kind: "i16" }],
  [TypeKind.U16, { kind: "u16" }],
  [TypeKind.I32, { kind: "i32" }],
  [TypeKind.U32, { kind: "u32" }],
  [TypeKind.I64, { kind: "i64" }],
  [TypeKind.U64, { kind: "u64" }],
  [TypeKind.F32, { kind: "f32" }],
  [TypeKind.F64, { kind: "f64" }],
]);

/** Help for types that can't cross the boundary. */
const INSTEAD: readonly (readonly [type: RegExp, help: string])[] = [
  [/\/(Map|Record)</, "Use texts for the keys of the map: `Record<string, T>`, or `Map<string, T>`."],
  [
    /\/rows\/Row</,
    "Return values, keys or cursors in a record of your own: `for (const row of rows) page.posts.push(row.value);`.",
  ],
  [/\/ranges\/Range</, "Return the values of its rows: `for (const row of range.first(20)) posts.push(row.value);`."],
  [/\/Set</, "Use an array, or a map: `Record<string, bool>`."],
  [/\/Date$/, "Use an `i64` with the milliseconds since the epoch, as `now()` gives them."],
  [/\/StaticArray</, "Use an array: `T[]`."],
  [/(Array|ArrayBuffer|DataView)$/, "Use an array of numbers: `u8[]`."],
  [/^[iu]size$/, "Use `i32` or `i64`, which have a definite size."],
  [/=>/, "Send data instead of a function."],
];

function isStringLiteral(node: as.Expression): node is as.StringLiteralExpression {
  return node.kind === NodeKind.Literal && (node as as.LiteralExpression).literalKind === LiteralKind.String;
}

/**
 * The initializer of a field; for a parameter property the parameter's default, if it is a plain literal (another
 * one could mention parameters).
 */
function initializerText(field: as.FieldDeclaration, owner: as.Class): string | null {
  if (field.initializer !== null) return copiedText(field.initializer);
  if (field.parameterIndex < 0) return null;
  const constructor = owner.prototype.constructorPrototype;
  const initializer = constructor?.functionTypeNode.parameters[field.parameterIndex]?.initializer ?? null;
  return initializer !== null && isPlainLiteral(initializer) ? textOf(initializer) : null;
}

function isPlainLiteral(node: as.Expression): boolean {
  switch (node.kind) {
    case NodeKind.True:
    case NodeKind.False:
    case NodeKind.Null:
      return true;
    case NodeKind.UnaryPrefix:
      return isPlainLiteral((node as as.UnaryPrefixExpression).operand);
    case NodeKind.Literal: {
      const { literalKind } = node as as.LiteralExpression;
      if (literalKind === LiteralKind.Array) {
        return (node as as.ArrayLiteralExpression).elementExpressions.every((element) => isPlainLiteral(element));
      }
      return (
        literalKind === LiteralKind.Integer || literalKind === LiteralKind.Float || literalKind === LiteralKind.String
      );
    }
    default:
      return false;
  }
}
