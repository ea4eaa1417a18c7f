/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Counter, Index, Table } from "@radical/sdk";

/** The part that its author wrote: it never changes. */
export class Story {
  id: string = "";
  author: string = "";
  title: string = "";
  /** The page that it links to; empty for a text of the author's own. */
  url: string = "";
  text: string = "";
  at: i64 = 0;
}

/** The votes and comments of others on a story. */
export class Tally {
  ups: i32 = 0;
  downs: i32 = 0;
  comments: i32 = 0;
}

/** A comment. Its id begins with the id of the comment that it answers. */
export class Comment {
  id: string = "";
  author: string = "";
  text: string = "";
  at: i64 = 0;
  ups: i32 = 0;
  downs: i32 = 0;
}

export class Member {
  name: string = "";
  joinedAt: i64 = 0;
}

/** How somebody has voted: 1 or -1. */
export class Vote {
  value: i32 = 0;
}

/**
 * The newest stories, at most {@link FRONT_LENGTH}, the hottest first as of a minute: lib/front.ts. All of it is written and read at
 * once, so it is one item.
 */
export class Front {
  /** Since 1970. */
  minute: i64 = 0;
  places: Place[] = [];
}

/** A story's place on the front page, and the figures that it was given it for. */
export class Place {
  story: string = "";
  at: i64 = 0;
  score: i32 = 0;
  comments: i32 = 0;
  heat: f64 = 0;
}

/** A story as it is shown in a list. */
export class StoryView {
  id: string = "";
  author: string = "";
  title: string = "";
  url: string = "";
  at: i64 = 0;
  score: i32 = 0;
  comments: i32 = 0;
}

/** A comment as it is shown, in the order of reading: each is followed by what answers it. */
export class CommentView {
  id: string = "";
  author: string = "";
  html: string = "";
  at: i64 = 0;
  score: i32 = 0;
  depth: i32 = 0;
}

export class StoryPage {
  story: StoryView = new StoryView();
  html: string = "";
  comments: CommentView[] = [];
  /** Give it as `after` for the comments behind them; null at the end. */
  next: string | null = null;
}

/** Stories in the order of their times, the newest first. */
export class StoryList {
  stories: StoryView[] = [];
  /** Give it as `before` for the stories behind them; null at the end. */
  next: string | null = null;
}

export class MemberView {
  name: string = "";
  karma: i32 = 0;
  joinedAt: i64 = 0;
}

export const FRONT_LENGTH = 60;
export const MAX_DEPTH = 8;

/** By id, which begins with the time. */
export const stories = new Table<Story>("stories");
/** The stories of somebody, in the order of their times. */
export const storiesByAuthor = new Index<Story>(stories, "author");
/** By id of the story; a story that nobody has voted on or answered has none. */
export const tallies = new Table<Tally>("tallies");
/** By `id of the story/id`. */
export const comments = new Table<Comment>("comments");
/** By name. */
export const members = new Table<Member>("members");
/** By name of the member. */
export const karma = new Counter("karma");
/** By `id of the story/name`, or `id of the story/id of the comment/name`. */
export const votes = new Table<Vote>("votes");
/** Of the last two minutes: lib/front.ts. */
export const fronts = new Table<Front>("fronts");
