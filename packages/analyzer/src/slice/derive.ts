/**
 * From the compiled application to the read/write-set function of each handler: the second half of the analyzer, its
 * phases in order.
 */
import { emitProgram } from "../emit/emit-program.ts";
import type { AccessPattern, Derived, FrontEnd, HandlerDeclaration } from "../front.ts";
import { PointsTo } from "../infer/points-to.ts";
import { lowerHandler } from "../lower/lower-program.ts";
import { Refusal } from "../lower/refusal.ts";
import { type as, ElementKind } from "../parse/assemblyscript.ts";
import { relevanceWithGuards } from "./guards.ts";
import { buildResidual } from "./residual.ts";

export function deriveReadWriteSets(front: FrontEnd): Derived[] {
  return front.handlers.map((handler) => derive(front, handler));
}

function derive(front: FrontEnd, handler: HandlerDeclaration): Derived {
  try {
    const { program, facts, sources } = front;
    const instance = handlerInstance(program, handler);
    const lowered = lowerHandler({ program, facts }, instance);
    const pointsTo = new PointsTo(lowered);
    const relevance = relevanceWithGuards(lowered, pointsTo);
    const residual = buildResidual(lowered, relevance);
    const reads: AccessPattern[] = [];
    const writes: AccessPattern[] = [];
    for (const [access, { dependent }] of residual.accesses) {
      const text = sources.find((source) => source.path === access.key.span.file)?.text ?? "";
      const key = text.slice(access.key.span.start, access.key.span.end);
      const isRead = access.operation === "get" || access.operation === "has";
      for (const { name } of pointsTo.tablesOf(access.table)) {
        (isRead ? reads : writes).push({ table: name, key, dependent: isRead && dependent, span: access.span });
      }
    }
    return {
      kind: "sliced",
      handler: handler.name,
      source: emitProgram(residual.program, {
        fields: residual.fields,
        comment: `What ${handler.name} (${handler.file}) reads and writes.`,
      }),
      readOnly: writes.length === 0,
      reads: reads.toSorted(bySpan),
      writes: writes.toSorted(bySpan),
      diagnostics: [],
    };
  } catch (thrown) {
    if (thrown instanceof Refusal)
      return {
        kind: "refused",
        handler: handler.name,
        reason: thrown.diagnostic,
        readOnly: false,
        reads: [],
        writes: [],
      };
    throw thrown;
  }
}

function handlerInstance(program: as.Program, { name, declaration }: HandlerDeclaration): as.Function {
  const element = program.elementsByDeclaration.get(declaration);
  const instance =
    element?.kind === ElementKind.FunctionPrototype
      ? program.resolver.resolveFunction(element as as.FunctionPrototype, null)
      : null;
  if (instance === null) throw new Error(`${name} is not a function of the program`);
  return instance;
}

function bySpan(a: AccessPattern, b: AccessPattern): number {
  return a.span.file < b.span.file ? -1 : a.span.file > b.span.file ? 1 : a.span.start - b.span.start;
}
