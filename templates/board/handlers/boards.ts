/** Boards: making them, their members and columns, and looking at them. Only members see or change a board. */
import { abort, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { findBoard, findColumn, putColumn } from "./lib/boards";
import { logChange } from "./lib/log";
import { findPerson } from "./lib/people";
import {
  Board,
  BoardLine,
  BoardView,
  Change,
  Column,
  ColumnView,
  MAX_CARDS,
  MAX_COLUMNS,
  MAX_MEMBERS,
  boards,
  cards,
  logs,
  people,
} from "./lib/records";

/** Makes a board with these columns. Gives its id. */
export function createBoard(token: string, name: string, columns: string[]): string {
  const me = authenticate(token);
  checkName(name);
  if (columns.length < 1 || columns.length > MAX_COLUMNS) {
    abort(400, "bad_columns", `A board has 1 to ${MAX_COLUMNS} columns.`);
  }
  const made = new Board();
  made.id = uuid();
  made.name = name;
  made.members.push(me);
  made.columns = columns.length;
  boards.put(made.id, made);
  for (let i = 0; i < columns.length; i++) {
    checkName(columns[i]);
    const column = new Column();
    column.name = columns[i];
    putColumn(made.id, i, column);
  }
  const maker = findPerson(me);
  maker.boards.push(made.id);
  people.put(me, maker);
  logChange(made.id, me, "made the board");
  return made.id;
}

/** Makes somebody a member. Gives all members. */
export function invite(token: string, board: string, name: string): string[] {
  const me = authenticate(token);
  const joined = findBoard(board, me);
  const person = findPerson(name);
  if (!joined.members.includes(name)) {
    if (joined.members.length == MAX_MEMBERS) {
      abort(409, "board_full", `A board has at most ${MAX_MEMBERS} members.`);
    }
    joined.members.push(name);
    boards.put(board, joined);
    person.boards.push(board);
    people.put(name, person);
    logChange(board, me, `invited ${name}`);
  }
  return joined.members;
}

/** Adds a column at the right. Gives its number. */
export function addColumn(token: string, board: string, name: string): i32 {
  const me = authenticate(token);
  checkName(name);
  const extended = findBoard(board, me);
  if (extended.columns == MAX_COLUMNS) {
    abort(409, "too_many_columns", `A board has at most ${MAX_COLUMNS} columns.`);
  }
  const column = new Column();
  column.name = name;
  const number = extended.columns;
  putColumn(board, number, column);
  extended.columns += 1;
  boards.put(board, extended);
  logChange(board, me, `added the column ${name}`);
  return number;
}

/** Says how many cards a column may hold, 0 for no limit; aborts with 409 if it holds more. */
export function limitColumn(token: string, board: string, column: i32, limit: i32): void {
  const me = authenticate(token);
  if (limit < 0 || limit > MAX_CARDS) {
    abort(400, "bad_limit", `A limit is 1 to ${MAX_CARDS}, or 0 for none.`);
  }
  findBoard(board, me);
  const limited = findColumn(board, column);
  if (limit > 0 && limited.cards.length > limit) {
    abort(409, "column_full", `The column "${limited.name}" holds ${limited.cards.length} cards.`);
  }
  limited.limit = limit;
  putColumn(board, column, limited);
  logChange(board, me, `set the limit of ${limited.name} to ${limit}`);
}

/** A board with its columns and all cards in them. */
export function board(token: string, id: string): BoardView {
  const found = findBoard(id, authenticate(token));
  const view = new BoardView();
  view.id = found.id;
  view.name = found.name;
  view.members = found.members;
  for (let i = 0; i < found.columns; i++) {
    const column = findColumn(id, i);
    const shown = new ColumnView();
    shown.name = column.name;
    shown.limit = column.limit;
    for (let j = 0; j < column.cards.length; j++) {
      const card = cards.get(column.cards[j]);
      if (card != null) shown.cards.push(card);
    }
    view.columns.push(shown);
  }
  return view;
}

/** The last changes of a board, the newest first. */
export function activity(token: string, board: string, limit: i32 = 20): Change[] {
  findBoard(board, authenticate(token));
  const log = logs.get(board);
  return log == null ? [] : log.changes.slice(0, max(0, limit));
}

/** The boards of which the caller is a member. */
export function myBoards(token: string): BoardLine[] {
  const me = findPerson(authenticate(token));
  const lines: BoardLine[] = [];
  for (let i = 0; i < me.boards.length; i++) {
    const found = boards.get(me.boards[i]);
    if (found == null) continue;
    const line = new BoardLine();
    line.id = found.id;
    line.name = found.name;
    lines.push(line);
  }
  return lines;
}

function checkName(name: string): void {
  if (name.trim().length == 0 || name.length > 100) {
    abort(400, "bad_name", "The name of a board or a column has 1 to 100 characters.");
  }
}
