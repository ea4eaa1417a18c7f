/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Blob, Counter, Index, Table, ascending } from "@radical/sdk";

/** An image, without what changes all the time. They are numbered from 1 in the order of their uploads, and never deleted. */
export class Image {
  id: i32 = 0;
  uploader: string = "";
  /** Where it is, if it is not `picture`. */
  url: string = "";
  /** Its bytes, if somebody has put them here. */
  picture: Blob | null = null;
  width: i32 = 0;
  height: i32 = 0;
  at: i64 = 0;
  /** In the order in which they were given. */
  tags: string[] = [];
}

/** How somebody has voted: 1 or -1. */
export class Vote {
  value: i32 = 0;
}

/** Another word for a tag, or a tag that has other words for it. */
export class Word {
  /** The tag that is meant; empty if this is a tag itself. */
  means: string = "";
  /** How many other words there are for this tag. */
  others: i32 = 0;
}

export class Comment {
  id: string = "";
  author: string = "";
  html: string = "";
  at: i64 = 0;
}

/** Comments on an image, the newest first. */
export class CommentPage {
  comments: Comment[] = [];
  /** Give it as `before` for the comments behind them; null at the end. */
  next: string | null = null;
}

/** Images in an order that somebody chose, each once. */
export class Pool {
  id: string = "";
  name: string = "";
  creator: string = "";
}

/** An image in a set or a pool. */
export class Member {
  image: i32 = 0;
}

export class TagCount {
  tag: string = "";
  count: i32 = 0;
}

export class ImagePage {
  image: Image = new Image();
  /** Votes in favour, less those against. */
  score: i32 = 0;
  /** How many people have it among their favourites. */
  favourites: i32 = 0;
  tags: TagCount[] = [];
  comments: CommentPage = new CommentPage();
}

/** The doings of somebody with an image. */
export class Mine {
  /** 1, -1, or 0 for none. */
  vote: i32 = 0;
  isFavourite: bool = false;
}

export class SearchPage {
  images: Image[] = [];
  /** The value of `before` for the next page; 0 at the end. */
  next: i32 = 0;
}

/** Pools, in the order of their names. */
export class PoolList {
  pools: Pool[] = [];
  /** Give it as `after` for the pools behind them; null at the end. */
  next: string | null = null;
}

export class PoolPage {
  id: string = "";
  name: string = "";
  creator: string = "";
  images: Image[] = [];
}

export const MAX_TAGS = 30;
export const MAX_POOL = 100;

/** The key of an image: keys are in the order of the numbers. */
export function imageKey(id: i32): string {
  return ascending(id);
}

/** By {@link imageKey}. */
export const images = new Table<Image>("images");
/** By `name of the set/key of the image`: lib/sets.ts. */
export const sets = new Table<Member>("sets");
/** How many images have a tag, by the tag. */
export const tagCounts = new Counter("tagCounts");
/** The last number, of `images`. */
export const numbers = new Counter("numbers");
/** Votes in favour of an image, less those against, by {@link imageKey}. */
export const scores = new Counter("scores");
/** How many people have an image among their favourites, by {@link imageKey}. */
export const favouriteCounts = new Counter("favouriteCounts");
/** By `key of the image/name`. */
export const votes = new Table<Vote>("votes");
/** By the word. */
export const words = new Table<Word>("words");
/** By `key of the image/id`. */
export const comments = new Table<Comment>("comments");
/** By id. */
export const pools = new Table<Pool>("pools");
export const poolsByName = new Index<Pool>(pools, "name");
/** By `id of the pool/position`: lib/order.ts. */
export const pooled = new Table<Member>("pooled");
