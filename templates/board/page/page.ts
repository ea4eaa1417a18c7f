/** The pages of the boards. */
import {
  type BoardView,
  type Card,
  type CardPage,
  type Change,
  type Comment,
  type CommentPage,
  type MyCard,
  createClient,
} from "#radical";
import "./kit/kit.css";
import "./page.css";
import { me, rethrow, startPage } from "./kit/account.ts";
import { action, attempt, form } from "./kit/actions.ts";
import { type View, openApp } from "./kit/app.ts";
import { type Child, ago, arrange, avatar, h, marked, titled } from "./kit/elements.ts";
import { type Page, pages, watch } from "./kit/live.ts";
import { isDevelopment, send } from "./kit/strip.ts";

const client = createClient({ fetch: send });
const { live } = client;

/** In the seed. */
const SEEDED = ["ada", "grace", "alan"];

function person(name: string): HTMLElement {
  return h("span", {}, avatar(name, "tiny"), titled(name));
}

function start(): View {
  const people = SEEDED.map((name) => ({ name, words: "Builds the analytical engine." }));
  // Nobody sees anything before they log in, so the page can't know whether the seed is there.
  const seed = isDevelopment()
    ? h("p", { className: "quiet" }, "If nobody is known here, run ", h("code", {}, "npx radical data seed"), ".")
    : null;
  return {
    title: "Board",
    content: [...startPage(client, "See what is to be done.", people), seed],
    className: "narrow",
  };
}

// ── The reader's own boards and cards ────────────────────────────────────────────────────────────────────────────────

interface Entry extends MyCard {
  readonly id: string;
}

async function mine(): Promise<View> {
  const loadBoards = async (after: string | null): Promise<Page<{ readonly id: string; readonly name: string }>> => {
    const { boards, next } = await client.myBoards({ after });
    return { entries: boards, next };
  };
  const loadCards = async (after: string | null): Promise<Page<Entry>> => {
    const { cards, next } = await client.myCards({ after });
    return { entries: cards.map((found) => ({ id: found.card.id, ...found })), next };
  };
  const [boards, cards] = await Promise.all([loadBoards(null), loadCards(null)]);
  const boardList = pages(
    loadBoards,
    ({ id, name }) => h("li", {}, h("a", { href: `#/boards/${id}` }, h("b", {}, name))),
    undefined,
    h("ul", { className: "lines" }),
  );
  const cardList = pages(loadCards, cardLine, undefined, h("ul", { className: "lines" }));
  boardList.begin(boards);
  cardList.begin(cards);
  return {
    title: "Board",
    content: [
      h("h1", {}, "Yours"),
      h(
        "div",
        { className: "mine" },
        h(
          "section",
          {},
          h("h2", {}, "Boards"),
          boards.entries.length > 0
            ? null
            : h("p", { className: "empty" }, "You have no board yet. Make the first one."),
          boardList.element,
          form(
            { name: { label: "Name of a new board", quiet: true, placeholder: "name of a new board" } },
            "Make a board",
            async ({ name }) => {
              const id = await client.createBoard({ name, columns: ["To do", "Doing", "Done"] }).catch(rethrow);
              location.hash = `#/boards/${id}`;
            },
            { className: "inline" },
          ),
        ),
        h(
          "section",
          {},
          h("h2", {}, "Cards"),
          cards.entries.length > 0 ? null : h("p", { className: "empty" }, "No card is assigned to you."),
          cardList.element,
        ),
      ),
    ],
  };
}

function cardLine({ card, board, column }: Entry): HTMLElement {
  return h(
    "li",
    {},
    h("a", { href: `#/cards/${card.id}` }, h("b", {}, card.title)),
    h("span", { className: "quiet" }, `${board}, ${column}`),
  );
}

