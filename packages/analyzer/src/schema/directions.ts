/**
 * Decisions of the developer about handlers, by tags. They are near storage, results before their confirmation, transformations
 * refused, and a read/write-set function of their own (a *given set*). They also make a handler a workflow, give it a schedule,
 * and state rules of its tasks and those of services.
 */
import { objectMethod, type Schedule, type TaskRules } from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import { closest } from "../diagnostics/closest.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import type { TransformationKind } from "../front.ts";
import { type as, ElementKind, ReportMode, TypeKind } from "../parse/assemblyscript.ts";
import { spanOfRange, textOf } from "../parse/span.ts";
import { functionsNamedAt } from "../parse/wrapping.ts";
import type { HandlerSchema, Schema } from "./schema.ts";
import { misplaced, type Tag, type TaggedFunction, type Tags } from "./tags.ts";

/** A function that the developer wrote to say what a handler reads and writes. */
export interface GivenSet {
  readonly handler: string;
  /** Path of its file. */
  readonly file: string;
  readonly name: string;
  /** Place of its name. */
  readonly span: Span;
  /** Place of its whole declaration. */
  readonly declaration: Span;
  /** Source text of its declaration. */
  readonly source: string;
}

export interface Directions {
  /** By handler. */
  readonly given: ReadonlyMap<string, GivenSet>;
  /** Places of the tags, by handler. */
  readonly nearStorage: ReadonlyMap<string, Span>;
  /** Places of the tags, by handler. */
  readonly speculative: ReadonlyMap<string, Span>;
  /** Places of the tags, by handler. */
  readonly workflows: ReadonlyMap<string, Span>;
  /** By handler. */
  readonly refused: ReadonlyMap<string, ReadonlySet<TransformationKind>>;
  /** The rules of tasks, by the handlers and services that state some. */
  readonly tasks: ReadonlyMap<string, TaskRules>;
  /** Places of the tags, by table. */
  readonly privateTables: ReadonlyMap<string, Span>;
  /** Places of the tags, by table. */
  readonly auditedTables: ReadonlyMap<string, Span>;
  readonly diagnostics: readonly Diagnostic[];
}

/** The name under which the generated client has the handlers that are tagged. */
const CLIENT_GROUP = "speculate";

/** Whether a function is the read/write-set function of some handler, and so not a handler itself. */
export function isSetFunction({ functions }: Tags, { name }: as.FunctionDeclaration): boolean {
  const { start, source } = name.range;
  return functions.some(
    ({ file, span, tags }) =>
      span.start === start && file === source.normalizedPath && tags.some(({ kind }) => kind === "readwrite"),
  );
}

