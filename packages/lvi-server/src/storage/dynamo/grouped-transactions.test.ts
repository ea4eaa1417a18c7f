import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { StorageError } from "../storage.ts";
import type { Met } from "./dynamo.ts";
import { type GroupedTransaction, GroupedTransactions } from "./grouped-transactions.ts";
import { fitsTransaction, weightOf } from "./limits.ts";

type Answer = readonly (Met | null)[] | "fenced" | null;

/** Requests that are under way until they are told to be answered. */
class Wire {
  readonly sent: {
    readonly actions: readonly TransactWriteItem[];
    readonly keys: readonly string[];
    readonly fencedBy: number | null;
    readonly answered: PromiseWithResolvers<Answer>;
  }[] = [];

  readonly transact = (actions: readonly TransactWriteItem[], fencedBy: number | null): Promise<Answer> => {
    const answered = Promise.withResolvers<Answer>();
    this.sent.push({ actions, keys: actions.map(({ Put }) => Put!.Item!["key"]!.S!), fencedBy, answered });
    return answered.promise;
  };

  get keys(): readonly (readonly string[])[] {
    return this.sent.map(({ keys }) => keys);
  }

  async answer(index: number, answer: Answer): Promise<void> {
    this.sent[index]!.answered.resolve(answer);
    await settled();
  }
}

/** All that needs nothing from outside has been done. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function put(key: string, bytes = 10): TransactWriteItem {
  return { Put: { TableName: "t", Item: { key: { S: key }, value: { B: new Uint8Array(bytes) } } } };
}

/** A commit of pending intents of one server. */
function of(...actions: readonly TransactWriteItem[]): GroupedTransaction {
  return { epoch: 1, actions, subjects: actions.map(({ Put }) => Put!.Item!["key"]!.S!), needsFence: false };
}

const MET: Met = { item: { key: { S: "b" } } };

test("at once and alone while few are under way; then those that have waited go together", async () => {
  const wire = new Wire();
  const transactions = new GroupedTransactions(wire.transact, { width: 2, size: 3 });
  const answers = ["a", "b", "c", "d", "e", "f"].map((key) => transactions.transact(of(put(key))));
  expect(wire.keys).toEqual([["a"], ["b"]]);
  await wire.answer(1, null);
  expect(wire.keys.slice(2)).toEqual([["c", "d", "e"]]);
  await wire.answer(0, [MET]);
  expect(wire.keys.slice(3)).toEqual([["f"]]);
  await wire.answer(2, null);
  await wire.answer(3, null);
  expect(await Promise.all(answers)).toEqual([[MET], null, null, null, null, null]);
});

test("a group of which a condition fails has had no effect: each is sent alone, and has its own answer", async () => {
  const wire = new Wire();
  const transactions = new GroupedTransactions(wire.transact, { width: 1, size: 8 });
  const answers = [transactions.transact(of(put("first")))];
  answers.push(...["a", "b", "c"].map((key) => transactions.transact(of(put(key), put(`${key}'`)))));
  await wire.answer(0, null);
  expect(wire.keys[1]).toEqual(["a", "a'", "b", "b'", "c", "c'"]);
  await wire.answer(1, [null, null, MET, null, null, null]);
  expect(wire.keys.slice(2)).toEqual([
    ["a", "a'"],
    ["b", "b'"],
    ["c", "c'"],
  ]);
  // They have the place of the group.
  const late = transactions.transact(of(put("late")));
  await wire.answer(2, null);
  await wire.answer(3, [MET, null]);
  expect(wire.sent.length).toBe(5);
  await wire.answer(4, null);
  await wire.answer(5, null);
  expect(await Promise.all([...answers, late])).toEqual([null, null, [MET, null], null, null]);
});

test("one that DynamoDB refuses keeps its neighbours from nothing; what is not known of a group is not known of each", async () => {
  const wire = new Wire();
  const transactions = new GroupedTransactions(wire.transact, { width: 1, size: 8 });
  void transactions.transact(of(put("first")));
  const both = Promise.allSettled(["good", "bad"].map((key) => transactions.transact(of(put(key)))));
  await wire.answer(0, null);
  const refusal = new StorageError("none", "too large");
  wire.sent[1]!.answered.reject(refusal);
  await settled();
  const doubtful = Promise.allSettled(["c", "d"].map((key) => transactions.transact(of(put(key)))));
  wire.sent[3]!.answered.reject(refusal);
  await wire.answer(2, null);
  expect(await both).toEqual([
    { status: "fulfilled", value: null },
    { status: "rejected", reason: refusal },
  ]);
  expect(wire.keys.slice(4)).toEqual([["c", "d"]]);
  const unknown = new StorageError("unknown", "no answer");
  wire.sent[4]!.answered.reject(unknown);
  expect(await doubtful).toEqual(["c", "d"].map(() => ({ status: "rejected", reason: unknown })));
  await settled();
  expect(wire.sent.length).toBe(5);
});

test("a group is no larger than a transaction may be, with its fence", async () => {
  const wire = new Wire();
  const transactions = new GroupedTransactions(wire.transact, { width: 1, size: 1_000 });
  void transactions.transact(of(put("first")));
  for (let group = 0; group < 3; group++) {
    const many = Array.from({ length: 33 }, (_, index) => put(`m${group} ${index}`));
    void transactions.transact(of(...many));
  }
  void transactions.transact(of(put("one more")));
  for (const key of ["large", "larger"]) void transactions.transact(of(put(key, 2_000_000)));
  for (let index = 0; index < wire.sent.length; index++) await wire.answer(index, null);
  expect(wire.keys.map((keys) => keys.length)).toEqual([1, 99, 2, 1]);
  for (const { actions } of wire.sent) expect(fitsTransaction(weightOf(actions))).toBe(true);
});

test("commits that share a record or a unit, or are of two servers, are in no group together", async () => {
  const wire = new Wire();
  const transactions = new GroupedTransactions(wire.transact, { width: 1, size: 8 });
  const about = (key: string, subject: string, epoch = 1): GroupedTransaction => ({
    ...of(put(key)),
    epoch,
    subjects: [key, subject],
  });
  void transactions.transact(of(put("first")));
  for (const [key, subject] of [
    ["a", "x"],
    ["b", "y"],
    ["c", "x"],
    ["d", "z"],
  ] as const)
    void transactions.transact(about(key, subject));
  void transactions.transact(about("e", "w", 2));
  for (let index = 0; index < wire.sent.length; index++) await wire.answer(index, null);
  expect(wire.keys).toEqual([["first"], ["a", "b"], ["c", "d"], ["e"]]);
});

test("a group checks one fence if one of its commits needs it; alone each commit checks what it needs", async () => {
  const wire = new Wire();
  const transactions = new GroupedTransactions(wire.transact, { width: 1, size: 8 });
  const answers = [transactions.transact(of(put("first")))];
  for (const key of ["a", "b", "c"]) answers.push(transactions.transact({ ...of(put(key)), needsFence: key === "b" }));
  await wire.answer(0, null);
  await wire.answer(1, "fenced");
  await wire.answer(2, null);
  await wire.answer(3, "fenced");
  await wire.answer(4, null);
  expect(wire.sent.map(({ fencedBy }) => fencedBy)).toEqual([null, 1, null, 1, null]);
  expect(await Promise.all(answers)).toEqual([null, null, "fenced", null]);
});
