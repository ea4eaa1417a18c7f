/** Asks the primary after a workflow, or to cancel it. Asking again has no effect, so each server is asked until one answers. */
import type { LviReply, TraceContext, WorkflowQuestion } from "@radical/protocol";
import type { Answer } from "./core/effects.ts";
import { LeaderSearch } from "./core/leader.ts";
import type { PrimaryLink } from "./core/primary-link.ts";
import { unknownWorkflow } from "./http/workflow-request.ts";
import type { Primary } from "./lvi/primary.ts";

/** Besides the time for which the answer waits. */
const ATTEMPT_MS = 8_000;
const RETRY_AFTER_MS = 1_000;

export async function askWorkflow(
  primary: Pick<Primary, "question">,
  link: Pick<PrimaryLink, "leader" | "seen" | "heard">,
  question: Omit<WorkflowQuestion, "seen">,
  trace: TraceContext | null,
): Promise<Answer> {
  const search = new LeaderSearch(link.leader);
  const timeoutMs = ATTEMPT_MS + question.waitMs;
  for (;;) {
    const server = search.next();
    const answered = await primary.question(server, { ...question, seen: link.seen }, timeoutMs, trace);
    if (answered.kind === "reply") {
      link.heard(answered.reply.asOf);
      const isDraining = answered.reply.kind === "refused" && answered.reply.code === "draining";
      if (!isDraining) search.found();
      else if (search.missed()) continue;
      return answerOf(answered.reply, question.handler);
    }
    if (search.missed()) continue;
    const message = `The primary did not answer: ${answered.reason}`;
    const hint = "Repeat the request: it has no second effect.";
    return { kind: "failed", code: "primary_unreachable", message, hint, retryAfterMs: RETRY_AFTER_MS };
  }
}

const NOT_KEPT_HINT = "Do not repeat it: read what the workflow has changed with another request.";

/** Throws `unknown_workflow`. */
function answerOf(reply: LviReply, handler: string): Answer {
  switch (reply.kind) {
    case "executed":
      return { kind: "outcome", outcome: reply.outcome, path: "near-storage", reason: "stored" };
    case "working": {
      const { kind, workflow, state, retryAfterMs } = reply;
      return { kind, workflow, state, retryAfterMs };
    }
    case "refused": {
      if (reply.code === "unknown_workflow") throw unknownWorkflow(handler);
      const { message } = reply;
      if (reply.code === "answer_not_kept")
        return { kind: "failed", code: reply.code, message, hint: NOT_KEPT_HINT, retryAfterMs: null };
      const retryAfterMs = reply.retryAfterMs ?? RETRY_AFTER_MS;
      return { kind: "failed", code: "primary_busy", message, hint: "Repeat the request.", retryAfterMs };
    }
    case "valid":
      throw new Error("the primary has confirmed a question after a workflow");
  }
}
