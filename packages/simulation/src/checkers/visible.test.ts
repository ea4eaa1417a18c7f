import type { ExecutionId, UnitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Operation } from "../history.ts";
import { bytesOf, type ProgramName } from "../programs.ts";
import { checkVisible } from "./visible.ts";

type Told = string | { readonly abort: string } | null;

/** An operation of a client: when it was asked and answered, and what it was told; null: nothing. */
function ask(
  name: string,
  program: ProgramName,
  units: string,
  [invokedAt, answeredAt]: readonly [number, number],
  told: Told,
  amount = 0,
): Operation {
  const outcome =
    told === null
      ? null
      : typeof told === "string"
        ? ({ kind: "result", value: bytesOf(`${told}|`) } as const)
        : ({ kind: "abort", status: 409, code: told.abort, message: "" } as const);
  return {
    name,
    executionId: name as ExecutionId,
    program,
    units: units.split(" ") as UnitId[],
    amount,
    mustNotWrite: false,
    invokedAt,
    answeredAt: outcome === null ? null : answeredAt,
    outcome,
  };
}

describe("registers", () => {
  const r = "register/p";
  const write = (name: string, from: number, until: number): Operation => ask(name, "write", r, [from, until], "");
  const fetch = (name: string, from: number, until: number, value: string): Operation =>
    ask(name, "fetch", r, [from, until], value);

  test("what is linearizable is accepted", () => {
    expect(checkVisible([write("a", 1, 2), write("b", 3, 6), fetch("x", 4, 5, "a"), fetch("y", 7, 8, "b")])).toEqual(
      [],
    );
    expect(checkVisible([write("a", 1, 4), write("b", 2, 3), fetch("x", 5, 6, "a")])).toEqual([]);
    expect(checkVisible([ask("a", "write", r, [1, 2], null), fetch("x", 3, 4, "a")])).toEqual([]);
    expect(checkVisible([ask("a", "write", r, [1, 2], null), fetch("x", 3, 4, "")])).toEqual([]);
  });

  test("a stale read is found", () => {
    expect(checkVisible([write("a", 1, 2), fetch("x", 3, 4, "")])).not.toEqual([]);
    expect(checkVisible([write("a", 1, 2), write("b", 3, 4), fetch("x", 5, 6, "a")])).not.toEqual([]);
  });

  test("a value that comes and goes is found", () => {
    const history = [write("a", 1, 2), write("b", 3, 12), fetch("x", 4, 5, "b"), fetch("y", 6, 7, "a")];
    expect(checkVisible(history)).not.toEqual([]);
  });

  test("a value from nowhere, from the future or of a refused write is found", () => {
    expect(checkVisible([fetch("x", 1, 2, "a")])).not.toEqual([]);
    expect(checkVisible([fetch("x", 1, 2, "a"), write("a", 3, 4)])).not.toEqual([]);
    expect(checkVisible([ask("a", "write", r, [1, 2], { abort: "no" }), fetch("x", 3, 4, "a")])).not.toEqual([]);
  });

  test("a value that two have taken away is found", () => {
    const swap = (name: string): Operation => ask(name, "swap", r, [3, 6], "a");
    expect(checkVisible([write("a", 1, 2), swap("b"), swap("c")]).join()).toContain("both took");
  });
});