export function readDirections(program: as.Program, schema: Schema, tags: Tags): Directions {
  const given = new Map<string, GivenSet>();
  const nearStorage = new Map<string, Span>();
  const speculative = new Map<string, Span>();
  const workflows = new Map<string, Span>();
  const refused = new Map<string, ReadonlySet<TransformationKind>>();
  const tasks = new Map<string, TaskRules>();
  const ofTables = { private: new Map<string, Span>(), audited: new Map<string, Span>() };
  const diagnostics: Diagnostic[] = [...tags.diagnostics];
  const handlerAt = ({ file, span }: TaggedFunction): HandlerSchema | undefined =>
    schema.handlers.find(
      ({ declaredIn, declaration }) => declaredIn === file && declaration.name.range.start === span.start,
    );

  for (const tagged of tags.functions) {
    for (const tag of tagged.tags) {
      if (tag.kind === "readwrite") {
        const found = givenSet(program, schema, tagged, tag);
        if ("code" in found) diagnostics.push(found);
        else {
          const other = given.get(found.handler);
          if (other === undefined) given.set(found.handler, found);
          else diagnostics.push(second(found, other));
        }
        continue;
      }
      if (tag.kind === "wrapping") {
        if (!isFunction(program, tagged))
          diagnostics.push(misplaced(tag, `stands before ${tagged.name}, which is not a function`));
        continue;
      }
      if (tag.kind === "service") continue;
      if (tag.kind === "private" || tag.kind === "audited") {
        const table = schema.tables.find(({ file, declaration }) => isAt(tagged, file, declaration));
        if (table !== undefined) ofTables[tag.kind].set(table.name, tag.span);
        else if (!isToldElsewhere(program, schema, tagged))
          diagnostics.push(misplaced(tag, `stands before ${tagged.name}, which is not a table`));
        continue;
      }
      const service = schema.services.find(
        ({ declaration: { name } }) =>
          name.range.source.normalizedPath === tagged.file && name.range.start === tagged.span.start,
      );
      if (service !== undefined && (tag.kind === "retry" || tag.kind === "limit")) {
        const rules = withBound(tasks.get(service.name) ?? {}, tag, service.name);
        if ("code" in rules) diagnostics.push(rules);
        else tasks.set(service.name, rules);
        continue;
      }
      const handler = handlerAt(tagged);
      if (handler === undefined)
        diagnostics.push(misplaced(tag, `stands before ${tagged.name}, which is not a handler`));
      else if (tag.kind === "nearstorage") nearStorage.set(handler.name, tag.span);
      else if (tag.kind === "workflow") workflows.set(handler.name, tag.span);
      else if (tag.kind === "speculative") speculative.set(handler.name, tag.span);
      else if (tag.kind !== "refuse") {
        const rules = withRule(tasks.get(handler.name) ?? {}, tag, handler);
        if ("code" in rules) diagnostics.push(rules);
        else tasks.set(handler.name, rules);
      } else refused.set(handler.name, new Set([...(refused.get(handler.name) ?? []), ...tag.transformations]));
    }
  }
  for (const [handler, set] of given) {
    const span = nearStorage.get(handler);
    if (span === undefined) continue;
    diagnostics.push(
      diagnostic("misplaced_tag", {
        message: `The handler ${handler} runs near storage, where its read/write set is not used.`,
        primary: span,
        related: [{ span: set.span, label: "its read/write-set function" }],
        help: "Remove one of the two tags.",
      }),
    );
  }
  const namesake = schema.handlers.find(({ name }) => name === CLIENT_GROUP);
  for (const [handler, span] of speculative) {
    if (namesake !== undefined) {
      diagnostics.push(
        diagnostic("misplaced_tag", {
          message: `The client would have ${CLIENT_GROUP}.${handler} for ${handler}, but a handler has the name ${CLIENT_GROUP}.`,
          primary: span,
          related: [{ span: spanOfRange(namesake.declaration.name.range), label: "the handler of that name" }],
          help: `Give that handler another name, or remove @speculative from ${handler}.`,
        }),
      );
    }
    const near = nearStorage.get(handler);
    if (near === undefined) continue;
    diagnostics.push(
      diagnostic("misplaced_tag", {
        message: `The handler ${handler} runs near storage, so a client never sees its result before its confirmation.`,
        primary: span,
        related: [{ span: near, label: "the tag that keeps it near storage" }],
        help: "Remove one of the two tags.",
      }),
    );
  }
  for (const [name, span] of workflows)
    diagnostics.push(...workflowMistakes(name, span, { given, nearStorage, speculative, refused, tasks }));
  const { private: privateTables, audited: auditedTables } = ofTables;
  return { given, nearStorage, speculative, workflows, refused, tasks, privateTables, auditedTables, diagnostics };
}

/** A workflow is called by its name, runs at the primary, and has no set; its steps are tried again, and not the workflow. */
function workflowMistakes(
  name: string,
  primary: Span,
  others: Pick<Directions, "given" | "nearStorage" | "speculative" | "refused" | "tasks">,
): Diagnostic[] {
  if (objectMethod(name) !== null)
    return [
      diagnostic("misplaced_tag", {
        message: `The method ${name} can't be a workflow, because a workflow touches no object.`,
        primary,
        help: "Export a function with the tag from a file in `handlers/`, and let it run handlers that use the object.",
      }),
    ];
  const { attempts, limit } = others.tasks.get(name) ?? {};
  const tag = others.given.has(name)
    ? "readwrite"
    : others.nearStorage.has(name)
      ? "nearstorage"
      : others.speculative.has(name)
        ? "speculative"
        : others.refused.has(name)
          ? "refuse"
          : attempts !== undefined
            ? "retry"
            : limit !== undefined
              ? "limit"
              : null;
  if (tag === null) return [];
  return [
    diagnostic("misplaced_tag", {
      message: `The handler ${name} is a workflow, for which the tag @${tag} has no meaning.`,
      primary,
      related: others.given.has(name)
        ? [{ span: others.given.get(name)!.span, label: "its read/write-set function" }]
        : [],
      help: `Remove one of the two tags. The handlers that a workflow runs may have the tag @${tag}.`,
    }),
  ];
}

