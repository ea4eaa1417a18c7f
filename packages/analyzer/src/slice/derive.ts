/**
 * From the compiled application to the read/write-set function of each handler: the second half of the analyzer. The comment
 * beside a line names the folder of its phase, as in `pipeline.ts`.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { LONGER_HELP, SLOWER_HELP } from "../diagnostics/words.ts";
import { emitProgram } from "../emit/emit-program.ts";
import type { Derived, FrontEnd, HandlerDeclaration, PhaseProduct } from "../front.ts";
import { CostModel } from "../infer/cost.ts";
import { PointsTo } from "../infer/points-to.ts";
import { refuseUnknownValues } from "../infer/unknown-values.ts";
import { unsavedChanges } from "../infer/unsaved-changes.ts";
import { walkFunction, type LibraryCall } from "../lower/ir.ts";
import { givesTaskId, hashesPassword, type LibraryMember } from "../lower/library.ts";
import { lowerHandler } from "../lower/lower-program.ts";
import { printProgram } from "../lower/print-ir.ts";
import { Refusal } from "../lower/refusal.ts";
import { verifyProgram } from "../lower/verify-ir.ts";
import type { as } from "../parse/assemblyscript.ts";
import { spanOfRange } from "../parse/span.ts";
import { accessPatterns, type AccessPatterns } from "./access-patterns.ts";
import { Derivations, type Subject } from "./derivations.ts";
import { KeyPatterns } from "./key-patterns.ts";
import { instanceOf, knownAccesses } from "./known-accesses.ts";
import { expenseDiagnostic } from "./explain.ts";
import { sliceProgram, type Slice } from "./transform.ts";
import { verifySlice } from "./verify-slice.ts";

/** `derivations`: of the last build, and then of this one. */
export function deriveReadWriteSets(front: FrontEnd, derivations = new Derivations()): Derived[] {
  const derived = front.handlers.map((handler) => derive(front, handler, derivations));
  derivations.keep(front.handlers);
  return derived;
}

function derive(front: FrontEnd, handler: HandlerDeclaration, derivations: Derivations): Derived {
  const { program, facts, sources, explain, emitIr } = front;
  const products: PhaseProduct[] = [];
  try {
    const lowered = lowerHandler({ program, facts }, handlerInstance(program, handler)); // lower
    if (emitIr) products.push({ phase: "lower", text: printProgram(lowered) });
    const subject = { handler, program: lowered, sources, explain, emitIr };
    return derivations.of(subject, () => sliced(handler, subject));
  } catch (thrown) {
    // A mistake of the analyzer's costs one handler its speed, not all of them.
    const found = thrown instanceof Refusal ? thrown.diagnostic : crash(handler, thrown);
    const { steps, ...known } = knownAccesses(front, handler.declaration);
    const reason = { ...found, related: [...found.related, ...notKnown(known)] };
    return {
      kind: "refused",
      handler: handler.name,
      reason,
      products,
      ...known,
      steps: { handler: steps, readWriteSet: null },
    };
  }
}

