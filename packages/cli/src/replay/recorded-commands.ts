/** The effects of a handler and the commands of a workflow, in the line of a record and where they are compared. */
import {
  type ExecutionId,
  isExecutionId,
  redactArguments,
  type RunEffect,
  traceOf,
  type WorkflowCommand,
} from "@radical/protocol";
import { type RecordedPart, RecordProblem, shownValue, valueFields } from "./recorded-part.ts";

/** A value in the JSON of a command, as a field of this name. */
type Field = (name: "args" | "value", value: Uint8Array) => string;

/** The command as JSON: an effect is one, too. */
export function commandToJson(command: WorkflowCommand): string {
  return jsonOf(command, (name, value) => (name === "value" ? valueFields(value) : `"args":{${valueFields(value)}}`));
}

/** The command as JSON for people, and for the paths of fields. */
export function shownCommand(command: WorkflowCommand): string {
  return jsonOf(command, (name, value) => {
    const shown = shownValue(value);
    return `"${name}":${shown.startsWith("cbor ") ? JSON.stringify(shown) : shown}`;
  });
}

function jsonOf(command: WorkflowCommand, field: Field): string {
  switch (command.kind) {
    case "enqueue": {
      const { kind, callee, args, delayMs, key } = command;
      return `${head({ kind, callee })},${field("args", args)},"delayMs":${delayMs},"key":${JSON.stringify(key)}}`;
    }
    case "start":
    case "undo": {
      const { kind, callee, args } = command;
      return `${head({ kind, callee })},${field("args", args)}}`;
    }
    case "send": {
      const { kind, workflow, name, value } = command;
      return `${head({ kind, workflow, name })},${field("value", value)}}`;
    }
    case "cancel":
    case "sleep":
    case "signal":
      return JSON.stringify(command);
  }
}

/** An object that is not closed yet. */
function head(fields: Readonly<Record<string, string>>): string {
  return JSON.stringify(fields).slice(0, -1);
}

/** Throws a RecordProblem. */
export function commandOf(part: RecordedPart): WorkflowCommand {
  const kind = part.text("kind");
  switch (kind) {
    case "start":
    case "undo":
      return { kind, callee: part.text("callee"), args: part.field("args").value };
    case "sleep":
      return { kind, ms: part.number("ms") };
    case "signal":
      return { kind, name: part.text("name"), ms: part.numberOrNull("ms") };
    default:
      return effectOf(part);
  }
}

/** Throws a RecordProblem. */
export function effectOf(part: RecordedPart): RunEffect {
  const kind = part.text("kind");
  switch (kind) {
    case "enqueue": {
      const [args, delayMs, key] = [part.field("args").value, part.number("delayMs"), part.textOrNull("key")];
      return { kind, callee: part.text("callee"), args, delayMs, key };
    }
    case "cancel":
      return { kind, task: idOf(part, "task") };
    case "send":
      return { kind, workflow: idOf(part, "workflow"), name: part.text("name"), value: part.value };
    default:
      throw new RecordProblem(`has an effect or a command "${kind}", which this release does not know`);
  }
}

export function idOf(part: RecordedPart, name: string): ExecutionId {
  return part.checked(name, (id) => typeof id === "string" && isExecutionId(id)) as ExecutionId;
}

/** Whether two lists ask for the same. */
export function areSame(a: readonly WorkflowCommand[], b: readonly WorkflowCommand[]): boolean {
  return a.length === b.length && a.every((command, at) => traceOf(command).hash === traceOf(b[at]!).hash);
}

/**
 * Without the arguments that are to be redacted by their names. A run has made them of what was redacted before; but others of the
 * same name may come from an item.
 */
export function withoutNamed<Command extends WorkflowCommand>(
  commands: readonly Command[],
  names: readonly string[],
  onFound?: (name: string) => void,
): readonly Command[] {
  return commands.map((command) => {
    if (!("args" in command)) return command;
    return { ...command, args: argumentsWithoutNamed(command.args, names, onFound) };
  });
}

export function argumentsWithoutNamed(
  made: Uint8Array,
  names: readonly string[],
  onFound?: (name: string) => void,
): Uint8Array {
  const { args, redacted } = redactArguments(names, made);
  for (const name of redacted) onFound?.(name);
  return args;
}
