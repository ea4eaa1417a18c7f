/** The analysis as it is told: what is known of each handler, and how. */
import {
  BLOB_MISSING,
  BLOBS,
  type HandlerTables,
  type IndexDeclaration,
  type NamedTypes,
  type Parameter,
  type RecordTypes,
  type ServiceRules,
  type TaskRules,
  type ValueType,
} from "@radical/protocol";
import { sortDiagnostics, type Diagnostic, type Span } from "./diagnostics/diagnostic.ts";
import type { AccessPattern, Derived, Explanation, PhaseProduct, Steps, Transformation } from "./front.ts";
import { spanOfRange } from "./parse/span.ts";
import { handlersWithBlobs } from "./schema/blobs.ts";
import type { Directions } from "./schema/directions.ts";
import { documentationOf } from "./schema/documentation.ts";
import { recordTypes, type HandlerSchema, type Schema, type ServiceSchema } from "./schema/schema.ts";
import type { KnownByHandler } from "./slice/directed-accesses.ts";
import { NOT_KNOWN, type KnownAccesses } from "./slice/known-accesses.ts";
import type { KeptBy } from "./slice/private-tables.ts";

/** How the accesses of a handler are known; see `HandlerPlan` of the protocol. */
export type PlanReport =
  | { readonly kind: "sliced" }
  /** It could not be sliced. */
  | { readonly kind: "recorded"; readonly reason: Diagnostic }
  /** The developer wrote its read/write-set function. */
  | { readonly kind: "given"; readonly function: { readonly name: string; readonly span: Span } }
  /** The developer chose it, here. `keptBy`: by the tag of a private table; null: by one of the handler. */
  | { readonly kind: "near-storage"; readonly span: Span; readonly keptBy: KeptBy | null }
  /** It has the tag `@workflow`, here. */
  | { readonly kind: "workflow"; readonly span: Span };

export interface HandlerReport {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** The name in its declaration. */
  readonly span: Span;
  readonly parameters: readonly Parameter[];
  /** Null: the handler returns nothing. */
  readonly result: ValueType | null;
  readonly plan: PlanReport;
  /** No path of the handler writes, or asks for a task. */
  readonly readOnly: boolean;
  /** A path of the handler may ask for a task. */
  readonly mayEffect: boolean;
  /** The handler has no route: it has the tag `@internal`. */
  readonly internal: boolean;
  /** The rules that its tags state for its tasks; null: none. */
  readonly tasks: TaskRules | null;
  /** The tag `@speculative`, with which clients may see a result before its confirmation; null: there is none. */
  readonly speculative: Span | null;
  /** The words of the handler's doc comment; null: there are none. */
  readonly description: string | null;
  /** The codes with which the handler may abort; null: not all of them are known. */
  readonly abortCodes: readonly string[] | null;
  readonly reads: readonly AccessPattern[];
  readonly writes: readonly AccessPattern[];
  /** Every table that a run may touch; null: that is not known. */
  readonly tables: HandlerTables | null;
  readonly transformations: readonly Transformation[];
  readonly explanations: readonly Explanation[];
  readonly steps: Steps;
  /** Source of the read/write-set function; null if there is none. */
  readonly rwSource: string | null;
  /** The products of the phases that derived it; empty unless they are asked for. */
  readonly products: readonly PhaseProduct[];
}

export interface ServiceReport extends ServiceRules {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly parameters: readonly Parameter[];
  /** Null: the service returns nothing. */
  readonly result: ValueType | null;
  /** The rules that its tags state for its tasks; null: none. */
  readonly tasks: TaskRules | null;
  /** The words of its doc comment; null: there are none. */
  readonly description: string | null;
}

export interface TableReport {
  readonly name: string;
  readonly type: ValueType;
  /** The variable in its declaration. */
  readonly span: Span;
  /** It has the tag `@private`: handlers that touch it run at the primary. */
  readonly isPrivate: boolean;
  /** It has the tag `@audited`: the primary runs each followup that writes to it, and compares. */
  readonly isAudited: boolean;
}

/** All that is known before there is WebAssembly. */
export interface Analysis {
  /** Whether no diagnostic is an error. */
  readonly ok: boolean;
  /** Sorted by place. */
  readonly diagnostics: readonly Diagnostic[];
  /** Sorted by name. */
  readonly handlers: readonly HandlerReport[];
  /** Sorted by name. */
  readonly services: readonly ServiceReport[];
  readonly tables: readonly TableReport[];
  /** Sorted by name. */
  readonly indexes: readonly IndexDeclaration[];
  readonly records: RecordTypes;
  /** Enums and unions of texts that handlers take and return. */
  readonly named: NamedTypes;
}

/** Known of handlers besides their verdicts. */
export interface KnownOfHandlers {
  /** The accesses of those without a verdict. */
  readonly accesses: KnownByHandler;
  readonly aborts: ReadonlyMap<string, readonly string[] | null>;
  /** Those that may ask for tasks. */
  readonly asking: ReadonlySet<string>;
  /** Those that run at the primary because of a private table. */
  readonly keptBy: ReadonlyMap<string, KeptBy>;
}

