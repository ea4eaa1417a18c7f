/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Table } from "@radical/sdk";

export class Person {
  name: string = "";
  /** Ids of the boards of which they are members, the newest last. */
  boards: string[] = [];
  /** Ids of the cards that are assigned to them, the newest last. */
  cards: string[] = [];
}

export class Board {
  id: string = "";
  name: string = "";
  /** Names; the first has made the board. */
  members: string[] = [];
  /** How many columns it has. They are numbered from 0, from left to right. */
  columns: i32 = 0;
}

export class Column {
  name: string = "";
  /** How many cards it may hold; 0 for as many as a column can. */
  limit: i32 = 0;
  /** Ids, from top to bottom. */
  cards: string[] = [];
}

export class Card {
  id: string = "";
  board: string = "";
  /** The number of its column; -1 in the archive. */
  column: i32 = 0;
  title: string = "";
  text: string = "";
  /** Counts the edits of title and text. */
  version: i32 = 1;
  /** Names of members. */
  assignees: string[] = [];
  comments: i32 = 0;
}

export class Comment {
  author: string = "";
  html: string = "";
  at: i64 = 0;
}

/** The comments on a card, the newest first, at most {@link COMMENTS_KEPT}. */
export class Talk {
  comments: Comment[] = [];
}

/** Something that was done to a board. */
export class Change {
  /** Changes of a board are numbered from 1. */
  number: i32 = 0;
  who: string = "";
  what: string = "";
  /** Id; empty if it was about no card. */
  card: string = "";
  at: i64 = 0;
}

/** What was done to a board, the newest first, at most {@link CHANGES_KEPT}. */
export class Log {
  count: i32 = 0;
  changes: Change[] = [];
}

export class ColumnView {
  name: string = "";
  limit: i32 = 0;
  cards: Card[] = [];
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
  comments: Comment[] = [];
}

/** A card among those of one person. */
export class MyCard {
  card: Card = new Card();
  board: string = "";
  column: string = "";
}

export const MAX_COLUMNS = 12;
export const MAX_CARDS = 100;
export const MAX_MEMBERS = 50;
export const COMMENTS_KEPT = 100;
export const CHANGES_KEPT = 100;

/** By name. */
export const people = new Table<Person>("people");
/** By id. */
export const boards = new Table<Board>("boards");
/** By `board id/number`. */
export const columns = new Table<Column>("columns");
/** By id. */
export const cards = new Table<Card>("cards");
/** By card id. */
export const talks = new Table<Talk>("talks");
/** By board id. */
export const logs = new Table<Log>("logs");
