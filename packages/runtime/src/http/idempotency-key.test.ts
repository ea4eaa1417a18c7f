import { ERROR_KINDS, isExecutionId, RadicalError } from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { identityOf, type Scope, toldExecution } from "./idempotency-key.ts";

const ANN: Scope = { application: "shop", caller: "ann", handler: "pay" };
const NOBODY: Scope = { ...ANN, caller: null };
const UUID = "5b0c1f0e-8a49-4c0e-9d7d-0d8f8d2b7a11";

async function refusalOf(key: string, scope: Scope): Promise<RadicalError | null> {
  try {
    await identityOf(key, scope);
    return null;
  } catch (error) {
    if (error instanceof RadicalError) return error;
    throw error;
  }
}

describe("a key", () => {
  test("the same in the same scope is the same execution, which may be repeated with it", async () => {
    const first = await identityOf("pay-42", ANN);
    expect(first).toEqual(await identityOf("pay-42", { ...ANN }));
    expect(first).toMatchObject({ retained: true, repeatKey: "pay-42" });
    expect(isExecutionId(first.executionId)).toBe(true);
  });

  test.each([
    ["another application", { application: "shop-staging" }],
    ["another caller", { caller: "bob" }],
    ["nobody who is known", { caller: null }],
    ["another handler", { handler: "refund" }],
  ])("of %s is another execution", async (_, other) => {
    for (const key of [UUID, "a".repeat(32), "order 17".replace(" ", "-").padEnd(16, "-")]) {
      const [mine, theirs] = await Promise.all([identityOf(key, ANN), identityOf(key, { ...ANN, ...other })]);
      expect(mine.executionId).not.toBe(theirs.executionId);
    }
  });

  test("property: scopes that differ never meet, whatever text they are of", async () => {
    const visible = fc.stringMatching(/^[!-~]{16,40}$/);
    const scope = fc.record({
      application: fc.string(),
      caller: fc.option(fc.constantFrom("null", '","', "a", 'a","b'), { nil: null }),
      handler: fc.constantFrom("a", "b", 'b","a'),
      key: visible,
    });
    await fc.assert(
      fc.asyncProperty(scope, scope, async (a, b) => {
        const ids = await Promise.all([a, b].map(({ key, ...of }) => identityOf(key, of)));
        expect(ids[0]!.executionId === ids[1]!.executionId).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  test("a UUID or 32 hex characters are a key like any other", async () => {
    const plain = UUID.replaceAll("-", "");
    for (const key of [UUID, plain]) expect((await identityOf(key, ANN)).executionId).not.toBe(plain);
  });

  test.each(["", "x".repeat(256), "sp ace", "ümlaut", "line\nbreak"])("%j is none", async (key) => {
    expect(await refusalOf(key, ANN)).toMatchObject({ code: "invalid_idempotency_key" });
  });

  test("of nobody who is known has to be one that nobody guesses; a signed-in caller's may be short", async () => {
    expect(await refusalOf("1", ANN)).toBeNull();
    expect(await refusalOf("x".repeat(16), NOBODY)).toBeNull();
    const refusal = await refusalOf("x".repeat(15), NOBODY);
    expect(refusal).toMatchObject({
      code: "invalid_idempotency_key",
      hint: expect.stringContaining("UUID") as unknown,
    });
    expect(refusal!.message).toContain("has fewer than 16 characters");
    expect(ERROR_KINDS.invalid_idempotency_key.status).toBe(400);
  });
});

describe("without a key", () => {
  test("the id is drawn, and told in a form that is taken as it stands, by whomever", async () => {
    const drawn = await identityOf(null, ANN);
    expect(drawn.retained).toBe(false);
    expect(drawn.repeatKey).toBe(toldExecution(drawn.executionId));
    expect(drawn.repeatKey).toMatch(/^execution-[0-7][0-9a-f]{31}$/);
    for (const scope of [ANN, NOBODY])
      expect(await identityOf(drawn.repeatKey, scope)).toEqual({ ...drawn, retained: true });
  });

  test("the id of an execution that has a key can't be taken by whoever computes it", async () => {
    const { executionId } = await identityOf("order-17", ANN);
    expect(await refusalOf(toldExecution(executionId), { ...ANN, caller: "bob" })).toMatchObject({
      code: "invalid_idempotency_key",
      hint: expect.stringContaining("the key that you sent") as unknown,
    });
  });

  test.each(["execution-", "execution-17", `execution-${"A".repeat(32)}`, `execution-${"a".repeat(33)}`])(
    "%j tells no id: it is a key like any other",
    async (key) => {
      const { executionId, repeatKey } = await identityOf(key, ANN);
      expect([`execution-${executionId}` === key, repeatKey]).toEqual([false, key]);
    },
  );
});