// ── One board ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A board changes while it is looked at: those who work on it see each other's moves. */
async function boardPage(id: string): Promise<View> {
  const loadChanges = async (before: string | null): Promise<Page<Change>> => {
    const { changes, next } = await client.activity({ board: id, before });
    return { entries: changes, next };
  };
  const [first, changes] = await Promise.all([client.board({ id }), loadChanges(null)]);
  const activity = pages(loadChanges, changeView, undefined, h("ul", { className: "lines" }));
  activity.begin(changes);
  const members = h("p", { className: "members" });
  const columns = h("div", { className: "columns-of" });
  let lists: readonly ColumnList[] = [];
  const update = (board: BoardView): void => {
    members.replaceChildren(...board.members.map(person));
    // Columns are added at the right, and what somebody types into one stays.
    const added = board.columns.slice(lists.length).map((_, i) => columnList(board, lists.length + i));
    lists = [...lists, ...added];
    columns.append(...added.map(({ element }) => element));
    for (const [number, list] of lists.entries()) list.show(board.columns[number]!.cards);
  };
  update(first);
  return {
    title: first.name,
    content: [
      h("h1", {}, first.name),
      members,
      columns,
      h(
        "div",
        { className: "mine" },
        h("section", {}, h("h2", {}, "Activity"), activity.element),
        h(
          "section",
          {},
          h("h2", {}, "Invite somebody"),
          form(
            { name: { label: "Name of somebody", quiet: true, placeholder: "their name" } },
            "Invite",
            ({ name }) => client.invite({ board: id, name }).catch(rethrow),
            { className: "inline" },
          ),
        ),
      ),
    ],
    begin: () =>
      watch(
        (options) => live.board({ id }, options),
        (board) => {
          update(board);
          void attempt(async () => activity.begin(await loadChanges(null)));
        },
      ),
  };
}

interface ColumnList {
  readonly element: HTMLElement;
  readonly show: (page: CardPage) => void;
}

/** The cards of a column, and a way to those below them. */
function columnList(board: BoardView, number: number): ColumnList {
  const { name, limit } = board.columns[number]!;
  const list = h("div", { className: "list" });
  let next: string | null = null;
  // An element for each state of a card, so that one that has not changed stays: somebody may be on it with the keyboard.
  const made = new Map<string, HTMLElement>();
  const view = (card: Card): HTMLElement => {
    const state = JSON.stringify(card);
    const element = made.get(state) ?? cardView(card, number, board);
    made.set(state, element);
    return element;
  };
  const more = action("More", async () => {
    const page = await client.cards({ board: board.id, column: number, after: next });
    list.append(...page.cards.map(view));
    next = page.next;
    more.hidden = next === null;
  });
  const show = (page: CardPage): void => {
    arrange(list, page.cards.map(view));
    next = page.next;
    more.hidden = next === null;
  };
  return {
    show,
    element: h(
      "section",
      { className: "column" },
      h("h2", {}, name, limit === 0 ? null : h("span", { className: "quiet" }, `at most ${limit}`)),
      list,
      h("p", { className: "more" }, more),
      form(
        { title: { label: `New card in ${name}`, quiet: true, placeholder: "a new card" } },
        "Add",
        ({ title }) => client.addCard({ board: board.id, column: number, title }).catch(rethrow),
        { className: "inline" },
      ),
    ),
  };
}

function cardView({ id, title, assignees }: Card, column: number, { columns }: BoardView): HTMLElement {
  const move = (label: string, to: number, className: string): Child =>
    columns[to] === undefined
      ? null
      : action(label, () => client.moveCard({ card: id, column: to }).catch(rethrow), {
          className: `button small ${className}`,
          ariaLabel: `${label} Move ${title} to ${columns[to].name}`,
          title: `Move to ${columns[to].name}`,
        });
  return h(
    "article",
    { className: "card" },
    h("a", { href: `#/cards/${id}` }, title),
    assignees.length === 0 ? null : h("p", { className: "people-of" }, assignees.map(person)),
    h("div", { className: "moves" }, move("←", column - 1, ""), move("→", column + 1, "right")),
  );
}