describe("lists", () => {
  const append = (name: string, from: number, until: number, told: Told): Operation =>
    ask(name, "append", "list/x", [from, until], told);
  const read = (name: string, from: number, until: number, told: string): Operation =>
    ask(name, "lists", "list/x", [from, until], told);

  test("one that grows is accepted", () => {
    expect(checkVisible([append("a", 1, 2, "a"), append("b", 3, 4, "a b"), read("x", 5, 6, "a b")])).toEqual([]);
    expect(checkVisible([append("a", 1, 2, null), read("x", 3, 4, ""), read("y", 5, 6, "a")])).toEqual([]);
  });

  test.each([
    ["an element that is lost", [append("a", 1, 2, "a"), read("x", 3, 4, "")]],
    ["an element that is there twice", [append("a", 1, 2, null), read("x", 3, 4, "a a")]],
    [
      "two orders",
      [append("a", 1, 9, null), append("b", 2, 9, null), read("x", 3, 4, "a b"), read("y", 5, 6, "b a c")],
    ],
    ["an element of nobody", [read("x", 1, 2, "a")]],
    ["an element that was refused", [append("a", 1, 2, { abort: "no" }), read("x", 3, 4, "a")]],
    ["less than before", [append("a", 1, 2, null), read("x", 3, 4, "a"), read("y", 5, 6, "")]],
    ["an append that is not last", [append("a", 1, 2, "a"), append("b", 3, 4, "b a")]],
  ])("%s is found", (_, history) => {
    expect(checkVisible(history)).not.toEqual([]);
  });
});

describe("the set", () => {
  const add = (name: string, from: number, until: number, told: Told = ""): Operation =>
    ask(name, "add", "bucket/0", [from, until], told);
  const members = (name: string, from: number, until: number, told: string): Operation =>
    ask(name, "members", "bucket/0 bucket/1", [from, until], told);

  test("one that grows is accepted", () => {
    expect(
      checkVisible([add("a", 1, 2), add("b", 3, 8), members("x", 4, 5, "a/"), members("y", 9, 10, "a/b")]),
    ).toEqual([]);
  });

  test.each([
    ["an element that is lost", [add("a", 1, 2), members("x", 3, 4, "/")]],
    ["an element that was seen before", [add("a", 1, 2, null), members("x", 3, 4, "a/"), members("y", 5, 6, "/")]],
    ["an element that is there twice", [add("a", 1, 2), members("x", 3, 4, "a/a")]],
    ["an element of nobody", [members("x", 1, 2, "a/")]],
  ])("%s is found", (_, history) => {
    expect(checkVisible(history)).not.toEqual([]);
  });
});

describe("the bank", () => {
  const ALL = "account/1 account/2 account/3 account/4";
  const transfer = (name: string, from: number, until: number, told: Told): Operation =>
    ask(name, "transfer", "account/1 account/2", [from, until], told, 30);
  const audit = (name: string, from: number, until: number, told: string): Operation =>
    ask(name, "audit", ALL, [from, until], told);

  test("money that moves is accepted", () => {
    expect(checkVisible([transfer("a", 1, 2, "70 130"), audit("x", 3, 4, "70 130 100 100")])).toEqual([]);
    expect(checkVisible([transfer("a", 1, 2, null), audit("x", 3, 4, "70 130 100 100")])).toEqual([]);
    expect(checkVisible([transfer("a", 1, 2, { abort: "too_poor" }), audit("x", 3, 4, "100 100 100 100")])).toEqual([]);
  });

  test.each([
    ["money that is lost", [audit("x", 1, 2, "70 100 100 100")]],
    ["a debt", [transfer("a", 1, 2, "-10 210")]],
    ["a transfer that is lost", [transfer("a", 1, 2, "70 130"), audit("x", 3, 4, "100 100 100 100")]],
    ["a transfer that was made twice", [transfer("a", 1, 2, "70 130"), audit("x", 3, 4, "40 160 100 100")]],
    ["a transfer that was refused", [transfer("a", 1, 2, { abort: "no" }), audit("x", 3, 4, "70 130 100 100")]],
  ])("%s is found", (_, history) => {
    expect(checkVisible(history)).not.toEqual([]);
  });
});

describe("tickets", () => {
  const ticket = (name: string, from: number, until: number, told: Told): Operation =>
    ask(name, "ticket", "counter/n", [from, until], told);

  test("each number once is accepted, also if one was not told its own", () => {
    expect(checkVisible([ticket("a", 1, 2, "1"), ticket("b", 3, 4, null), ticket("c", 5, 6, "3")])).toEqual([]);
  });

  test.each([
    ["a number that two have", [ticket("a", 1, 4, "1"), ticket("b", 2, 3, "1")]],
    ["a number that nobody has", [ticket("a", 1, 2, "1"), ticket("c", 5, 6, "3")]],
    ["a smaller number later", [ticket("a", 1, 2, "2"), ticket("b", 3, 4, "1")]],
  ])("%s is found", (_, history) => {
    expect(checkVisible(history)).not.toEqual([]);
  });
});

