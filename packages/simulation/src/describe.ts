/** Events and effects of the cores as lines of a trace. */
import type { Effect, Event } from "@radical/lvi-server";
import type { ExecutionId } from "@radical/protocol";
import type { Effect as LocationEffect } from "@radical/runtime/core";

export function describeEvent(event: Event): string {
  switch (event.kind) {
    case "lvi-request": {
      const { executionId, handler, units, retained, attempt, seen } = event.request;
      const set = units?.map(({ unit, mode }) => `${unit}:${mode}`).join(" ") ?? "no set";
      return `request ${shortId(executionId)} ${handler}${retained ? " retained" : ""} attempt ${attempt} seen ${seen} (${set}) from caller ${event.caller}`;
    }
    case "followup":
      return `followup ${shortId(event.followup.executionId)} ${event.followup.commitId}`;
    case "executed":
      return `executed run ${event.run} ${event.result.kind}`;
    case "storage-failed":
      return `storage-failed ${event.operation} ${event.effect}`;
    case "intent-stored":
    case "completed":
      return `${event.kind} ${event.operation} ${event.result.kind}`;
    case "loaded":
    case "looked-up":
      return `${event.kind} ${event.operation}`;
    case "lease-renewed":
      return `lease-renewed ${event.isHeld}`;
    case "module-registered":
    case "clock":
    case "collect":
    case "drain":
      return event.kind;
  }
}

export function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case "reply": {
      const { reply } = effect;
      const more = reply.kind === "valid" ? reply.commitId : reply.kind === "executed" ? reply.cause : reply.code;
      return `answer caller ${effect.caller}: ${reply.kind} ${more}`;
    }
    case "followup-reply":
      return `answer followup ${effect.caller}: ${effect.result}`;
    case "look-up":
      return `look up ${shortId(effect.executionId)} as ${effect.operation}`;
    case "load":
      return `load ${effect.units.join(" ")} as ${effect.operation}`;
    case "store-intent":
      return `store intent ${shortId(effect.intent.executionId)} ${effect.intent.commitId} as ${effect.operation}`;
    case "complete": {
      const { executionId, commitId, writes } = effect.completion;
      return `complete ${shortId(executionId)} ${commitId} ${effect.expects} ${writes.map(({ unit }) => unit).join(" ")} as ${effect.operation}`;
    }
    case "execute":
      return `execute ${effect.task.access.kind} on ${[...effect.task.snapshot.keys()].join(" ")} as run ${effect.run}`;
    case "note":
      return `note ${effect.note.name} ${effect.note.executionId === undefined ? "" : shortId(effect.note.executionId)} ${effect.note.detail ?? ""}`;
    case "renew-lease":
      return `renew lease as ${effect.operation}`;
    case "halt":
    case "collect":
      return effect.kind;
  }
}

/** Executions are numbered like operations. */
export function shortId(id: ExecutionId): string {
  return `op${Number.parseInt(id, 16)}`;
}

export function describeLocationEffect(effect: LocationEffect): string {
  switch (effect.kind) {
    case "send":
      return `sends attempt ${effect.request.attempt}, ${effect.request.units === null ? "without a set" : "with its set"}`;
    case "answer": {
      const { answer } = effect;
      return `answers: ${answer.kind === "outcome" ? `${answer.path} ${answer.cause}` : answer.code}`;
    }
    case "fetch":
      return `fetches ${effect.units.join(" ")}`;
    case "put":
      return `puts ${effect.entries.map(({ unit, entry }) => `${unit}@${entry.version.commitId}`).join(" ")}`;
    case "follow":
      return `follows up ${effect.followup.commitId}`;
    case "wait":
      return `waits ${effect.ms} ms before ${effect.before}`;
    case "warn":
      return `warns ${effect.code}`;
    case "derive":
    case "record":
    case "speculate":
      return `${effect.kind}s`;
  }
}