/** The rules with what a tag adds, or the mistake in it. */
function withRule(
  rules: TaskRules,
  tag: Extract<Tag, { kind: "retry" | "limit" | "cron" | "every" }>,
  handler: HandlerSchema,
): TaskRules | Diagnostic {
  switch (tag.kind) {
    case "retry":
    case "limit":
      return withBound(rules, tag, handler.name);
    case "cron":
    case "every": {
      if (rules.schedule !== undefined) return twice(handler.name, tag);
      const parameter = tickParameter(handler);
      if (typeof parameter === "object" && parameter !== null) return parameter;
      const schedule: Schedule = { ...tag.schedule, parameter };
      return { ...rules, schedule };
    }
  }
}

/** The rules with what a tag adds that services have too, or the mistake in it. */
function withBound(
  rules: TaskRules,
  tag: Extract<Tag, { kind: "retry" | "limit" }>,
  name: string,
): TaskRules | Diagnostic {
  if (tag.kind === "retry")
    return rules.attempts === undefined ? { ...rules, attempts: tag.attempts } : twice(name, tag);
  return rules.limit === undefined ? { ...rules, limit: tag.limit } : twice(name, tag);
}

function twice(name: string, { span }: Tag): Diagnostic {
  return diagnostic("misplaced_tag", {
    message: `Two tags of ${name} say the same of its tasks.`,
    primary: span,
    help: "Keep one of them.",
  });
}

/** The parameter that is given the time of a tick; null: the handler has none. Or the mistake in its signature. */
function tickParameter({ name, parameters, declaration, calledAs }: HandlerSchema): string | null | Diagnostic {
  const [first, another] = parameters;
  const wrong = (primary: as.Range, message: string): Diagnostic =>
    diagnostic("schedule_signature", {
      message,
      primary: spanOfRange(primary),
      help: `Write a function of the file: \`export function ${calledAs === null ? name : "nightly"}(tick: i64): void\`. The parameter, the time of the tick in milliseconds, may be left out.`,
    });
  if (calledAs !== null)
    return wrong(declaration.name.range, `The method ${name} has a schedule, and a tick names no object.`);
  if (first === undefined) return null;
  const at = (index: number): as.Range => declaration.signature.parameters[index]?.range ?? declaration.name.range;
  if (first.resolved.kind !== TypeKind.I64)
    return wrong(at(0), `The handler ${name} has a schedule, and its parameter ${first.name} is not an \`i64\`.`);
  if (another !== undefined)
    return wrong(at(1), `The handler ${name} has a schedule, and a tick gives it one argument at most.`);
  return first.name;
}

function isAt({ file, span }: TaggedFunction, path: string, { name }: as.DeclarationStatement): boolean {
  return path === file && name.range.start === span.start;
}

/** Whether it is a table with a mistake, which is told, or stands in a file that no handler reaches, of which nothing is said. */
function isToldElsewhere({ sources }: as.Program, { brokenTables }: Schema, tagged: TaggedFunction): boolean {
  if (!sources.some(({ normalizedPath }) => normalizedPath === tagged.file)) return true;
  return brokenTables.some(({ declaration }) => isAt(tagged, declaration.range.source.normalizedPath, declaration));
}

