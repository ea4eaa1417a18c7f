/** The application as its people use it: over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type TestApp, startTestApp } from "@radical/cli/testing";
import type { Card, Handlers, MyCard } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({ project: fileURLToPath(new URL("..", import.meta.url)), seeded: true });
});
afterAll(() => app?.stop());

/** Somebody of this name, logged in. */
async function join(name: string): Promise<string> {
  return (await app.result("register", { name, password: "correct horse" })).token;
}

/** A board of this person with three columns. */
function createBoard(token: string, name = "A board"): Promise<string> {
  return app.result("createBoard", { token, name, columns: ["To do", "Doing", "Done"] });
}

function addCard(token: string, board: string, title = "A card", column = 0): Promise<string> {
  return app.result("addCard", { token, board, column, title });
}

/** The cards of each column, as the other location sees them. */
async function look(token: string, id: string): Promise<(readonly Card[])[]> {
  const board = await app.result("board", { token, id }, { location: "far" });
  return board.columns.map(({ cards }) => cards.cards);
}

const other = (i: number): string => (i % 2 === 0 ? "near" : "far");

test("a card is in exactly one column, wherever it is moved at once", async () => {
  const token = await join("mover");
  const board = await createBoard(token);
  const cards = await Promise.all(["a", "b", "c"].map((title) => addCard(token, board, title)));
  await Promise.all(
    cards.flatMap((card, i) =>
      [1, 2, 0].map((column, j) => app.result("moveCard", { token, card, column, at: 0 }, { location: other(i + j) })),
    ),
  );
  const columns = await look(token, board);
  expect(
    columns
      .flat()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(cards.toSorted());
  for (const [number, column] of columns.entries()) {
    expect(column.map((card) => card.column)).toEqual(column.map(() => number));
  }
});

test("cards are in the order in which they were placed", async () => {
  const token = await join("sorter");
  const board = await createBoard(token);
  const [a, b, c] = [await addCard(token, board), await addCard(token, board), await addCard(token, board)];
  const order = async (): Promise<string[]> => (await look(token, board))[0]?.map(({ id }) => id) ?? [];
  await app.result("moveCard", { token, card: c, column: 0, at: 0 });
  expect(await order()).toEqual([c, a, b]);
  await app.result("moveCard", { token, card: c, column: 0, at: 1 });
  expect(await order()).toEqual([a, c, b]);
  await app.result("moveCard", { token, card: a, column: 0 });
  expect(await order()).toEqual([c, b, a]);
});

test("a column never holds more cards than its limit", async () => {
  const token = await join("limiter");
  const board = await createBoard(token);
  await app.result("limitColumn", { token, board, column: 1, limit: 2 });
  const cards = await Promise.all(Array.from({ length: 4 }, () => addCard(token, board)));
  const answers = await Promise.all([
    ...cards.map((card, i) => app.call("moveCard", { token, card, column: 1 }, { location: other(i) })),
    app.call("addCard", { token, board, column: 1, title: "One more" }, { location: "far" }),
  ]);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  expect(answers.flatMap(({ error }) => (error === undefined ? [] : [error.code]))).toEqual(
    Array.from({ length: 3 }, () => "column_full"),
  );
  const doing = (await look(token, board))[1] ?? [];
  expect(doing).toHaveLength(2);
  // A card may be moved inside a full column.
  await app.result("moveCard", { token, card: doing[1]!.id, column: 1, at: 0 });
  expect((await app.call("limitColumn", { token, board, column: 1, limit: 1 })).error?.code).toBe("column_full");
});

test("only members see or change a board", async () => {
  const [owner, stranger] = [await join("owner"), await join("stranger")];
  const board = await createBoard(owner);
  const card = await addCard(owner, board);
  const token = stranger;
  const attempts = await Promise.all([
    app.call("board", { token, id: board }),
    app.call("activity", { token, board }),
    app.call("addCard", { token, board, column: 0, title: "Mine" }),
    app.call("addColumn", { token, board, name: "Mine" }),
    app.call("limitColumn", { token, board, column: 0, limit: 1 }),
    app.call("invite", { token, board, name: "stranger" }),
    app.call("card", { token, id: card }),
    app.call("moveCard", { token, card, column: 1 }),
    app.call("editCard", { token, card, version: 1, title: "Mine", text: "" }),
    app.call("assign", { token, card, name: "stranger" }),
    app.call("unassign", { token, card, name: "owner" }),
    app.call("comment", { token, card, text: "Mine" }),
    app.call("archiveCard", { token, card }),
  ]);
  expect(attempts.map(({ status }) => status)).toEqual(attempts.map(() => 404));
  expect(await app.result("invite", { token: owner, board, name: "stranger" })).toEqual(["owner", "stranger"]);
  expect((await look(stranger, board)).flat().map(({ id }) => id)).toEqual([card]);
});

test("the log has each change once, the newest first", async () => {
  const token = await join("logger");
  const board = await createBoard(token);
  const titles = ["a", "b", "c", "d", "e", "f"];
  await Promise.all(
    titles.map((title, i) => app.result("addCard", { token, board, column: 0, title }, { location: other(i) })),
  );
  // What changes nothing, or fails, is no change.
  await app.result("invite", { token, board, name: "logger" });
  await app.call("addCard", { token, board, column: 7, title: "g" });
  const { changes } = await app.result("activity", { token, board }, { location: "far" });
  expect(changes.map(({ at }) => at)).toEqual(changes.map(({ at }) => at).toSorted((a, b) => b - a));
  const [made, ...added] = changes.map(({ what }) => what).toReversed();
  expect(made).toBe("made the board");
  expect(added.toSorted()).toEqual(titles.map((title) => `added "${title}"`));
});

test("boards, cards, comments and changes come in pages, each entry once", async () => {
  const token = await join("pager");
  const board = await createBoard(token, "First");
  await createBoard(token, "Second");
  const titles = ["a", "b", "c", "d", "e"];
  for (const title of titles) await addCard(token, board, title);
  const top = await app.result("cards", { token, board, column: 0, limit: 3 }, { location: "far" });
  // A card that moves away leaves the pages behind it as they are.
  await app.result("moveCard", { token, card: top.cards[0]!.id, column: 1 });
  const rest = await app.result("cards", { token, board, column: 0, after: top.next, limit: 3 });
  expect([...top.cards, ...rest.cards].map(({ title }) => title)).toEqual(titles);
  expect(rest.next).toBeNull();

  const card = top.cards[0]!.id;
  for (const text of titles) await app.result("comment", { token, card, text });
  const newest = await app.result("comments", { token, card, limit: 2 }, { location: "far" });
  const older = await app.result("comments", { token, card, before: newest.next });
  expect([...newest.comments, ...older.comments].map(({ html }) => html)).toEqual(
    titles.toReversed().map((text) => `<p>${text}</p>`),
  );
  for (const title of titles) {
    const assigned = (await look(token, board)).flat().find((one) => one.title === title);
    await app.result("assign", { token, card: assigned!.id, name: "pager" });
  }
  const mine = await app.result("myCards", { token, limit: 4 });
  const last = await app.result("myCards", { token, after: mine.next });
  expect([...mine.cards, ...last.cards].map(({ card: { title } }) => title)).toEqual(titles);
  const first = await app.result("myBoards", { token, limit: 1 });
  const second = await app.result("myBoards", { token, after: first.next });
  expect([...first.boards, ...second.boards].map(({ name }) => name)).toEqual(["First", "Second"]);
  const done = await app.result("activity", { token, board, limit: 10 });
  const before = await app.result("activity", { token, board, before: done.next, limit: 10 });
  expect([done.changes.length, before.changes.length, before.next]).toEqual([10, 7, null]);
});

test("cards and people agree on what is assigned, over all boards", async () => {
  const [first, second] = [await join("first"), await join("second")];
  const boards = [await createBoard(first, "One"), await createBoard(second, "Two")] as const;
  await app.result("invite", { token: first, board: boards[0], name: "second" });
  const cards = [await addCard(first, boards[0]), await addCard(second, boards[1])] as const;
  await Promise.all(
    ["near", "far"].flatMap((location) =>
      ["first", "second"].map((name) => app.result("assign", { token: first, card: cards[0], name }, { location })),
    ),
  );
  await app.result("assign", { token: second, card: cards[1], name: "second" });
  expect((await app.call("assign", { token: second, card: cards[1], name: "first" })).error?.code).toBe("no_member");
  const mine = async (token: string): Promise<readonly MyCard[]> =>
    (await app.result("myCards", { token }, { location: "far" })).cards;
  expect((await mine(second)).map(({ board, column }) => [board, column])).toEqual([
    ["One", "To do"],
    ["Two", "To do"],
  ]);
  const assignees = (await mine(first))[0]?.card.assignees ?? [];
  expect(assignees.toSorted()).toEqual(["first", "second"]);

  await app.result("unassign", { token: first, card: cards[0], name: "first" });
  expect(await mine(first)).toEqual([]);
  await app.result("archiveCard", { token: second, card: cards[0] });
  expect((await mine(second)).map(({ card }) => card.id)).toEqual([cards[1]]);
  expect((await look(first, boards[0])).flat()).toEqual([]);
  expect((await app.call("moveCard", { token: first, card: cards[0], column: 1 })).error?.code).toBe("archived");
});

test("of edits of one version at once one is made", async () => {
  const token = await join("editor");
  const card = await addCard(token, await createBoard(token));
  const answers = await Promise.all(
    ["near", "far"].map((location) =>
      app.call("editCard", { token, card, version: 1, title: `From ${location}`, text: "<b>x</b>" }, { location }),
    ),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect(answers.find(({ status }) => status === 409)?.error?.code).toBe("changed_meanwhile");
  const edited = await app.result("card", { token, id: card }, { location: "far" });
  expect(edited.card.version).toBe(2);
  expect(edited.html).toContain("&lt;b&gt;");
});

test("people of the seed log in", async () => {
  const token = (await app.result("login", { name: "ada", password: "correct horse" }))?.token ?? "";
  expect((await app.result("myCards", { token })).cards.map(({ column }) => column)).toEqual(["Doing", "Done"]);
});
