/**
 * The rules of workflows, which need to know what code they reach. A workflow and its helpers touch no table. Only workflows have
 * steps and waits. Nobody calls a workflow as a function.
 */
import { diagnostic, type DiagnosticCode } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type { as } from "../parse/assemblyscript.ts";
import { sourcePath } from "../lower/nodes.ts";
import type { CompiledProgram } from "../parse/compile.ts";
import type { FactsCompiler } from "../parse/facts.ts";
import { isDevelopers } from "../parse/graft.ts";
import { WORKFLOWS_LIBRARY } from "../parse/signals.ts";
import { spanOfRange, textOf } from "../parse/span.ts";
import type { Directions } from "../schema/directions.ts";
import type { Schema } from "../schema/schema.ts";
import { Reached } from "./known-accesses.ts";

/** Functions of `workflows.ts` that handlers call too. */
const FOR_HANDLERS: ReadonlySet<string> = new Set(["sendSignal", "constructor"]);

export function checkWorkflows(
  { program, compiler }: CompiledProgram<FactsCompiler>,
  { handlers }: Pick<Schema, "handlers">,
  { workflows }: Pick<Directions, "workflows">,
): Diagnostic[] {
  if (compiler === null) return [];
  const front = { program, facts: compiler.facts };
  const found = new Map<string, Diagnostic>();
  const tell = (code: DiagnosticCode, range: as.Range, message: string, help: string): void => {
    const primary = spanOfRange(range);
    const key = `${code} ${primary.file} ${primary.start}`;
    if (!found.has(key)) found.set(key, diagnostic(code, { message, primary, help }));
  };
  for (const { name, instance } of handlers) {
    const isWorkflow = workflows.has(name);
    const reached = Reached.by(front, instance);
    if (isWorkflow)
      for (const { node } of reached.accesses())
        tell(
          "table_in_workflow",
          node.range,
          `The workflow ${name} touches a table here, and a workflow touches none: it runs again from its beginning whenever a result has come.`,
          "Move the access into a handler, and run that as a step: `const order = run(orderOf(id));`. With `/** @internal */` before the handler, no client can call it.",
        );
    else
      for (const { node, called } of reached.sdkCalls())
        if (sourcePath(called) === WORKFLOWS_LIBRARY && !FOR_HANDLERS.has(called.prototype.name))
          tell(
            "workflow_only",
            node.range,
            `The handler ${name} comes to \`${firstWords(node)}\`, and only a workflow has steps and waits.`,
            "Write `/** @workflow */` before the handler if it should wait, or enqueue the call as a task: `enqueue(remind(order));`.",
          );
  }
  for (const { instance, name } of handlers.filter((handler) => workflows.has(handler.name)))
    for (const { node } of compiler.calls.get(instance) ?? [])
      if (isDevelopers(node.range.source))
        tell(
          "workflow_called",
          node.range,
          `The workflow ${name} is called here as a function, and it is no part of this execution.`,
          calledHelp(name),
        );
  return [...found.values()];
}

function calledHelp(name: string): string {
  return `In a workflow, write \`run(${name}(…))\` or \`start(${name}(…))\`. In a handler, write \`enqueue(${name}(…))\`: it begins after the commit.`;
}

/** `run(hold(order))`, cut where it is long. */
function firstWords(node: as.Node): string {
  const text = textOf(node).replaceAll(/\s+/g, " ");
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}

const MOST_CHARACTERS = 40;