/** `found`: the diagnostics but those of the verdicts. */
export function analysisOf(
  found: readonly Diagnostic[],
  schema: Schema,
  directions: Directions,
  derived: ReadonlyMap<string, Derived>,
  { accesses, aborts, asking, keptBy }: KnownOfHandlers,
): Analysis {
  const ofVerdicts = [...derived.values()].flatMap((verdict) =>
    verdict.kind === "sliced" ? verdict.diagnostics : [verdict.reason],
  );
  const withBlobs = handlersWithBlobs(schema);
  return {
    ok: true,
    diagnostics: sortDiagnostics([...found, ...ofVerdicts]),
    handlers: schema.handlers.map((handler) =>
      withBlobsRead(
        report(
          handler,
          directions,
          derived.get(handler.name),
          accesses.get(handler.name),
          // A workflow may fail as any of its steps.
          directions.workflows.has(handler.name) ? null : (aborts.get(handler.name) ?? null),
          asking.has(handler.name) || directions.workflows.has(handler.name),
          keptBy.get(handler.name) ?? null,
        ),
        withBlobs.has(handler.name) && !directions.workflows.has(handler.name),
      ),
    ),
    services: schema.services.map((service) => serviceReport(service, directions)),
    tables: schema.tables.map(({ name, type, declaration }) => ({
      name,
      type,
      span: spanOfRange(declaration.name.range),
      isPrivate: directions.privateTables.has(name),
      isAudited: directions.auditedTables.has(name),
    })),
    indexes: schema.indexes.map(({ name, table, fields, unique }) => ({ name, table, fields, unique })),
    records: recordTypes(schema.records),
    named: schema.named,
  };
}

/** A handler that is given Blobs first reads whether their bytes are there. */
function withBlobsRead(handler: HandlerReport, isGivenBlobs: boolean): HandlerReport {
  if (!isGivenBlobs) return handler;
  const { tables, abortCodes } = handler;
  return {
    ...handler,
    tables: tables === null ? null : { ...tables, reads: [BLOBS, ...tables.reads].toSorted() },
    abortCodes: abortCodes === null ? null : [BLOB_MISSING, ...abortCodes].toSorted(),
  };
}

function report(
  handler: HandlerSchema,
  directions: Directions,
  derived: Derived | undefined,
  known: KnownAccesses | undefined,
  abortCodes: readonly string[] | null,
  mayEffect: boolean,
  keptBy: KeptBy | null,
): HandlerReport {
  const { range } = handler.declaration.name;
  const span = spanOfRange(range);
  const documentation = documentationOf(range.source.text, span.start);
  const tasks = directions.tasks.get(handler.name) ?? null;
  const plan = planOf(handler, directions, derived, keptBy, known);
  return {
    name: handler.name,
    file: span.file,
    line: span.line,
    span,
    parameters: parametersOf(handler, documentation),
    result: handler.resultType,
    speculative: directions.speculative.get(handler.name) ?? null,
    description: documentation.description,
    abortCodes,
    mayEffect,
    internal: documentation.isInternal,
    tasks,
    ...plan,
    readOnly: plan.readOnly && !mayEffect,
  };
}

function parametersOf(
  { parameters }: Pick<HandlerSchema, "parameters">,
  documentation: ReturnType<typeof documentationOf>,
): readonly Parameter[] {
  return parameters.map(({ name, type, optional, absent, secret }) => {
    const description = documentation.parameters.get(name);
    return {
      name,
      type,
      optional,
      ...(absent === true ? { absent } : {}),
      ...(secret === true ? { secret } : {}),
      ...(description === undefined ? {} : { description }),
    };
  });
}

function serviceReport(service: ServiceSchema, { tasks }: Directions): ServiceReport {
  const { name, declaration, resultType: result, rules } = service;
  const { range } = declaration.name;
  const { file, line, start } = spanOfRange(range);
  const documentation = documentationOf(range.source.text, start);
  const parameters = parametersOf(service, documentation);
  const { description } = documentation;
  return { name, file, line, parameters, result, ...rules, tasks: tasks.get(name) ?? null, description };
}

function planOf(
  { name }: HandlerSchema,
  { given, nearStorage, workflows }: Directions,
  derived: Derived | undefined,
  keptBy: KeptBy | null,
  known = NOT_KNOWN,
): Omit<
  HandlerReport,
  | "name"
  | "file"
  | "line"
  | "span"
  | "parameters"
  | "result"
  | "speculative"
  | "description"
  | "abortCodes"
  | "mayEffect"
  | "internal"
  | "tasks"
> {
  const nothing = { transformations: [], explanations: [], rwSource: null, products: [] };
  const { steps: knownSteps, ...patterns } = known;
  const set = given.get(name);
  if (set !== undefined) {
    const plan = { kind: "given", function: { name: set.name, span: set.span } } as const;
    return { ...nothing, ...patterns, plan, steps: { handler: null, readWriteSet: knownSteps }, rwSource: set.source };
  }
  const chosen = nearStorage.get(name);
  if (chosen !== undefined) {
    const plan = { kind: "near-storage", span: chosen, keptBy } as const;
    return { ...nothing, ...patterns, plan, steps: { handler: knownSteps, readWriteSet: null } };
  }
  const workflow = workflows.get(name);
  if (workflow !== undefined) {
    const tables = { reads: [], writes: [] };
    const steps = { handler: null, readWriteSet: null };
    return {
      ...nothing,
      readOnly: false,
      reads: [],
      writes: [],
      tables,
      plan: { kind: "workflow", span: workflow },
      steps,
    };
  }
  if (derived === undefined) throw new Error(`${name} has no plan`);
  const { readOnly, reads, writes, tables, steps, products } = derived;
  const common = { readOnly, reads, writes, tables, steps, products };
  if (derived.kind === "refused") return { ...nothing, ...common, plan: { kind: "recorded", reason: derived.reason } };
  const { transformations, explanations, source } = derived;
  return { ...common, plan: { kind: "sliced" }, transformations, explanations, rwSource: source };
}
