/** Cards: adding, moving, editing, assigning, commenting and archiving them. */
import { abort, ascending, now, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { findBoard, findCard, findColumn, findOpenCard, isMember, placeCard, removeCard } from "./lib/boards";
import { logChange } from "./lib/log";
import { renderText } from "./lib/markup";
import {
  Card,
  CardView,
  Comment,
  CommentPage,
  MyCard,
  MyCardPage,
  assignments,
  boards,
  cards,
  comments as commentTable,
} from "./lib/records";

const COMMENTS_SHOWN = 20;
const MAX_PAGE = 100;

/** Adds a card at the bottom of a column. Gives its id. */
export function addCard(board: string, column: i32, title: string, text: string = ""): string {
  const me = authenticate();
  checkText(title, text);
  findBoard(board, me);
  const added = new Card();
  added.id = `${ascending(now())}-${uuid()}`;
  added.board = board;
  added.column = column;
  added.title = title;
  added.text = text;
  const target = findColumn(board, column);
  placeCard(added, target, -1);
  cards.put(added.id, added);
  logChange(board, me, `added "${title}"`, added.id);
  return added.id;
}

/** Moves a card to a place of a column, counted from 0, or to its end. Aborts with 409 if the column is full. */
export function moveCard(card: string, column: i32, at: i32 = -1): void {
  const me = authenticate();
  const moved = findOpenCard(card, me);
  const target = findColumn(moved.board, column);
  removeCard(moved);
  moved.column = column;
  placeCard(moved, target, at);
  cards.put(card, moved);
  logChange(moved.board, me, `moved "${moved.title}" to ${target.name}`, card);
}

/** Changes title and text of the version that the caller has seen; aborts with 409 if somebody was faster. Gives the version. */
export function editCard(card: string, version: i32, title: string, text: string): i32 {
  const me = authenticate();
  checkText(title, text);
  const edited = findOpenCard(card, me);
  if (edited.version != version) {
    abort(409, "changed_meanwhile", `The card is at version ${edited.version}.`);
  }
  edited.title = title;
  edited.text = text;
  edited.version += 1;
  cards.put(card, edited);
  logChange(edited.board, me, `edited "${title}"`, card);
  return edited.version;
}

/** Assigns a card to a member. Gives all to whom it is assigned. */
export function assign(card: string, name: string): string[] {
  const me = authenticate();
  const assigned = findOpenCard(card, me);
  if (!isMember(assigned.board, name)) {
    abort(409, "no_member", `"${name}" is no member of the board.`);
  }
  if (!assigned.assignees.includes(name)) {
    assigned.assignees.push(name);
    cards.put(card, assigned);
    assignments.put(name + "/" + card, { card });
    logChange(assigned.board, me, `assigned "${assigned.title}" to ${name}`, card);
  }
  return assigned.assignees;
}

/** Takes a card from somebody. Gives all to whom it is assigned. */
export function unassign(card: string, name: string): string[] {
  const me = authenticate();
  const assigned = findOpenCard(card, me);
  const at = assigned.assignees.indexOf(name);
  if (at >= 0) {
    assigned.assignees.splice(at, 1);
    cards.put(card, assigned);
    assignments.delete(name + "/" + card);
    logChange(assigned.board, me, `took "${assigned.title}" from ${name}`, card);
  }
  return assigned.assignees;
}

/** Takes a card out of its column, and from all to whom it is assigned. It can still be seen. */
export function archiveCard(card: string): void {
  const me = authenticate();
  const archived = findOpenCard(card, me);
  removeCard(archived);
  for (const name of archived.assignees) assignments.delete(name + "/" + card);
  archived.assignees = [];
  archived.column = -1;
  cards.put(card, archived);
  logChange(archived.board, me, `archived "${archived.title}"`, card);
}

/** Says something about a card. Gives the id of the comment. */
export function comment(card: string, text: string): string {
  const me = authenticate();
  if (text.trim().length == 0 || text.length > 2000) {
    abort(400, "bad_text", "A comment has 1 to 2000 characters.");
  }
  const commented = findOpenCard(card, me);
  const made = new Comment();
  made.id = `${ascending(now())}-${uuid()}`;
  made.author = me;
  made.html = renderText(text);
  made.at = now();
  commentTable.put(card + "/" + made.id, made);
  logChange(commented.board, me, `commented on "${commented.title}"`, card);
  return made.id;
}

/** A card, and the newest comments on it. */
export function card(id: string): CardView {
  const view = new CardView();
  view.card = findCard(id, authenticate());
  view.html = renderText(view.card.text);
  view.comments = viewComments(id, null, COMMENTS_SHOWN);
  return view;
}

/** Comments on a card, the newest first: those before a cursor of `card` or of an earlier page. */
export function comments(card: string, before: string | null = null, limit: i32 = 20): CommentPage {
  findCard(card, authenticate());
  return viewComments(card, before, limit);
}

/** Cards that are assigned to the caller, on whatever board; `after`: those behind a page. */
export function myCards(after: string | null = null, limit: i32 = 50): MyCardPage {
  let range = assignments.prefix(authenticate() + "/");
  if (after != null) range = range.after(after);
  const most = max(1, min(limit, MAX_PAGE));
  const rows = range.first(most);
  const page = new MyCardPage();
  for (const row of rows) {
    const found = cards.get(row.value.card);
    if (found == null) continue;
    const board = boards.get(found.board);
    const mine = new MyCard();
    mine.card = found;
    mine.board = board == null ? "" : board.name;
    mine.column = findColumn(found.board, found.column).name;
    page.cards.push(mine);
  }
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

function viewComments(card: string, before: string | null, limit: i32): CommentPage {
  let range = commentTable.prefix(card + "/");
  if (before != null) range = range.before(before);
  const most = max(1, min(limit, MAX_PAGE));
  const rows = range.last(most);
  const page = new CommentPage();
  for (const row of rows) page.comments.push(row.value);
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

function checkText(title: string, text: string): void {
  if (title.trim().length == 0 || title.length > 200) {
    abort(400, "bad_title", "A card has a title of 1 to 200 characters.");
  }
  if (text.length > 5000) {
    abort(400, "bad_text", "The text of a card has at most 5000 characters.");
  }
}
