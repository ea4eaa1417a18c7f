/** Boards: making them, their members and columns, and looking at them. Only members see or change a board. */
import { abort, ascending, now, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { addMember, columnsOf, countCards, findBoard, findColumn, membersOf, putColumn, viewCards } from "./lib/boards";
import { logChange } from "./lib/log";
import { findPerson } from "./lib/people";
import {
  ActivityPage,
  Board,
  BoardLine,
  BoardPage,
  BoardView,
  CardPage,
  Column,
  ColumnView,
  MAX_COLUMNS,
  MAX_LIMIT,
  MAX_MEMBERS,
  boards,
  changes,
  membersByName,
} from "./lib/records";

/** Cards of a column that the page of a board shows. */
const CARDS_SHOWN = 30;
const MAX_PAGE = 100;

/** Makes a board with these columns. Gives its id. */
export function createBoard(name: string, columns: string[]): string {
  const me = authenticate();
  checkName(name);
  if (columns.length < 1 || columns.length > MAX_COLUMNS) {
    abort(400, "bad_columns", `A board has 1 to ${MAX_COLUMNS} columns.`);
  }
  const made = new Board();
  made.id = `${ascending(now())}-${uuid()}`;
  made.name = name;
  boards.put(made.id, made);
  for (let i = 0; i < columns.length; i++) {
    checkName(columns[i]);
    const column = new Column();
    column.name = columns[i];
    putColumn(made.id, i, column);
  }
  addMember(made.id, me);
  logChange(made.id, me, "made the board");
  return made.id;
}

/** Makes somebody a member. Gives all members. */
export function invite(board: string, name: string): string[] {
  const me = authenticate();
  findBoard(board, me);
  findPerson(name);
  const members = membersOf(board);
  if (members.includes(name)) return members;
  if (members.length == MAX_MEMBERS) {
    abort(409, "board_full", `A board has at most ${MAX_MEMBERS} members.`);
  }
  addMember(board, name);
  logChange(board, me, `invited ${name}`);
  return membersOf(board);
}

/** Adds a column at the right. Gives its number. */
export function addColumn(board: string, name: string): i32 {
  const me = authenticate();
  checkName(name);
  findBoard(board, me);
  const number = columnsOf(board).length;
  if (number == MAX_COLUMNS) {
    abort(409, "too_many_columns", `A board has at most ${MAX_COLUMNS} columns.`);
  }
  const column = new Column();
  column.name = name;
  putColumn(board, number, column);
  logChange(board, me, `added the column ${name}`);
  return number;
}

/** Says how many cards a column may hold, 0 for no limit; aborts with 409 if it holds more. */
export function limitColumn(board: string, column: i32, limit: i32): void {
  const me = authenticate();
  if (limit < 0 || limit > MAX_LIMIT) {
    abort(400, "bad_limit", `A limit is 1 to ${MAX_LIMIT}, or 0 for none.`);
  }
  findBoard(board, me);
  const limited = findColumn(board, column);
  const count = limit > 0 ? countCards(board, column) : 0;
  if (count > limit) {
    abort(409, "column_full", `The column "${limited.name}" holds ${count} cards.`);
  }
  limited.limit = limit;
  putColumn(board, column, limited);
  logChange(board, me, `set the limit of ${limited.name} to ${limit}`);
}

/** A board with its columns, and the cards at the top of each. */
export function board(id: string): BoardView {
  const found = findBoard(id, authenticate());
  const view = new BoardView();
  view.id = found.id;
  view.name = found.name;
  view.members = membersOf(id);
  const columns = columnsOf(id);
  for (let i = 0; i < columns.length; i++) {
    const shown = new ColumnView();
    shown.name = columns[i].name;
    shown.limit = columns[i].limit;
    shown.cards = viewCards(id, i, null, CARDS_SHOWN);
    view.columns.push(shown);
  }
  return view;
}

/** Cards of a column, from top to bottom; `after`: those below a page. */
export function cards(board: string, column: i32, after: string | null = null, limit: i32 = CARDS_SHOWN): CardPage {
  findBoard(board, authenticate());
  return viewCards(board, column, after, limit);
}

/** Changes of a board, the newest first; `before`: the page before it. */
export function activity(board: string, before: string | null = null, limit: i32 = 20): ActivityPage {
  findBoard(board, authenticate());
  let range = changes.prefix(board + "/");
  if (before != null) range = range.before(before);
  const most = max(1, min(limit, MAX_PAGE));
  const rows = range.last(most);
  const page = new ActivityPage();
  for (const row of rows) page.changes.push(row.value);
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

/** The boards of which the caller is a member; `after`: those behind a page. */
export function myBoards(after: string | null = null, limit: i32 = 20): BoardPage {
  const all = membersByName.equal(authenticate());
  const most = max(1, min(limit, MAX_PAGE));
  const rows = after == null ? all.first(most) : all.after(after).first(most);
  const page = new BoardPage();
  for (const row of rows) {
    const found = boards.get(row.value.board);
    if (found == null) continue;
    const line = new BoardLine();
    line.id = found.id;
    line.name = found.name;
    page.boards.push(line);
  }
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

function checkName(name: string): void {
  if (name.trim().length == 0 || name.length > 100) {
    abort(400, "bad_name", "The name of a board or a column has 1 to 100 characters.");
  }
}
