/** Boards and their columns: which is meant, who may see it, and where cards are. */
import { abort } from "@radical/sdk";
import { atEnd, between } from "./order";
import {
  Board,
  Card,
  CardPage,
  Column,
  MAX_COLUMNS,
  MAX_MEMBERS,
  Placed,
  boards,
  cards,
  columns,
  members,
  placed,
} from "./records";

const MOST_CARDS = 100;

/** The board `id`, if `name` is a member; for everybody else there is no such board. */
export function findBoard(id: string, name: string): Board {
  const board = isKey(id) && isMember(id, name) ? boards.get(id) : null;
  if (board == null) {
    abort(404, "no_such_board", `You have no board "${id}".`);
  }
  return board;
}

/** The card `id`, if `name` is a member of its board; for everybody else there is no such card. */
export function findCard(id: string, name: string): Card {
  const card = isKey(id) ? cards.get(id) : null;
  if (card == null || !isMember(card.board, name)) {
    abort(404, "no_such_card", `You have no card "${id}".`);
  }
  return card;
}

/** A card that is to be changed, as `findCard` finds it; aborts with 409 if it is in the archive. */
export function findOpenCard(id: string, name: string): Card {
  const card = findCard(id, name);
  if (card.column < 0) {
    abort(409, "archived", "The card is in the archive.");
  }
  return card;
}

/** Looks at all members, as the page of the board does: wherever somebody has seen the board, a location knows them. */
export function isMember(board: string, name: string): bool {
  return membersOf(board).includes(name);
}

/** Makes somebody a member. */
export function addMember(board: string, name: string): void {
  members.put(board + "/" + name, { board, name });
}

/** The names of all members. */
export function membersOf(board: string): string[] {
  return members
    .prefix(board + "/")
    .first(MAX_MEMBERS)
    .map((row) => row.value.name);
}

/** The columns of a board, from left to right. */
export function columnsOf(board: string): Column[] {
  return columns
    .prefix(board + "/")
    .first(MAX_COLUMNS)
    .map((row) => row.value);
}

/** A column of a board; aborts with 404 if there is none. */
export function findColumn(board: string, number: i32): Column {
  const column = columns.get(columnKey(board, number));
  if (column == null) {
    abort(404, "no_such_column", `The board has no column ${number}.`);
  }
  return column;
}

export function putColumn(board: string, number: i32, column: Column): void {
  columns.put(columnKey(board, number), column);
}

/**
 * Puts a card at a place of its column, counted from 0; -1 is the end. Aborts with 409 if the column is full. The caller stores the
 * card.
 */
export function placeCard(card: Card, column: Column, at: i32): void {
  const all = placed.prefix(columnKey(card.board, card.column) + "/");
  if (column.limit > 0 && all.count() >= column.limit) {
    abort(409, "column_full", `The column "${column.name}" has its ${column.limit} cards.`);
  }
  card.position = atEnd();
  if (at >= 0) {
    const rows = all.first(min(at, MOST_CARDS) + 1);
    if (rows.length > at) {
      const before = at == 0 ? "" : positionOf(rows[at - 1].key);
      card.position = between(before, positionOf(rows[at].key));
    }
  }
  const place = new Placed();
  place.card = card.id;
  placed.put(placeKey(card), place);
}

/** Takes a card out of its column. */
export function removeCard(card: Card): void {
  placed.delete(placeKey(card));
}

/** How many cards a column has. */
export function countCards(board: string, column: i32): i32 {
  return placed.prefix(columnKey(board, column) + "/").count();
}

/** The cards of a column, from top to bottom; `after`: those below a page. */
export function viewCards(board: string, column: i32, after: string | null, limit: i32): CardPage {
  let range = placed.prefix(columnKey(board, column) + "/");
  if (after != null) range = range.after(after);
  const most = max(1, min(limit, MOST_CARDS));
  const rows = range.first(most);
  const page = new CardPage();
  for (const row of rows) {
    const card = cards.get(row.value.card);
    if (card != null) page.cards.push(card);
  }
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

function placeKey(card: Card): string {
  return columnKey(card.board, card.column) + "/" + card.position;
}

function positionOf(key: string): string {
  return key.substring(key.lastIndexOf("/") + 1);
}

function isKey(text: string): bool {
  return text.length > 0 && text.length <= 100;
}

/** Two digits, so that keys are in the order of the numbers. */
function columnKey(board: string, number: i32): string {
  return board + "/" + number.toString().padStart(2, "0");
}
