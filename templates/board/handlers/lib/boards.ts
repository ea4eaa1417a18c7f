/** Boards and their columns: which is meant, who may see it, and where cards are. */
import { abort } from "@radical/sdk";
import { isId } from "./accounts";
import { Board, Card, Column, MAX_CARDS, boards, cards, columns } from "./records";

/** The board `id`, if `name` is a member; for everybody else there is no such board. */
export function findBoard(id: string, name: string): Board {
  const board = isId(id) ? boards.get(id) : null;
  if (board == null || !board.members.includes(name)) {
    abort(404, "no_such_board", `You have no board "${id}".`);
  }
  return board;
}

/** The card `id`, if `name` is a member of its board; for everybody else there is no such card. */
export function findCard(id: string, name: string): Card {
  const card = isId(id) ? cards.get(id) : null;
  if (card == null) {
    abort(404, "no_such_card", `You have no card "${id}".`);
  }
  const board = boards.get(card.board);
  if (board == null || !board.members.includes(name)) {
    abort(404, "no_such_card", `You have no card "${id}".`);
  }
  return card;
}

/** The same for a card that is to be changed: aborts with 409 if it is in the archive. */
export function findOpenCard(id: string, name: string): Card {
  const card = findCard(id, name);
  if (card.column < 0) {
    abort(409, "archived", "The card is in the archive.");
  }
  return card;
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

/** Puts a card at a place counted from 0, or at the end if that is -1; aborts with 409 if the column is full. */
export function insertCard(column: Column, card: string, at: i32): void {
  const limit = column.limit == 0 ? MAX_CARDS : column.limit;
  if (column.cards.length >= limit) {
    abort(409, "column_full", `The column "${column.name}" has its ${limit} cards.`);
  }
  const place = at < 0 ? column.cards.length : min(at, column.cards.length);
  column.cards.push(card);
  for (let i = column.cards.length - 1; i > place; i--) column.cards[i] = column.cards[i - 1];
  column.cards[place] = card;
}

export function removeCard(column: Column, card: string): void {
  column.cards.splice(column.cards.indexOf(card), 1);
}

function columnKey(board: string, number: i32): string {
  return board + "/" + number.toString();
}
