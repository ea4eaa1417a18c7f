/** The application as its people use it: over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type CallOptions, type TestApp, startTestApp } from "@radical/cli/testing";
import type { Card, Handlers, MyCard } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PASSWORD, signedIn } from "./accounts.ts";

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({ project: fileURLToPath(new URL("..", import.meta.url)), seeded: true });
});
afterAll(() => app?.stop());

/** Somebody of this name, logged in. */
async function join(name: string): Promise<CallOptions> {
  return signedIn(await app.call("register", { name, password: PASSWORD }));
}

/** A board of this person with three columns. */
function createBoard(session: CallOptions, name = "A board"): Promise<string> {
  return app.result("createBoard", { name, columns: ["To do", "Doing", "Done"] }, session);
}

function addCard(session: CallOptions, board: string, title = "A card", column = 0): Promise<string> {
  return app.result("addCard", { board, column, title }, session);
}

/** The cards of each column, as the other location sees them. */
async function look(session: CallOptions, id: string): Promise<(readonly Card[])[]> {
  const board = await app.result("board", { id }, { ...session, location: "far" });
  return board.columns.map(({ cards }) => cards.cards);
}

const other = (i: number): string => (i % 2 === 0 ? "near" : "far");

test("a card is in exactly one column, wherever it is moved at once", async () => {
  const session = await join("mover");
  const board = await createBoard(session);
  const cards = await Promise.all(["a", "b", "c"].map((title) => addCard(session, board, title)));
  await Promise.all(
    cards.flatMap((card, i) =>
      [1, 2, 0].map((column, j) =>
        app.result("moveCard", { card, column, at: 0 }, { ...session, location: other(i + j) }),
      ),
    ),
  );
  const columns = await look(session, board);
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
  const session = await join("sorter");
  const board = await createBoard(session);
  const [a, b, c] = [await addCard(session, board), await addCard(session, board), await addCard(session, board)];
  const order = async (): Promise<string[]> => (await look(session, board))[0]?.map(({ id }) => id) ?? [];
  await app.result("moveCard", { card: c, column: 0, at: 0 }, session);
  expect(await order()).toEqual([c, a, b]);
  await app.result("moveCard", { card: c, column: 0, at: 1 }, session);
  expect(await order()).toEqual([a, c, b]);
  await app.result("moveCard", { card: a, column: 0 }, session);
  expect(await order()).toEqual([c, b, a]);
});

test("a column never holds more cards than its limit", async () => {
  const session = await join("limiter");
  const board = await createBoard(session);
  await app.result("limitColumn", { board, column: 1, limit: 2 }, session);
  const cards = await Promise.all(Array.from({ length: 4 }, () => addCard(session, board)));
  const answers = await Promise.all([
    ...cards.map((card, i) => app.call("moveCard", { card, column: 1 }, { ...session, location: other(i) })),
    app.call("addCard", { board, column: 1, title: "One more" }, { ...session, location: "far" }),
  ]);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  expect(answers.flatMap(({ error }) => (error === undefined ? [] : [error.code]))).toEqual(
    Array.from({ length: 3 }, () => "column_full"),
  );
  const doing = (await look(session, board))[1] ?? [];
  expect(doing).toHaveLength(2);
  // A card may be moved inside a full column.
  await app.result("moveCard", { card: doing[1]!.id, column: 1, at: 0 }, session);
  expect((await app.call("limitColumn", { board, column: 1, limit: 1 }, session)).error?.code).toBe("column_full");
});

test("only members see or change a board", async () => {
  const [owner, stranger] = [await join("owner"), await join("stranger")];
  const board = await createBoard(owner);
  const card = await addCard(owner, board);
  const session = stranger;
  const attempts = await Promise.all([
    app.call("board", { id: board }, session),
    app.call("activity", { board }, session),
    app.call("addCard", { board, column: 0, title: "Mine" }, session),
    app.call("addColumn", { board, name: "Mine" }, session),
    app.call("limitColumn", { board, column: 0, limit: 1 }, session),
    app.call("invite", { board, name: "stranger" }, session),
    app.call("card", { id: card }, session),
    app.call("moveCard", { card, column: 1 }, session),
    app.call("editCard", { card, version: 1, title: "Mine", text: "" }, session),
    app.call("assign", { card, name: "stranger" }, session),
    app.call("unassign", { card, name: "owner" }, session),
    app.call("comment", { card, text: "Mine" }, session),
    app.call("archiveCard", { card }, session),
  ]);
  expect(attempts.map(({ status }) => status)).toEqual(attempts.map(() => 404));
  expect(await app.result("invite", { board, name: "stranger" }, owner)).toEqual(["owner", "stranger"]);
  expect((await look(stranger, board)).flat().map(({ id }) => id)).toEqual([card]);
});

