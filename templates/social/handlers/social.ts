/** Following, posting, reading and liking: everything done by somebody who is logged in. */
import { abort, now, uuid } from "@radical/sdk";
import {
  Like,
  Post,
  PostView,
  TIMELINE_LENGTH,
  Timeline,
  TimelineEntry,
  likes,
  people,
  posts,
  timelines,
} from "./lib/records";
import { authenticate, isId } from "./lib/accounts";
import { findPerson } from "./lib/people";
import { viewPosts } from "./lib/views";

/**
 * Follows `name`: their new posts come to the caller's timeline. Gives the number of their followers.
 * @speculative
 */
export function follow(token: string, name: string): i32 {
  const me = authenticate(token);
  if (me == name) {
    abort(400, "own_name", "Nobody follows themselves.");
  }
  const follower = findPerson(me);
  const followed = findPerson(name);
  if (!followed.followers.includes(me)) {
    followed.followers.push(me);
    follower.following.push(name);
    people.put(name, followed);
    people.put(me, follower);
  }
  return followed.followers.length;
}

/**
 * Ends following `name`. Gives the number of their followers.
 * @speculative
 */
export function unfollow(token: string, name: string): i32 {
  const me = authenticate(token);
  const follower = findPerson(me);
  const followed = findPerson(name);
  const at = followed.followers.indexOf(me);
  if (at >= 0) {
    followed.followers.splice(at, 1);
    follower.following.splice(follower.following.indexOf(name), 1);
    people.put(name, followed);
    people.put(me, follower);
  }
  return followed.followers.length;
}

/** Publishes a post to the timelines of the author and of everybody who follows them. Gives its id. */
export function post(token: string, text: string): string {
  const me = authenticate(token);
  if (text.trim().length == 0 || text.length > 2000) {
    abort(400, "bad_text", "A post has 1 to 2000 characters.");
  }
  const author = findPerson(me);
  const created = new Post();
  created.id = uuid();
  created.author = me;
  created.text = text;
  created.at = now();
  posts.put(created.id, created);

  author.posts.unshift(created.id);
  people.put(me, author);

  deliver(created.id, me, me);
  for (let i = 0; i < author.followers.length; i++) deliver(created.id, me, author.followers[i]);
  return created.id;
}

/** Puts a post on top of a reader's timeline. */
function deliver(id: string, author: string, reader: string): void {
  let delivered = timelines.get(reader);
  if (delivered == null) delivered = new Timeline();
  const entry = new TimelineEntry();
  entry.post = id;
  entry.author = author;
  delivered.entries.unshift(entry);
  if (delivered.entries.length > TIMELINE_LENGTH) delivered.entries.pop();
  timelines.put(reader, delivered);
}

/** The newest posts of those whom the caller follows, and the caller's own. */
export function timeline(token: string, limit: i32 = 20): PostView[] {
  const me = authenticate(token);
  const ids: string[] = [];
  const found = timelines.get(me);
  if (found != null) {
    for (let i = 0; i < found.entries.length; i++) ids.push(found.entries[i].post);
  }
  return viewPosts(ids, min(limit, TIMELINE_LENGTH));
}

/**
 * Likes a post, once. Gives the number of its likes.
 * @speculative
 */
export function like(token: string, id: string): i32 {
  const me = authenticate(token);
  const liked = isId(id) ? posts.get(id) : null;
  if (liked == null) {
    abort(404, "no_such_post", `There is no post "${id}".`);
  }
  const key = id + "/" + me;
  if (!likes.has(key)) {
    const added = new Like();
    added.at = now();
    likes.put(key, added);
    liked.likes += 1;
    posts.put(id, liked);
  }
  return liked.likes;
}