function sliced(handler: HandlerDeclaration, { program: lowered, sources, explain, emitIr }: Subject): Derived {
  verifyProgram(lowered, "lowered"); // lower
  const pointsTo = new PointsTo(lowered); // infer
  // variant: unknown-refused
  refuseUnknownValues(lowered, pointsTo); // infer
  const keys = new KeyPatterns(lowered, pointsTo.reached, sources); // slice
  const { plain, transformed } = sliceProgram(lowered, pointsTo, { refused: handler.refused, explain }); // infer, slice
  verifySlice(lowered, plain.residual, plain.relevance); // slice
  const broken =
    transformed === null ? null : problemOf(() => verifySlice(lowered, transformed.residual, transformed.relevance));
  const unsaved = unsavedChanges(handler.name, lowered, pointsTo, sources); // infer
  const handlerSteps = new CostModel(pointsTo.reached).function(lowered.handler); // infer
  const sourceOf = ({ residual: { program, fields } }: Slice): string =>
    emitProgram(program, { fields, comment: `What ${handler.name} (${handler.file}) reads and writes.` }); // emit
  const productsOf = (slice: Slice): PhaseProduct[] => [
    { phase: "lower", text: printProgram(lowered) },
    { phase: "infer", text: printProgram(lowered, plain.relevance) },
    { phase: "slice", text: printProgram(slice.residual.program) },
    { phase: "emit", text: sourceOf(slice) },
  ];
  const verdict = (slice: Slice, other: Derived | null): Derived => ({
    kind: "sliced",
    handler: handler.name,
    source: sourceOf(slice),
    products: emitIr ? productsOf(slice) : [],
    ...accessPatterns(slice.residual.accesses, pointsTo, keys),
    transformations: slice.transformations,
    explanations: slice.explanations,
    steps: { handler: handlerSteps, readWriteSet: slice.steps },
    plain: other,
    diagnostics: [
      ...unsaved,
      ...(broken === null ? [] : [withoutTransformations(handler, broken)]),
      ...slice.explanations
        .filter(({ kind }) => kind === "expense")
        .map((explanation) => expenseDiagnostic(handler.name, explanation)),
    ],
  });
  const chosen = transformed === null || broken !== null ? plain : transformed;
  const hash = passwordHashIn(chosen);
  if (hash !== null)
    throw new Refusal("not_sliced_password_hash", {
      message: `The items that the handler touches depend on ${hash.name}(), and a read/write-set function hashes no password.`,
      primary: hash.span,
      help: "Let the result decide what is stored, whether items are stored or deleted, and whether the handler ends. Don't let it decide the keys of items.",
    });
  const task = taskIdIn(chosen);
  if (task !== null)
    throw new Refusal("not_sliced_task_id", {
      message:
        "The items that the handler touches depend on the id of a task, which a read/write-set function does not know.",
      primary: task.span,
      help: "Store the id in an item. To name an item, take another text: one of the task's arguments, or `uuid()`.",
    });
  if (chosen === plain) return verdict(plain, null);
  const isPlainKnown = passwordHashIn(plain) === null && taskIdIn(plain) === null;
  return verdict(chosen, isPlainKnown ? verdict(plain, null) : null);
}

/** Where the slice hashes a password, for which nobody waits before the request leaves; null: nowhere. */
function passwordHashIn(slice: Slice): LibraryCall | null {
  return libraryCallIn(slice, hashesPassword);
}

/** Where the slice needs the id of a task; null: nowhere. */
function taskIdIn(slice: Slice): LibraryCall | null {
  return libraryCallIn(slice, givesTaskId);
}

function libraryCallIn({ residual: { program } }: Slice, is: (member: LibraryMember) => boolean): LibraryCall | null {
  const found: LibraryCall[] = [];
  for (const declaration of program.functions)
    walkFunction(declaration, (part) => {
      if (part.kind === "library" && is(part.member)) found.push(part);
    });
  return found[0] ?? null;
}

/** The accesses whose keys depend on values that the analyzer does not know. */
function notKnown({ reads, writes }: AccessPatterns): Diagnostic["related"] {
  const unknown = [...reads, ...writes].filter(({ pattern }) => /\{\?\}|^\?/.test(pattern));
  return unknown
    .slice(0, MOST_RELATED)
    .map(({ span }) => ({ span, label: "this key depends on a value that the analyzer does not know" }));
}

const MOST_RELATED = 3;

function crash(handler: HandlerDeclaration, thrown: unknown): Diagnostic {
  const words = thrown instanceof Error ? thrown.message : String(thrown);
  return diagnostic("analyzer_crash", {
    message: `The handler ${handler.name} runs in record mode, because its analysis failed: ${words}.`,
    primary: spanOfRange(handler.declaration.name.range),
    help: SLOWER_HELP,
  });
}

function withoutTransformations({ name, declaration }: HandlerDeclaration, problem: string): Diagnostic {
  return diagnostic("sliced_without_transformations", {
    message: `The read/write-set function of ${name} goes without transformations, because the analyzer refuses it with them: ${problem}.`,
    primary: spanOfRange(declaration.name.range),
    help: LONGER_HELP,
  });
}

/** The error that an action throws, in words; null: none. */
function problemOf(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

function handlerInstance(program: as.Program, { name, declaration }: HandlerDeclaration): as.Function {
  const instance = instanceOf(program, declaration);
  if (instance === null) throw new Error(`${name} is not a function of the program`);
  return instance;
}
