/** Events and effects of the cores as lines of a trace. */
import type { Effect, Event, Fact } from "@radical/lvi-server/core";
import { type AccessedUnit, type CommitId, type ExecutionId, type Line, spanId } from "@radical/protocol";
import type { Effect as LocationEffect } from "@radical/runtime/core";

export function describeEvent(event: Event): string {
  switch (event.kind) {
    case "lvi-request": {
      const { executionId, handler, units, retained, attempt, seen } = event.request;
      const set = units?.map(describeAccess).join(", ") ?? "no set";
      const kept = retained ? ", to be kept" : "";
      return `gets request ${event.caller}: ${shortId(executionId)} ${handler}, attempt ${attempt}, seen ${seen === null ? "nothing" : shortCommit(seen)}${kept}: ${set}`;
    }
    case "followup":
      return `gets followup ${event.caller}: ${shortId(event.followup.executionId)} ${shortCommit(event.followup.commitId)}`;
    case "executed":
      return `has run ${event.run}: ${event.result.kind}`;
    case "storage-failed":
      return `hears of operation ${event.operation}: failed, effect ${event.effect}`;
    case "called":
      return `hears of call ${event.call}: ${event.answer.kind}`;
    case "intent-stored":
    case "order-carried-out":
    case "task-changed":
    case "completed":
      return `hears of operation ${event.operation}: ${event.result.kind}`;
    case "too-much-to-load":
    case "scanned":
    case "loaded":
    case "looked-up":
      return `hears of operation ${event.operation}: ${event.kind}`;
    case "task-order":
      return `gets order ${event.caller}: ${event.order.action} ${event.order.ids.map(shortId).join(" ")}`;
    case "workflow-order":
      return `gets order ${event.caller}: ${event.action} ${shortId(event.workflow)}`;
    case "tasks-read":
      return `hears of operation ${event.operation}: ${event.answer.kind}`;
    case "read-leases-named":
    case "leadership-renewed":
      return `hears of operation ${event.operation}: the leadership is ${event.isHeld ? "held" : "lost"}`;
    case "listens":
      return `hears that ${event.location} listens, listener ${event.listener}${event.session === undefined ? "" : `, session ${event.session ?? "none"}, heard ${event.heard}`}`;
    case "heard":
      return `gets message ${event.caller}: session ${event.session} has heard ${event.n}`;
    case "schedule-asked":
      return `is to ${event.action} the schedule of ${event.handler}`;
    case "stopped-listening":
      return `hears that listener ${event.listener} has gone`;
    case "clock":
      return "has something due";
    case "workflow-question":
    case "workflows-read":
    case "advanced":
    case "module-registered":
    case "sampling":
    case "collect":
    case "collected":
    case "shed":
    case "drain":
      return `gets ${event.kind}`;
  }
}

export function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case "reply": {
      const { reply } = effect;
      const what = `answers request ${effect.caller}: ${reply.kind}`;
      const after = effect.after.map((fact) => `, ${describeFact(fact)}`).join("");
      switch (reply.kind) {
        case "valid":
          return `${what}${reply.commitId === null ? "" : `, commit id ${shortCommit(reply.commitId)}`}${after}`;
        case "executed": {
          const repairs = reply.repairs.map(({ unit, entry }) => `${unit}@${shortCommit(entry.version.commitId)}`);
          return `${what}, ${reply.cause}${repairs.length === 0 ? "" : `, repairs ${repairs.join(" ")}`}${after}`;
        }
        case "refused":
          return `${what}, ${reply.code}`;
        case "working":
          return `${what}, ${reply.state}${after}`;
      }
    }
    case "followup-reply":
      return `answers followup ${effect.caller}: ${effect.result}${effect.after.map((fact) => `, ${describeFact(fact)}`).join("")}`;
    case "schedule-reply":
      return `answers operator ${effect.caller}`;
    case "look-up":
      return `asks storage for ${shortId(effect.executionId)}, operation ${effect.operation}`;
    case "load":
      return `asks storage for ${effect.units.join(" ")}, operation ${effect.operation}`;
    case "read-workflows":
      return `asks storage for workflows: ${effect.question.kind}, operation ${effect.operation}`;
    case "advance": {
      const changed = effect.records.map(({ id, becomes }) => `${shortId(id)} ${becomes?.state ?? "gone"}`);
      return `stores ${changed.join(" and ")}, operation ${effect.operation}`;
    }
    case "read-tasks":
      return `asks storage for tasks: ${effect.question.kind}, operation ${effect.operation}`;
    case "carry-out-order":
      return `changes tasks ${effect.changes.map(({ id }) => shortId(id)).join(" ")}, operation ${effect.operation}`;
    case "task-order-reply":
      return `answers order ${effect.caller}: ${effect.answer.results.map(({ outcome }) => outcome).join(" ")}`;
    case "workflow-order-reply":
      return `answers order ${effect.caller}: ${effect.outcome}`;
    case "scan": {
      const { hole, limit, operation } = effect;
      const way = hole.isReversed ? ", from the end" : "";
      return `asks storage for ${limit} rows of ${spanId({ ...hole, kind: "rows" })}${way}, operation ${operation}`;
    }
    case "store-intent":
      return `stores the intent of ${shortId(effect.intent.executionId)}, commit id ${shortCommit(effect.intent.commitId)}, operation ${effect.operation}`;
    case "complete": {
      const ends = effect.completions.map(({ expects, completion: { executionId, commitId, writes } }) => {
        const units = writes.length === 0 ? "no writes" : writes.map(({ unit }) => unit).join(" ");
        const expected = expects === "new" ? "if it is new" : "if its intent is pending";
        return `${shortId(executionId)} with ${units} as ${shortCommit(commitId)} ${expected}`;
      });
      const after = effect.after.map((fact) => `, ${describeFact(fact)}`).join("");
      return `completes ${ends.join(" and ")}, operation ${effect.operation}${after}`;
    }
    case "execute": {
      const members = [effect.run, ...(effect.run.followers ?? [])].map(
        ({ access, snapshot }) => `${ACCESS[access.kind]}, on ${[...snapshot.keys()].join(" ") || "nothing"}`,
      );
      return `starts run ${effect.run.id} ${members.join(", and then ")}`;
    }
    case "note": {
      const { name, executionId, detail, cause, units } = effect.note;
      const about = [executionId === undefined ? undefined : shortId(executionId), cause, units?.join(" "), detail];
      return ["notes", name, ...about.filter((part) => part !== undefined)].join(" ");
    }
    case "renew-leadership":
      return `renews the leadership, operation ${effect.operation}`;
    case "name-read-leases":
      return `names read leases of ${effect.readLeaseMs} ms, operation ${effect.operation}`;
    case "tell":
      return `tells listeners ${effect.listeners.join(" ")} ${describeLine(effect.line)}`;
    case "heard-reply": {
      const { reply } = effect;
      const what = reply.kind === "lapsed" ? "lapsed" : `renewed for ${reply.untilMs - reply.nowMs} ms`;
      return `answers message ${effect.caller}: ${what}`;
    }
    case "not-leading":
      return `refuses message ${effect.caller}`;
    case "session-over":
      return `forgets session ${effect.session}`;
    case "hints-left-out":
      return `leaves ${effect.units} units out of its hints`;
    case "end-listening":
      return `ends listener ${effect.listener}`;
    case "resume":
      return `goes on with what was put off: ${effect.events.length}`;
    case "halt":
      return `halts: ${effect.reason}`;
    case "change-task":
      return `changes task ${shortId(effect.change.id)}, operation ${effect.operation}`;
    case "call-service":
      return `calls ${effect.service} for task ${shortId(effect.task)}, call ${effect.call}`;
    case "collect":
    case "sampled":
    case "sample-left-out":
      return effect.kind;
  }
}

