/** The check of live queries finds each mistake, and lets the rest pass. */
import { type CommitId, type Outcome, type UnitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { bytesOf, encodeArgs } from "../programs.ts";
import { checkLive, type ShownState, type Subscription } from "./live.ts";

const UNIT = "register/p" as UnitId;
const OTHER = "register/q" as UnitId;

const outcomeOf = (writer: string): Outcome => ({
  kind: "result",
  value: bytesOf(`${writer}/|${UNIT}=${writer},${OTHER}=`),
});
const stateOf = (id: string, at: number, more: Partial<ShownState> = {}): ShownState => ({
  id,
  at,
  askedAt: 1,
  isAfterStale: false,
  outcome: outcomeOf(id),
  ...more,
});

/** A subscriber of the register was shown this. At the end the register has the value of `op2`. */
function checked(shown: readonly ShownState[], more: Partial<Subscription> = {}): ReturnType<typeof checkLive> {
  const args = { operation: "live 0", units: [UNIT, OTHER], amount: 0 };
  const query = { program: "fetch", args, encodedArgs: encodeArgs(args), caller: null } as const;
  const subscription: Subscription = { name: "live 0", query, shown, isStale: false, hasLeft: false, ...more };
  const item = { commitId: "00000001-000000000001" as CommitId, value: bytesOf("op2:") };
  return checkLive([subscription], { items: new Map([[UNIT, item]]) });
}

describe("what is right", () => {
  test("states in the order in which they were computed, and the last one; each is a reader behind the one before", () => {
    const { problems, readers } = checked([stateOf("op1", 5), stateOf("op2", 9)]);
    expect(problems).toEqual([]);
    expect(readers.map(({ invokedAt, answeredAt }) => [invokedAt, answeredAt])).toEqual([
      [1.5, 5],
      [5.5, 9],
    ]);
  });

  test("the same state again after a warning, or after another one", () => {
    const again = stateOf("op2", 9, { isAfterStale: true });
    expect(checked([stateOf("op2", 5), again]).problems).toEqual([]);
    expect(checked([stateOf("op2", 5), stateOf("op1", 7), stateOf("op2", 9)]).problems).toEqual([]);
  });

  test("a subscriber that has left may know an older state, or none", () => {
    expect(checked([stateOf("op1", 5)], { hasLeft: true }).problems).toEqual([]);
    expect(checked([], { hasLeft: true }).problems).toEqual([]);
  });
});

describe("what is wrong", () => {
  test.each<[string, readonly ShownState[], Partial<Subscription>, string]>([
    ["the last state does not arrive", [stateOf("op1", 5)], {}, "is not shown the last state"],
    ["nothing arrives", [], {}, "is not shown the last state"],
    ["the warning stays", [stateOf("op2", 5)], { isStale: true }, "is told that the last state may be an old one"],
    ["a state comes twice", [stateOf("op2", 5), stateOf("op2", 9)], {}, "is shown the same state twice"],
    [
      "a state was computed before the question",
      [stateOf("op2", 5, { askedAt: 6 })],
      {},
      "is shown a state that was computed before it asked, or before the last one",
    ],
    [
      "an older state comes after a newer one",
      [stateOf("op1", 9), stateOf("op2", 5)],
      {},
      "is shown a state that was computed before it asked, or before the last one",
    ],
  ])("%s", (_, shown, more, problem) => {
    expect(checked(shown, more).problems).toEqual([`live 0 ${problem}`]);
  });
});
