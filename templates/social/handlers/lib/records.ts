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
}

/** Somebody follows somebody, since `at`. */
export class Follow {
  at: i64 = 0;
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

/** Posts, the newest first. */
export class PostPage {
  posts: PostView[] = [];
  /** Give it as `before` for the posts behind them; null at the end. */
  next: string | null = null;
}

/** People, in the order of their names. */
export class PeoplePage {
  names: string[] = [];
  /** Give it as `after` for the names behind them; null at the end. */
  next: string | null = null;
}

export class ProfileView {
  name: string = "";
  bio: string = "";
  joinedAt: i64 = 0;
  followers: i32 = 0;
  following: i32 = 0;
  posts: PostPage = new PostPage();
}

/** A post is delivered to all followers in one transaction, so that they can't be any number. */
export const MOST_FOLLOWERS = 4_000;

/** By name. */
export const people = new Table<Person>("people");
/** By `followed/follower`. A post goes to all of them: one range. An index would have as many items more. */
export const followers = new Table<Follow>("followers");
/** By `follower/followed`. */
export const following = new Table<Follow>("following");
/** By id, which is `author/time and a random part`. */
export const posts = new Table<Post>("posts");
/** By `reader/time of the post and a random part`. */
export const timelines = new Table<TimelineEntry>("timelines");
/** By `post id/name`. */
export const likes = new Table<Like>("likes");