/** Whether a function is declared where the tags say that one is. */
function isFunction({ sources }: as.Program, { file, span }: TaggedFunction): boolean {
  const source = sources.find(({ normalizedPath }) => normalizedPath === file);
  // Of a file that no handler reaches, nothing is said.
  return source === undefined || functionsNamedAt(source, new Set([span.start])).has(span.start);
}

function second(found: GivenSet, other: GivenSet): Diagnostic {
  return diagnostic("duplicate_given_set", {
    message: `The handler ${found.handler} has two read/write-set functions.`,
    primary: found.span,
    related: [{ span: other.span, label: "the other one" }],
    help: "Keep one of them.",
  });
}

function givenSet(
  program: as.Program,
  schema: Schema,
  { file, name, span }: TaggedFunction,
  tag: Extract<Tag, { kind: "readwrite" }>,
): GivenSet | Diagnostic {
  const element = program.filesByName.get(file.replace(/\.ts$/, ""))?.members?.get(name);
  const declaration = element?.declaration as as.FunctionDeclaration | undefined;
  if (element?.kind !== ElementKind.FunctionPrototype || declaration?.name.range.start !== span.start)
    return misplaced(tag, `stands before ${name}, which is not declared at the top of a file`);
  const handler = schema.handlers.find((candidate) => candidate.name === tag.handler);
  if (handler === undefined) {
    const names = schema.handlers.map((one) => one.name);
    const meant = closest(tag.handler, names);
    return diagnostic("unknown_given_handler", {
      message: `The handler ${tag.handler} does not exist.`,
      primary: tag.span,
      help: `Name one of the handlers: ${names.join(", ")}.`,
      fix:
        meant === null
          ? undefined
          : { title: `Name the handler ${meant}`, edits: [{ span: tag.span, text: `@readwrite ${meant}` }] },
    });
  }
  const wrong = (primary: Span, message: string): Diagnostic =>
    diagnostic("given_set_signature", {
      message,
      primary,
      related: [{ span: spanOfRange(handler.declaration.name.range), label: "the handler" }],
      help: `Give it parameters of the handler, with their names, types and defaults: \`function ${name}(${signatureOf(handler)}): void { … }\`.`,
    });
  if ((declaration.typeParameters?.length ?? 0) > 0)
    return wrong(span, `The read/write-set function ${name} has type parameters, and its handler has none.`);
  const instance = program.resolver.resolveFunction(
    element as as.FunctionPrototype,
    null,
    new Map(),
    ReportMode.Report,
  );
  // The compiler has reported the type that does not resolve.
  if (instance === null) return wrong(span, `The types of ${name} are not known.`);
  const { returnType, parameterTypes } = instance.signature;
  if (returnType.kind !== TypeKind.Void) {
    return wrong(
      spanOfRange(declaration.signature.returnType.range),
      `The read/write-set function ${name} returns a value, but its calls of \`touch\`, \`willPut\` and \`willDelete\` are its result.`,
    );
  }
  for (const [index, parameter] of declaration.signature.parameters.entries()) {
    const same = handler.parameters.find((candidate) => candidate.name === parameter.name.text);
    const at = spanOfRange(parameter.range);
    if (same === undefined) return wrong(at, `The handler ${handler.name} has no parameter ${parameter.name.text}.`);
    if (!same.resolved.equals(parameterTypes[index]!))
      return wrong(at, `The parameter ${same.name} has another type in handler ${handler.name}.`);
    const theirs = declarationOf(handler, same.name)?.initializer ?? null;
    const ours = parameter.initializer;
    if ((theirs === null ? null : textOf(theirs)) !== (ours === null ? null : textOf(ours)))
      return wrong(at, `The parameter ${same.name} has another default in handler ${handler.name}.`);
  }
  const range = spanOfRange(declaration.range);
  return { handler: handler.name, file, name, span, declaration: range, source: textOf(declaration) };
}

function declarationOf({ declaration }: HandlerSchema, name: string): as.ParameterNode | undefined {
  return declaration.signature.parameters.find((parameter) => parameter.name.text === name);
}

function signatureOf({ declaration }: HandlerSchema): string {
  return declaration.signature.parameters.map((parameter) => textOf(parameter)).join(", ");
}