describe("slots", () => {
  const book = (name: string, from: number, until: number, told: Told = name): Operation =>
    ask(name, "book", "slot/1", [from, until], told);
  const free = (name: string, from: number, until: number, told: Told): Operation =>
    ask(name, "free", "slot/1", [from, until], told);

  test("one holder after the other is accepted", () => {
    expect(checkVisible([book("a", 1, 2), free("f", 3, 4, "a"), book("b", 5, 6)])).toEqual([]);
    expect(checkVisible([book("a", 1, 2), free("f", 3, 9, null), book("b", 5, 6)])).toEqual([]);
    expect(checkVisible([book("a", 1, 2), book("b", 3, 4, { abort: "taken" })])).toEqual([]);
  });

  test.each([
    ["two at the same time", [book("a", 1, 3), book("b", 2, 4)]],
    ["one beside another", [book("a", 1, 2), book("b", 3, 4), free("f", 5, 6, "a")]],
    ["what was freed twice", [book("a", 1, 2), free("f", 3, 4, "a"), free("g", 5, 6, "a")]],
    ["what was freed of somebody who did not have it", [free("f", 1, 2, "a")]],
  ])("%s is found", (_, history) => {
    expect(checkVisible(history)).not.toEqual([]);
  });
});

describe("pages", () => {
  /** Amount 12: all rows of the table, up to nine. Amount 0: the first one. */
  const page = (name: string, from: number, until: number, told: string, amount = 12): Operation =>
    ask(name, "page", "row/a row/b", [from, until], told, amount);
  const insert = (name: string, unit: string, from: number, until: number): Operation =>
    ask(name, "insert", `${unit} row/d`, [from, until], "");
  const drop = (name: string, from: number, until: number): Operation =>
    ask(name, "drop", "row/a row/b", [from, until], "");

  test("a page has the rows that were there, and may have those that come or go beside it", () => {
    expect(checkVisible([insert("a", "row/a", 1, 2), page("p", 3, 4, "row/a")])).toEqual([]);
    expect(checkVisible([insert("a", "row/a", 1, 4), page("p", 2, 3, "")])).toEqual([]);
    expect(checkVisible([insert("a", "row/a", 1, 2), drop("d", 3, 6), page("p", 4, 5, "")])).toEqual([]);
    expect(checkVisible([insert("a", "row/a", 1, 2), insert("b", "row/b", 3, 4), page("p", 5, 6, "row/a", 0)])).toEqual(
      [],
    );
  });

  test.each([
    ["a phantom: a row that a page lacks", [insert("a", "row/a", 1, 2), page("p", 3, 4, "")]],
    ["a row that nobody has inserted", [page("p", 1, 2, "row/a")]],
    ["a row that is inserted later", [page("p", 1, 2, "row/a"), insert("a", "row/a", 3, 4)]],
  ])("%s is found", (_, history) => {
    expect(checkVisible(history)).not.toEqual([]);
  });
});

describe("seats", () => {
  const seated = (told: string): Operation => ask("s", "seated", "seat/a", [1, 2], told);

  test("people on more seats than there are are found", () => {
    expect(checkVisible([seated("seat/a seat/b")])).toEqual([]);
    expect(checkVisible([seated("seat/a seat/b seat/c")])).not.toEqual([]);
  });
});

test("the same execution, asked for several times, lies between the first question and the first answer", () => {
  const append = ask("a", "append", "list/x", [1, 2], "a");
  const again = { ...append, invokedAt: 7, answeredAt: 8 };
  expect(checkVisible([again, append, ask("x", "lists", "list/x", [3, 4], "")])).not.toEqual([]);
});