test("the log has each change once, the newest first", async () => {
  const session = await join("logger");
  const board = await createBoard(session);
  const titles = ["a", "b", "c", "d", "e", "f"];
  await Promise.all(
    titles.map((title, i) => app.result("addCard", { board, column: 0, title }, { ...session, location: other(i) })),
  );
  // A call that changes nothing, or fails, is not a change.
  await app.result("invite", { board, name: "logger" }, session);
  await app.call("addCard", { board, column: 7, title: "g" }, session);
  const { changes } = await app.result("activity", { board }, { ...session, location: "far" });
  expect(changes.map(({ at }) => at)).toEqual(changes.map(({ at }) => at).toSorted((a, b) => b - a));
  const [made, ...added] = changes.map(({ what }) => what).toReversed();
  expect(made).toBe("made the board");
  expect(added.toSorted()).toEqual(titles.map((title) => `added "${title}"`));
});

test("boards, cards, comments and changes come in pages, each entry once", async () => {
  const session = await join("pager");
  const board = await createBoard(session, "First");
  await createBoard(session, "Second");
  const titles = ["a", "b", "c", "d", "e"];
  for (const title of titles) await addCard(session, board, title);
  const top = await app.result("cards", { board, column: 0, limit: 3 }, { ...session, location: "far" });
  // A card that moves away leaves the pages behind it as they are.
  await app.result("moveCard", { card: top.cards[0]!.id, column: 1 }, session);
  const rest = await app.result("cards", { board, column: 0, after: top.next, limit: 3 }, session);
  expect([...top.cards, ...rest.cards].map(({ title }) => title)).toEqual(titles);
  expect(rest.next).toBeNull();

  const card = top.cards[0]!.id;
  for (const text of titles) await app.result("comment", { card, text }, session);
  const newest = await app.result("comments", { card, limit: 2 }, { ...session, location: "far" });
  const older = await app.result("comments", { card, before: newest.next }, session);
  expect([...newest.comments, ...older.comments].map(({ html }) => html)).toEqual(
    titles.toReversed().map((text) => `<p>${text}</p>`),
  );
  for (const title of titles) {
    const assigned = (await look(session, board)).flat().find((one) => one.title === title);
    await app.result("assign", { card: assigned!.id, name: "pager" }, session);
  }
  const mine = await app.result("myCards", { limit: 4 }, session);
  const last = await app.result("myCards", { after: mine.next }, session);
  expect([...mine.cards, ...last.cards].map(({ card: { title } }) => title)).toEqual(titles);
  const first = await app.result("myBoards", { limit: 1 }, session);
  const second = await app.result("myBoards", { after: first.next }, session);
  expect([...first.boards, ...second.boards].map(({ name }) => name)).toEqual(["First", "Second"]);
  const done = await app.result("activity", { board, limit: 10 }, session);
  const before = await app.result("activity", { board, before: done.next, limit: 10 }, session);
  expect([done.changes.length, before.changes.length, before.next]).toEqual([10, 7, null]);
});

test("cards and people agree on what is assigned, over all boards", async () => {
  const [first, second] = [await join("first"), await join("second")];
  const boards = [await createBoard(first, "One"), await createBoard(second, "Two")] as const;
  await app.result("invite", { board: boards[0], name: "second" }, first);
  const cards = [await addCard(first, boards[0]), await addCard(second, boards[1])] as const;
  await Promise.all(
    ["near", "far"].flatMap((location) =>
      ["first", "second"].map((name) => app.result("assign", { card: cards[0], name }, { ...first, location })),
    ),
  );
  await app.result("assign", { card: cards[1], name: "second" }, second);
  expect((await app.call("assign", { card: cards[1], name: "first" }, second)).error?.code).toBe("no_member");
  const mine = async (session: CallOptions): Promise<readonly MyCard[]> =>
    (await app.result("myCards", {}, { ...session, location: "far" })).cards;
  expect((await mine(second)).map(({ board, column }) => [board, column])).toEqual([
    ["One", "To do"],
    ["Two", "To do"],
  ]);
  const assignees = (await mine(first))[0]?.card.assignees ?? [];
  expect(assignees.toSorted()).toEqual(["first", "second"]);

  await app.result("unassign", { card: cards[0], name: "first" }, first);
  expect(await mine(first)).toEqual([]);
  await app.result("archiveCard", { card: cards[0] }, second);
  expect((await mine(second)).map(({ card }) => card.id)).toEqual([cards[1]]);
  expect((await look(first, boards[0])).flat()).toEqual([]);
  expect((await app.call("moveCard", { card: cards[0], column: 1 }, first)).error?.code).toBe("archived");
});

test("of edits of one version at once one is made", async () => {
  const session = await join("editor");
  const card = await addCard(session, await createBoard(session));
  const answers = await Promise.all(
    ["near", "far"].map((location) =>
      app.call("editCard", { card, version: 1, title: `From ${location}`, text: "<b>x</b>" }, { ...session, location }),
    ),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect(answers.find(({ status }) => status === 409)?.error?.code).toBe("changed_meanwhile");
  const edited = await app.result("card", { id: card }, { ...session, location: "far" });
  expect(edited.card.version).toBe(2);
  expect(edited.html).toContain("&lt;b&gt;");
});

test("people of the seed log in", async () => {
  const session = signedIn(await app.call("login", { name: "ada", password: PASSWORD }));
  expect((await app.result("myCards", {}, session)).cards.map(({ column }) => column)).toEqual(["Doing", "Done"]);
});
