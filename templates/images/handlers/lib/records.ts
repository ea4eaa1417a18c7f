/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Table } from "@radical/sdk";

/** An image. They are numbered from 1 in the order of their uploads, and never deleted. */
export class Image {
  id: i32 = 0;
  uploader: string = "";
  url: string = "";
  width: i32 = 0;
  height: i32 = 0;
  at: i64 = 0;
  /** In the order in which they were given. */
  tags: string[] = [];
  /** Votes in favour, less those against. */
  score: i32 = 0;
  favourites: i32 = 0;
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
  author: string = "";
  html: string = "";
  at: i64 = 0;
}

/** The comments on an image, the newest first, at most {@link COMMENTS_KEPT}. */
export class Talk {
  comments: Comment[] = [];
}

/** Images in an order that somebody chose, each once. */
export class Pool {
  id: string = "";
  name: string = "";
  creator: string = "";
  images: i32[] = [];
}

/** A set of images: lib/sets.ts. */
export class ImageSet {
  count: i32 = 0;
  /** The numbers of its shelves that hold something, the highest first. */
  shelves: i32[] = [];
}

/** The images of a set whose numbers are in one range, the highest first. */
export class Shelf {
  images: i32[] = [];
}

export class TagCount {
  tag: string = "";
  count: i32 = 0;
}

export class ImagePage {
  image: Image = new Image();
  tags: TagCount[] = [];
  comments: Comment[] = [];
}

export class SearchPage {
  images: Image[] = [];
  /** What to give as `before` for the next page; 0 at the end. */
  next: i32 = 0;
}

export class PoolPage {
  id: string = "";
  name: string = "";
  creator: string = "";
  images: Image[] = [];
}

export const COMMENTS_KEPT = 100;
export const MAX_TAGS = 30;
export const MAX_POOL = 100;

/** By number. */
export const images = new Table<Image>("images");
/** By name of the set. */
export const sets = new Table<ImageSet>("sets");
/** By `name of the set/number of the shelf`. */
export const shelves = new Table<Shelf>("shelves");
/** By `number of the image/name`. */
export const votes = new Table<Vote>("votes");
/** By the word. */
export const words = new Table<Word>("words");
/** By number of the image. */
export const talks = new Table<Talk>("talks");
/** By id. */
export const pools = new Table<Pool>("pools");
