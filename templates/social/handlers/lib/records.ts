/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Table } from "@radical/sdk";

export class Person {
  name: string = "";
  bio: string = "";
  joinedAt: i64 = 0;
  /** Names, in the order in which they came. */
  followers: string[] = [];
  following: string[] = [];
  /** Ids of this person's posts, the newest first. */
  posts: string[] = [];
}

export class Post {
  id: string = "";
  author: string = "";
  text: string = "";
  at: i64 = 0;
  likes: i32 = 0;
}

/** One line of a timeline: enough to find the post. */
export class TimelineEntry {
  post: string = "";
  author: string = "";
}

export class Timeline {
  /** The newest first, at most {@link TIMELINE_LENGTH}. */
  entries: TimelineEntry[] = [];
}

export class Like {
  at: i64 = 0;
}

/** A post as it is shown. */
export class PostView {
  id: string = "";
  author: string = "";
  html: string = "";
  at: i64 = 0;
  likes: i32 = 0;
}

export class ProfileView {
  name: string = "";
  bio: string = "";
  joinedAt: i64 = 0;
  followers: i32 = 0;
  following: i32 = 0;
  posts: PostView[] = [];
}

export const TIMELINE_LENGTH = 50;

/** By name. */
export const people = new Table<Person>("people");
/** By post id. */
export const posts = new Table<Post>("posts");
/** By the name of its reader. */
export const timelines = new Table<Timeline>("timelines");
/** By `post id/name`. */
export const likes = new Table<Like>("likes");