function describeFact(fact: Fact): string {
  switch (fact.kind) {
    case "operation":
      return `operation ${fact.operation} being durable`;
    case "heard":
      return `session ${fact.session} having heard ${fact.n}`;
    case "passed":
      return `${fact.atMs} having passed`;
    case "owed":
      return `task ${shortId(fact.task)} being owed`;
    case "journaled":
      return `change ${fact.changes} of workflow ${shortId(fact.workflow)} being durable`;
    case "marked":
      return `task ${shortId(fact.task)} being marked`;
  }
}

const ACCESS = {
  declared: "of f under its set",
  derive: "of f^rw and f",
  record: "of f in record mode",
  workflow: "of a workflow",
} as const;

function describeAccess(accessed: AccessedUnit): string {
  if (accessed.mode === "write") return `${accessed.unit} write`;
  const { version } = accessed;
  const known =
    version === null ? "unknown" : `${version.hash === null ? "absent " : ""}@${shortCommit(version.commitId)}`;
  return `${accessed.unit} ${accessed.mode} ${known}`;
}

/** Epoch and sequence. */
function shortCommit(id: CommitId): string {
  const [epoch, sequence] = id.split("-") as [string, string];
  return `${Number.parseInt(epoch, 16)}-${Number.parseInt(sequence, 16)}`;
}

/** Executions are numbered like operations. */
function describeLine(line: Line): string {
  switch (line.kind) {
    case "hint":
      return `of ${line.entries.map(({ unit, entry }) => `${unit}@${shortCommit(entry.version.commitId)}`).join(" ")}`;
    case "session":
      return `session ${line.session} at line ${line.n}`;
    case "lease": {
      const leased = line.units.map(({ unit, version }) => `${unit}@${shortCommit(version.commitId)}`);
      return `line ${line.n}: lease of ${leased.join(" ")}`;
    }
    case "revoke":
    case "changed":
      return `line ${line.n}: ${line.kind} ${line.units.join(" ")}`;
  }
}

export function shortId(id: ExecutionId): string {
  return `op${Number.parseInt(id, 16)}`;
}

export function describeLocationEffect(effect: LocationEffect): string {
  switch (effect.kind) {
    case "send":
      return `sends attempt ${effect.request.attempt}, ${effect.request.units?.map(describeAccess).join(", ") ?? "without a set"}`;
    case "show":
      return "shows the result before its confirmation";
    case "answer": {
      const { answer, verdict } = effect;
      const how =
        answer.kind === "outcome"
          ? `${answer.path} ${answer.reason}`
          : answer.kind === "failed"
            ? answer.code
            : answer.state;
      return `answers: ${how}${verdict === undefined ? "" : `, ${verdict}`}`;
    }
    case "fetch":
      return `fetches ${effect.units.join(" ")}`;
    case "put":
      return `puts into its cache ${effect.entries.map(({ unit, entry }) => `${unit}@${shortCommit(entry.version.commitId)}`).join(" ")}`;
    case "follow":
      return `follows up ${shortCommit(effect.followup.commitId)}`;
    case "wait":
      return `waits ${effect.ms} ms before ${effect.before}`;
    case "warn":
      return `warns ${effect.code}`;
    case "alarm":
      return `tells the primary of the alarm ${effect.alarm.alarm}`;
    case "derive":
    case "record":
    case "speculate":
      return `${effect.kind}s`;
  }
}
