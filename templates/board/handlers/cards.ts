/** Cards: adding, moving, editing, assigning, commenting and archiving them. */
import { abort, now, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { findBoard, findCard, findColumn, findOpenCard, insertCard, putColumn, removeCard } from "./lib/boards";
import { logChange } from "./lib/log";
import { renderText } from "./lib/markup";
import { findPerson } from "./lib/people";
import { COMMENTS_KEPT, Card, CardView, Comment, MyCard, Talk, boards, cards, people, talks } from "./lib/records";

/** Adds a card at the bottom of a column. Gives its id. */
export function addCard(token: string, board: string, column: i32, title: string, text: string = ""): string {
  const me = authenticate(token);
  checkText(title, text);
  findBoard(board, me);
  const added = new Card();
  added.id = uuid();
  added.board = board;
  added.column = column;
  added.title = title;
  added.text = text;
  const target = findColumn(board, column);
  insertCard(target, added.id, -1);
  putColumn(board, column, target);
  cards.put(added.id, added);
  logChange(board, me, `added "${title}"`, added.id);
  return added.id;
}

/** Moves a card to a place of a column, counted from 0, or to its end. Aborts with 409 if the column is full. */
export function moveCard(token: string, card: string, column: i32, at: i32 = -1): void {
  const me = authenticate(token);
  const moved = findOpenCard(card, me);
  const source = findColumn(moved.board, moved.column);
  removeCard(source, card);
  putColumn(moved.board, moved.column, source);
  // Reads what was just put, if the card stays in its column.
  const target = findColumn(moved.board, column);
  insertCard(target, card, at);
  putColumn(moved.board, column, target);
  moved.column = column;
  cards.put(card, moved);
  logChange(moved.board, me, `moved "${moved.title}" to ${target.name}`, card);
}

/** Changes title and text of the version that the caller has seen; aborts with 409 if somebody was faster. Gives the version. */
export function editCard(token: string, card: string, version: i32, title: string, text: string): i32 {
  const me = authenticate(token);
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
export function assign(token: string, card: string, name: string): string[] {
  const me = authenticate(token);
  const assigned = findOpenCard(card, me);
  const board = findBoard(assigned.board, me);
  if (!board.members.includes(name)) {
    abort(409, "no_member", `"${name}" is no member of the board.`);
  }
  if (!assigned.assignees.includes(name)) {
    assigned.assignees.push(name);
    cards.put(card, assigned);
    const person = findPerson(name);
    person.cards.push(card);
    people.put(name, person);
    logChange(assigned.board, me, `assigned "${assigned.title}" to ${name}`, card);
  }
  return assigned.assignees;
}

/** Takes a card from somebody. Gives all to whom it is assigned. */
export function unassign(token: string, card: string, name: string): string[] {
  const me = authenticate(token);
  const assigned = findOpenCard(card, me);
  const at = assigned.assignees.indexOf(name);
  if (at >= 0) {
    assigned.assignees.splice(at, 1);
    cards.put(card, assigned);
    takeFrom(name, card);
    logChange(assigned.board, me, `took "${assigned.title}" from ${name}`, card);
  }
  return assigned.assignees;
}

/** Takes a card out of its column, and from all to whom it is assigned. It can still be seen. */
export function archiveCard(token: string, card: string): void {
  const me = authenticate(token);
  const archived = findOpenCard(card, me);
  const column = findColumn(archived.board, archived.column);
  removeCard(column, card);
  putColumn(archived.board, archived.column, column);
  for (let i = 0; i < archived.assignees.length; i++) takeFrom(archived.assignees[i], card);
  archived.assignees = [];
  archived.column = -1;
  cards.put(card, archived);
  logChange(archived.board, me, `archived "${archived.title}"`, card);
}

function takeFrom(name: string, card: string): void {
  const person = findPerson(name);
  person.cards.splice(person.cards.indexOf(card), 1);
  people.put(name, person);
}

/** Says something about a card. Gives the number of its comments. */
export function comment(token: string, card: string, text: string): i32 {
  const me = authenticate(token);
  if (text.trim().length == 0 || text.length > 2000) {
    abort(400, "bad_text", "A comment has 1 to 2000 characters.");
  }
  const commented = findOpenCard(card, me);
  const made = new Comment();
  made.author = me;
  made.html = renderText(text);
  made.at = now();
  let talk = talks.get(card);
  if (talk == null) talk = new Talk();
  talk.comments.unshift(made);
  if (talk.comments.length > COMMENTS_KEPT) talk.comments.pop();
  talks.put(card, talk);
  commented.comments += 1;
  cards.put(card, commented);
  logChange(commented.board, me, `commented on "${commented.title}"`, card);
  return commented.comments;
}

/** A card and what is said about it. */
export function card(token: string, id: string): CardView {
  const view = new CardView();
  view.card = findCard(id, authenticate(token));
  view.html = renderText(view.card.text);
  const talk = talks.get(id);
  if (talk != null) view.comments = talk.comments;
  return view;
}

/** All cards that are assigned to the caller, on whatever board. */
export function myCards(token: string): MyCard[] {
  const me = findPerson(authenticate(token));
  const list: MyCard[] = [];
  for (let i = 0; i < me.cards.length; i++) {
    const found = cards.get(me.cards[i]);
    if (found == null) continue;
    const board = boards.get(found.board);
    const mine = new MyCard();
    mine.card = found;
    mine.board = board == null ? "" : board.name;
    mine.column = findColumn(found.board, found.column).name;
    list.push(mine);
  }
  return list;
}

function checkText(title: string, text: string): void {
  if (title.trim().length == 0 || title.length > 200) {
    abort(400, "bad_title", "A card has a title of 1 to 200 characters.");
  }
  if (text.length > 5000) {
    abort(400, "bad_text", "The text of a card has at most 5000 characters.");
  }
}
