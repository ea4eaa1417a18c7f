import { action, ago, attempt, call, form, h, session, show, showSession } from "./ui.js";

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
  return call(handler, { token: session().token, ...args });
}

/** What a button does: a call, after which the page is shown again. */
function change(handler, args) {
  return async () => {
    await act(handler, args);
    await render();
  };
}

async function showMine() {
  const [boards, cards] = await Promise.all([act("myBoards"), act("myCards")]);
  show(
    h("h2", {}, "My boards"),
    h(
      "ul",
      {},
      boards.map((board) => h("li", {}, h("a", { href: `#/boards/${board.id}` }, board.name))),
    ),
    form({ name: { placeholder: "name of a new board" } }, "Make a board", async ({ name }) => {
      const id = await act("createBoard", { name, columns: ["To do", "Doing", "Done"] });
      location.hash = `/boards/${id}`;
    }),
    h("h2", {}, "My cards"),
    h(
      "ul",
      {},
      cards.map(({ card, board, column }) =>
        h("li", {}, h("a", { href: `#/cards/${card.id}` }, card.title), h("small", {}, ` ${board}, ${column}`)),
      ),
    ),
  );
}

async function showBoard(id) {
  const [board, changes] = await Promise.all([act("board", { id }), act("activity", { board: id })]);
  show(
    h("h2", {}, board.name),
    h("small", {}, board.members.join(", ")),
    form({ name: { placeholder: "name" } }, "Invite", ({ name }) => change("invite", { board: id, name })()),
    h(
      "div",
      { className: "columns" },
      board.columns.map((column, number) =>
        h(
          "section",
          {},
          h("b", {}, column.name, column.limit === 0 ? "" : ` (at most ${column.limit})`),
          column.cards.map((card) => cardLine(card, number, board.columns.length)),
          form({ title: { placeholder: "a new card" } }, "Add", ({ title }) =>
            change("addCard", { board: id, column: number, title })(),
          ),
        ),
      ),
    ),
    h("h2", {}, "Activity"),
    h(
      "ul",
      {},
      changes.map((entry) => h("li", {}, `${entry.who} ${entry.what} `, h("small", {}, ago(entry.at)))),
    ),
  );
}

function cardLine(card, column, columns) {
  const move = (label, to) => action(label, change("moveCard", { card: card.id, column: to }));
  return h(
    "article",
    {},
    h("a", { href: `#/cards/${card.id}` }, card.title),
    h("small", {}, ` ${card.assignees.join(", ")}`),
    h(
      "div",
      { className: "row" },
      column > 0 ? move("◀", column - 1) : null,
      column < columns - 1 ? move("▶", column + 1) : null,
    ),
  );
}

async function showCard(id) {
  const { card, html, comments } = await act("card", { id });
  show(
    h("p", {}, h("a", { href: `#/boards/${card.board}` }, "To the board")),
    h("h2", {}, card.title),
    // The handler has made it safe: lib/markup.ts.
    h("div", { innerHTML: html }),
    card.column < 0 ? h("p", {}, "In the archive.") : cardForms(card),
    comments.map((comment) =>
      h("article", {}, h("small", {}, `${comment.author} ${ago(comment.at)}`), h("div", { innerHTML: comment.html })),
    ),
  );
}

function cardForms(card) {
  const me = session().name;
  const edit = form(
    {
      title: { value: card.title },
      text: { placeholder: "text", type: "textarea" },
    },
    "Save",
    ({ title, text }) => change("editCard", { card: card.id, version: card.version, title, text })(),
  );
  edit.querySelector("textarea").value = card.text;
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