function changeView({ who, what, at }: Change): HTMLElement {
  return h("li", {}, h("span", {}, h("b", {}, titled(who)), ` ${what}`), h("span", { className: "quiet" }, ago(at)));
}

// ── One card ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function commentsOf({ comments, next }: CommentPage): Page<Comment> {
  return { entries: comments, next };
}

/** Its comments come by themselves. Its text stays as it is, so that two people who edit it hear of each other. */
async function cardPage(id: string): Promise<View> {
  const { card, html, comments } = await client.card({ id });
  const list = pages((before) => client.comments({ card: id, before }).then(commentsOf), commentView);
  list.begin(commentsOf(comments));
  return {
    title: card.title,
    className: "about",
    content: [
      h("p", {}, h("a", { className: "link", href: `#/boards/${card.board}` }, "To the board")),
      h("h1", {}, card.title),
      card.text === "" ? null : h("div", { className: "text" }, marked(html) as unknown as Node),
      ...(card.column < 0 ? [h("p", { className: "quiet" }, "In the archive.")] : cardForms(card)),
      h("h2", {}, "Comments"),
      card.column < 0 ? null : commentForm(id),
      list.element,
    ],
    begin: () =>
      watch(
        (options) => live.card({ id }, options),
        (shown) => list.begin(commentsOf(shown.comments)),
      ),
  };
}

/** Shows the page anew after a change. */
function change(work: () => Promise<unknown>): () => Promise<void> {
  return async () => {
    await work().catch(rethrow);
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
}

function cardForms({ id, version, title, text, assignees }: Card): readonly Child[] {
  const reader = me() ?? "";
  return [
    h(
      "div",
      { className: "acts some" },
      assignees.map((name) =>
        action(
          [avatar(name, "tiny"), titled(name), " ×"],
          change(() => client.unassign({ card: id, name })),
          {
            className: "button small",
            ariaLabel: `${titled(name)} × take it from them`,
          },
        ),
      ),
      assignees.includes(reader)
        ? null
        : action(
            [avatar(reader, "tiny"), "Assign to me"],
            change(() => client.assign({ card: id, name: reader })),
            { className: "button small" },
          ),
      action(
        "Archive",
        change(() => client.archiveCard({ card: id })),
        { className: "plain" },
      ),
    ),
    h(
      "details",
      {},
      h("summary", {}, "Edit"),
      form(
        {
          title: { label: "Title", value: title },
          text: { label: "Text", lines: 5, value: text, optional: true },
        },
        "Save",
        (edited) => change(() => client.editCard({ card: id, version, ...edited }))(),
      ),
    ),
  ];
}

function commentForm(card: string): HTMLFormElement {
  return form(
    { comment: { label: "Your comment", quiet: true, lines: 2, placeholder: "What do you say?" } },
    "Comment",
    ({ comment }) => client.comment({ card, text: comment }).catch(rethrow),
    { className: "say" },
  );
}

function commentView({ author, at, html }: Comment): HTMLElement {
  return h(
    "article",
    { className: "said" },
    avatar(author),
    h(
      "div",
      {},
      h("p", {}, h("b", {}, titled(author)), h("span", { className: "quiet" }, ` ${ago(at)}`)),
      marked(html) as unknown as Node,
    ),
  );
}

// Last: what is above is there by now.
await openApp({
  name: "Board",
  mark: [
    ["rect", { x: "2", y: "3", width: "5.6", height: "18", rx: "2", fill: "var(--accent)" }],
    ["rect", { x: "9.2", y: "3", width: "5.6", height: "11", rx: "2", fill: "var(--accent)" }],
    ["rect", { x: "16.4", y: "3", width: "5.6", height: "15", rx: "2", fill: "var(--accent)" }],
  ],
  accounts: client,
  profileOf: () => "#/",
  view: ([kind, id]) => {
    if (me() === null) return start();
    if (kind === "boards" && id !== undefined) return boardPage(id);
    return kind === "cards" && id !== undefined ? cardPage(id) : mine();
  },
});
