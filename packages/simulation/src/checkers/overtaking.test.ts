import type { LockWait } from "@radical/lvi-server/core";
import type { ExecutionId, UnitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { OvertakingChecker } from "./overtaking.ts";

type Holder = LockWait["inWay"][number];

function owner(ticket: number): Holder {
  return { id: String(ticket).padStart(32, "0") as ExecutionId, ticket };
}

/** A wait for units: capital letters for exclusive ones. */
function waitOf(ticket: number, units: string): LockWait["wait"] {
  const accesses = Array.from(units, (letter) => {
    const unit = letter.toLowerCase() as UnitId;
    return { unit, mode: letter === unit ? ("shared" as const) : ("exclusive" as const) };
  });
  return { owner: owner(ticket), ticket, accesses };
}

/** The problems of each step, given what waits after it. */
function problemsOf(...steps: readonly (readonly LockWait[])[]): readonly string[] {
  const checker = new OvertakingChecker();
  return steps.flatMap((waits) => checker.check(waits));
}

const [a, b, c, d] = [owner(1), owner(2), owner(3), owner(4)] as const;
const wait = waitOf(3, "X");

describe("a wait for locks", () => {
  test("is fair while later executions only leave its way", () => {
    const steps = [[a, b, d], [b, d], [d]].map((inWay) => [{ wait, inWay }]);
    expect(problemsOf(...steps, [])).toEqual([]);
  });

  test("may be passed by an earlier execution", () => {
    expect(problemsOf([{ wait, inWay: [a] }], [{ wait, inWay: [a, b] }])).toEqual([]);
  });

  test("that is passed by a later one is found", () => {
    expect(problemsOf([{ wait, inWay: [a] }], [{ wait, inWay: [a, d] }]).join()).toContain("has overtaken");
  });

  test("may begin behind later ones, also for an execution that has waited before", () => {
    const again = waitOf(3, "XY");
    expect(problemsOf([{ wait, inWay: [a] }], [{ wait: again, inWay: [a, d] }])).toEqual([]);
  });

  test("that is passed by one that was in its way before, and had left it, is found", () => {
    const steps = [[a, d], [a], [a, d]].map((inWay) => [{ wait, inWay }]);
    expect(problemsOf(...steps).join()).toContain("has overtaken");
  });
});

describe("a waiter that no holder is in the way of", () => {
  test.each([
    ["waits for an earlier one that wants a unit exclusively", "X", "x", true],
    ["waits for an earlier one whose unit it wants exclusively", "x", "X", true],
    ["does not wait for one that shares its unit", "x", "x", false],
    ["does not wait for one with another unit", "Y", "X", false],
  ])("%s", (_what, earlier, units, isRight) => {
    const first = { wait: waitOf(2, earlier), inWay: [a] };
    const found = problemsOf([first, { wait: waitOf(3, units), inWay: [] }]);
    if (isRight) expect(found).toEqual([]);
    else expect(found.join()).toContain("nobody is in its way");
  });

  test("does not wait for a later one, nor for itself", () => {
    const later = { wait: waitOf(4, "X"), inWay: [c] };
    expect(problemsOf([{ wait, inWay: [] }, later]).join()).toContain("nobody is in its way");
    expect(problemsOf([{ wait, inWay: [] }]).join()).toContain("nobody is in its way");
  });
});
