import { action, ago, attempt, call, form, h, older, session, show, showSession } from "./ui.js";

/** `#/boards/<id>` is a board, `#/cards/<id>` a card; anything else what is mine. */
async function render() {
  showSession(render);
  if (session() === null) return show(h("p", {}, "Log in to see your boards."));
  const [, kind, id] = /^#\/(boards|cards)\/(.+)$/.exec(location.hash) ?? [];
  if (kind === "boards") return showBoard(id);
  return kind === "cards" ? showCard(id) : showMine();
}

/** Calls a handler for whoever is logged in. */
function act(handler, args = {}) {
  return call(handler, { ...args });
}

/** What a button does: a call, after which the page is shown again. */
function change(handler, args) {
  return async () => {
    await act(handler, args);
    await render();
  };
}

async function showMine() {
  const loadBoards = (after) => act("myBoards", { after }).then(({ boards, next }) => ({ entries: boards, next }));
  const loadCards = (after) =>
    act("myCards", { after }).then(({ cards, next }) => ({
      entries: cards.map((mine) => ({ id: mine.card.id, ...mine })),
      next,
    }));
  const [boards, cards] = await Promise.all([loadBoards(null), loadCards(null)]);
  const moreBoards = older(loadBoards, boardLine, h("ul", {}));
  const moreCards = older(loadCards, myCard, h("ul", {}));
  moreBoards.begin(boards);
  moreCards.begin(cards);
  show(
    h("h2", {}, "My boards"),
    h("ul", {}, boards.entries.map(boardLine)),
    boards.entries.length === 0 ? h("p", {}, "You have no board yet.") : null,
    moreBoards,
    form({ name: { placeholder: "name of a new board" } }, "Make a board", async ({ name }) => {
      const id = await act("createBoard", { name, columns: ["To do", "Doing", "Done"] });
      location.hash = `/boards/${id}`;
    }),
    h("h2", {}, "My cards"),
    h("ul", {}, cards.entries.map(myCard)),
    cards.entries.length === 0 ? h("p", {}, "No card is assigned to you.") : null,
    moreCards,
  );
}

function boardLine(board) {
  return h("li", {}, h("a", { href: `#/boards/${board.id}` }, board.name));
}

function myCard({ card, board, column }) {
  return h("li", {}, h("a", { href: `#/cards/${card.id}` }, card.title), h("small", {}, ` ${board}, ${column}`));
}

async function showBoard(id) {
  const loadChanges = (before) =>
    act("activity", { board: id, before }).then(({ changes, next }) => ({ entries: changes, next }));
  const [board, changes] = await Promise.all([act("board", { id }), loadChanges(null)]);
  const moreChanges = older(loadChanges, changeLine, h("ul", {}));
  moreChanges.begin(changes);
  show(
    h("h2", {}, board.name),
    h("small", {}, board.members.join(", ")),
    form({ name: { placeholder: "name of somebody" } }, "Invite", ({ name }) =>
      change("invite", { board: id, name })(),
    ),
    h(
      "div",
      { className: "columns wide" },
      board.columns.map((column, number) =>
        h(
          "section",
          {},
          h("b", {}, column.name, column.limit === 0 ? "" : ` (at most ${column.limit})`),
          cardsOf(board, number),
          form({ title: { placeholder: "a new card" } }, "Add", ({ title }) =>
            change("addCard", { board: id, column: number, title })(),
          ),
        ),
      ),
    ),
    h("h2", {}, "Activity"),
    h("ul", {}, changes.entries.map(changeLine)),
    moreChanges,
  );
}

function changeLine(entry) {
  return h("li", {}, `${entry.who} ${entry.what} `, h("small", {}, ago(entry.at)));
}

/** The cards of a column, and a way to those below them. */
function cardsOf({ id, columns }, number) {
  const view = (card) => cardLine(card, number, columns);
  const entriesOf = ({ cards, next }) => ({ entries: cards, next });
  const rest = older((after) => act("cards", { board: id, column: number, after }).then(entriesOf), view);
  const top = entriesOf(columns[number].cards);
  rest.begin(top);
  return [top.entries.map(view), rest].flat();
}

function cardLine(card, column, columns) {
  const move = (label, to) =>
    action(label, change("moveCard", { card: card.id, column: to }), `Move to ${columns[to].name}`);
  return h(
    "article",
    {},
    h("a", { href: `#/cards/${card.id}` }, card.title),
    h("small", {}, ` ${card.assignees.join(", ")}`),
    h(
      "div",
      { className: "row" },
      column > 0 ? move("◀", column - 1) : null,
      column < columns.length - 1 ? move("▶", column + 1) : null,
    ),
  );
}

async function showCard(id) {
  const { card, html, comments } = await act("card", { id });
  const newest = commentsOf(comments);
  const rest = older((before) => act("comments", { card: id, before }).then(commentsOf), commentView);
  rest.begin(newest);
  show(
    h("p", {}, h("a", { href: `#/boards/${card.board}` }, "To the board")),
    h("h2", {}, card.title),
    // The handler has made it safe: lib/markup.ts.
    h("div", { innerHTML: html }),
    card.column < 0 ? h("p", {}, "In the archive.") : cardForms(card),
    newest.entries.map(commentView),
    rest,
  );
}

function commentsOf({ comments, next }) {
  return { entries: comments, next };
}

function commentView(comment) {
  return h(
    "article",
    {},
    h("small", {}, `${comment.author}, ${ago(comment.at)}`),
    h("div", { innerHTML: comment.html }),
  );
}

function cardForms(card) {
  const me = session().name;
  const edit = form(
    {
      title: { label: "Title", value: card.title },
      text: { label: "Text", type: "textarea", value: card.text },
    },
    "Save",
    ({ title, text }) => change("editCard", { card: card.id, version: card.version, title, text })(),
  );
  edit.querySelector("textarea").required = false;
  return h(
    "div",
    {},
    h(
      "p",
      { className: "row" },
      card.assignees.map((name) => action(`${name} ✕`, change("unassign", { card: card.id, name }))),
      card.assignees.includes(me) ? null : action("Assign to me", change("assign", { card: card.id, name: me })),
      action("Archive", change("archiveCard", { card: card.id })),
    ),
    edit,
    form({ comment: { placeholder: "What do you say?", type: "textarea" } }, "Comment", ({ comment }) =>
      change("comment", { card: card.id, text: comment })(),
    ),
  );
}

addEventListener("hashchange", () => attempt(render));
await attempt(render);
