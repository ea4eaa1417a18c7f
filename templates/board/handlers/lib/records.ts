/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Index, Table } from "@radical/sdk";

export class Person {
  name: string = "";
}

export class Board {
  id: string = "";
  name: string = "";
}

/** Somebody who may see and change a board. */
export class Member {
  board: string = "";
  name: string = "";
}

/** They are numbered from 0, from left to right. */
export class Column {
  name: string = "";
  /** How many cards it may hold; 0 for any number. */
  limit: i32 = 0;
}

/** Where a card is in a column. */
export class Placed {
  card: string = "";
}

/** A card that is assigned to somebody. */
export class Assignment {
  card: string = "";
}

export class Card {
  id: string = "";
  board: string = "";
  /** The number of its column; -1 in the archive. */
  column: i32 = 0;
  /** In its column: lib/order.ts. */
  position: string = "";
  title: string = "";
  text: string = "";
  /** Counts the edits of title and text. */
  version: i32 = 1;
  /** Names of members. They are shown wherever the card is, so they are in its item. */
  assignees: string[] = [];
}

export class Comment {
  id: string = "";
  author: string = "";
  html: string = "";
  at: i64 = 0;
}

/** Comments on a card, the newest first. */
export class CommentPage {
  comments: Comment[] = [];
  /** Give it as `before` for the comments behind them; null at the end. */
  next: string | null = null;
}

/** Something that was done to a board. */
export class Change {
  id: string = "";
  who: string = "";
  what: string = "";
  /** Id; empty if it was about no card. */
  card: string = "";
  at: i64 = 0;
}

/** Changes of a board, the newest first. */
export class ActivityPage {
  changes: Change[] = [];
  /** Give it as `before` for the changes behind them; null at the end. */
  next: string | null = null;
}

/** Cards of a column, from top to bottom. */
export class CardPage {
  cards: Card[] = [];
  /** Give it as `after` for the cards below them; null at the end. */
  next: string | null = null;
}

export class ColumnView {
  name: string = "";
  limit: i32 = 0;
  cards: CardPage = new CardPage();
}

export class BoardView {
  id: string = "";
  name: string = "";
  members: string[] = [];
  columns: ColumnView[] = [];
}

export class BoardLine {
  id: string = "";
  name: string = "";
}

export class CardView {
  card: Card = new Card();
  html: string = "";
  comments: CommentPage = new CommentPage();
}

/** Boards of which somebody is a member, the newest last. */
export class BoardPage {
  boards: BoardLine[] = [];
  /** Give it as `after` for the boards behind them; null at the end. */
  next: string | null = null;
}

/** Cards that are assigned to somebody, the newest last. */
export class MyCardPage {
  cards: MyCard[] = [];
  /** Give it as `after` for the cards behind them; null at the end. */
  next: string | null = null;
}

/** A card among those of one person. */
export class MyCard {
  card: Card = new Card();
  board: string = "";
  column: string = "";
}

export const MAX_COLUMNS = 12;
export const MAX_LIMIT = 1_000;
export const MAX_MEMBERS = 50;

/** By name. */
export const people = new Table<Person>("people");
/** By id. */
export const boards = new Table<Board>("boards");
/** By `board id/name`. */
export const members = new Table<Member>("members");
/** The boards of somebody, in the order of their ids. */
export const membersByName = new Index<Member>(members, "name");
/** By `board id/number`. */
export const columns = new Table<Column>("columns");
/** By `board id/number of the column/position`. */
export const placed = new Table<Placed>("placed");
/** By `name/card id`. */
export const assignments = new Table<Assignment>("assignments");
/** By id. */
export const cards = new Table<Card>("cards");
/** By `card id/id`. */
export const comments = new Table<Comment>("comments");
/** By `board id/id`. */
export const changes = new Table<Change>("changes");
