import type { ExecutionId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { checkLanes, type Enqueuer } from "./lanes.ts";

const id = (name: string): ExecutionId => name as ExecutionId;
const ids = (names: string): readonly ExecutionId[] => names.split(" ").filter(Boolean).map(id);

/** `tasks`: of the lane "a". */
function enqueuer(name: string, tasks: string, askedAt = 0, answeredAt = Infinity): Enqueuer {
  return { id: id(name), lanes: new Map([["a", ids(tasks)]]), askedAt, answeredAt };
}

const BOTH = [enqueuer("x", "x1 x2", 1, 2), enqueuer("y", "y1", 3, 4)];

describe("right orders", () => {
  test.each<[string, readonly Enqueuer[], readonly string[], string]>([
    ["as they were answered", BOTH, [], "x1 x2 y1"],
    ["the later ones have not ended", BOTH, [], "x1"],
    ["two that ran at once end in either order", [enqueuer("x", "x1", 1, 4), enqueuer("y", "y1", 2, 3)], [], "y1 x1"],
    ["of other lanes", [BOTH[0]!, { ...BOTH[1]!, lanes: new Map([["b", ids("y1")]]) }], [], "y1 x1 x2"],
    ["as they have written", [enqueuer("x", "x1"), enqueuer("y", "y1")], ["x y"], "x1 y1"],
    ["nobody knows a writer without tasks", [enqueuer("x", "x1"), enqueuer("y", "y1")], ["x z y"], "x1 y1"],
  ])("%s", (_, enqueuers, writers, ended) => {
    expect(checkLanes(enqueuers, writers.map(ids), ids(ended))).toEqual([]);
  });
});

describe("wrong orders", () => {
  test.each<[string, readonly Enqueuer[], readonly string[], string, string]>([
    ["of one execution", [BOTH[0]!], [], "x2 x1", "in lane a task x2 ended before x1: both are of x"],
    ["one is left out", [BOTH[0]!], [], "x2", "in lane a task x2 ended before x1: both are of x"],
    [
      "against answers",
      BOTH,
      [],
      "x1 y1 x2",
      "in lane a task y1 ended before x2: x was answered before y was asked for",
    ],
    [
      "against an item, by a writer in between",
      [enqueuer("x", "x1"), enqueuer("y", "y1")],
      ["x z y"],
      "y1 x1",
      "in lane a task y1 ended before x1: x has written before y",
    ],
  ])("%s", (_, enqueuers, writers, ended, problem) => {
    expect(checkLanes(enqueuers, writers.map(ids), ids(ended))).toEqual([problem]);
  });
});
