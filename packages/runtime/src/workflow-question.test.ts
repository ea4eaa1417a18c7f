import { commitId, type ExecutionId, type LviReply, type Outcome, type WorkflowQuestion } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Answered } from "./core/effects.ts";
import { PrimaryLink } from "./core/primary-link.ts";
import { replyOf } from "./http/reply.ts";
import { askWorkflow } from "./workflow-question.ts";

const ID = "8a".repeat(16) as ExecutionId;
const asOf = commitId(2, 9);
const times = { receivedAtMs: 0, sentAtMs: 0 };
const QUESTION = { workflow: ID, handler: "buy", caller: "ann", cancels: false, waitMs: 5_000 };
const outcome: Outcome = { kind: "result", value: Uint8Array.of(0x61, 0x61) };

const reply = (of: LviReply): Answered<LviReply> => ({ kind: "reply", reply: of });
const ended = reply({ kind: "executed", cause: "stored", outcome, repairs: [], times, asOf });
const working = reply({ kind: "working", workflow: ID, state: "undoing", retryAfterMs: 1_500, asOf });
const refused = (code: "unknown_workflow" | "answer_not_kept" | "busy" | "draining"): Answered<LviReply> =>
  reply({ kind: "refused", code, message: "no", retryAfterMs: 250, asOf });

/** Asks servers that answer so, in turns. */
async function ask(servers: number, answers: readonly Answered<LviReply>[]) {
  const link = new PrimaryLink(servers);
  const asked: { server: number; question: WorkflowQuestion; timeoutMs: number }[] = [];
  const left = [...answers];
  const primary = {
    question: (server: number, question: WorkflowQuestion, timeoutMs: number) => {
      asked.push({ server, question, timeoutMs });
      return Promise.resolve(left.shift() ?? ({ kind: "unanswered", reason: "nobody is left" } as const));
    },
  };
  const answer = await askWorkflow(primary, link, QUESTION, null).catch((error: unknown) => error);
  return { answer, asked, link };
}

describe("a question after a workflow", () => {
  test("is answered with its outcome", async () => {
    const { answer, asked, link } = await ask(1, [ended]);
    expect(answer).toEqual({ kind: "outcome", outcome, path: "near-storage", reason: "stored" });
    expect(asked).toEqual([{ server: 0, question: { ...QUESTION, seen: null }, timeoutMs: 13_000 }]);
    expect(link.seen).toBe(asOf);
  });

  test("is answered with its state, as a 202", async () => {
    const { answer } = await ask(1, [working]);
    expect(replyOf(answer as never)).toMatchObject({
      status: 202,
      body: `{"workflow":"${ID}","state":"undoing"}`,
      headers: { "retry-after": "2" },
      code: null,
    });
  });

  test("goes to the server that leads, which is asked first the next time", async () => {
    const { answer, asked, link } = await ask(3, [
      { kind: "not-leading", reason: "a standby" },
      { kind: "unanswered", reason: "down" },
      ended,
    ]);
    expect(answer).toMatchObject({ kind: "outcome" });
    expect(asked.map(({ server }) => server)).toEqual([0, 1, 2]);
    expect(link.leader.believed).toBe(2);
  });

  test("that no server answers may be repeated", async () => {
    const { answer, asked } = await ask(2, [{ kind: "unanswered", reason: "down" }]);
    expect(asked).toHaveLength(2);
    expect(answer).toMatchObject({ kind: "failed", code: "primary_unreachable", retryAfterMs: 1_000 });
  });

  test("finds another server when one goes away", async () => {
    const { answer, asked } = await ask(2, [refused("draining"), ended]);
    expect([asked.length, (answer as { kind: string }).kind]).toEqual([2, "outcome"]);
    expect((await ask(1, [refused("draining")])).answer).toMatchObject({ kind: "failed", code: "primary_busy" });
  });

  test("of nobody's workflow, or somebody else's, is 404", async () => {
    expect((await ask(1, [refused("unknown_workflow")])).answer).toMatchObject({
      code: "unknown_workflow",
      status: 404,
    });
    expect((await ask(1, [refused("busy")])).answer).toMatchObject({
      kind: "failed",
      code: "primary_busy",
      retryAfterMs: 250,
    });
  });

  test("of one that has ended, and whose outcome storage can't open, is not to be repeated", async () => {
    const { answer } = await ask(1, [refused("answer_not_kept")]);
    expect(answer).toMatchObject({ kind: "failed", code: "answer_not_kept", message: "no", retryAfterMs: null });
    expect(replyOf(answer as never)).toMatchObject({ status: 410 });
  });

  test("that is confirmed like an execution is a fault of the primary", async () => {
    const valid = reply({ kind: "valid", commitId: null, times, asOf });
    expect((await ask(1, [valid])).answer).toBeInstanceOf(Error);
  });
});
