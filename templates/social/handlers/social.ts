/** Following, posting, reading and liking: everything done by somebody who is logged in. */
import { abort, ascending, now, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { findPerson } from "./lib/people";
import {
  Follow,
  Like,
  MOST_FOLLOWERS,
  Post,
  PostPage,
  TimelineEntry,
  followers,
  following,
  likes,
  posts,
  timelines,
} from "./lib/records";
import { viewTimelineOf } from "./lib/views";

const MOST_ASKED = 100;

/**
 * Follows `name`: their new posts come to the caller's timeline. Gives the number of their followers.
 * @speculative
 */
export function follow(name: string): i32 {
  const me = authenticate();
  if (me == name) {
    abort(400, "own_name", "Nobody follows themselves.");
  }
  findPerson(name);
  const all = followers.prefix(name + "/");
  if (!followers.has(name + "/" + me)) {
    if (all.count() == MOST_FOLLOWERS) {
      abort(409, "too_popular", `${name} has ${MOST_FOLLOWERS} followers, and there is no room for more.`);
    }
    const follow = new Follow();
    follow.at = now();
    followers.put(name + "/" + me, follow);
    following.put(me + "/" + name, follow);
  }
  return all.count();
}

/**
 * Ends following `name`. Gives the number of their followers.
 * @speculative
 */
export function unfollow(name: string): i32 {
  const me = authenticate();
  findPerson(name);
  followers.delete(name + "/" + me);
  following.delete(me + "/" + name);
  return followers.prefix(name + "/").count();
}

/** Publishes a post to the timelines of the author and of everybody who follows them. Gives its id. */
export function post(text: string): string {
  const me = authenticate();
  if (text.trim().length == 0 || text.length > 2000) {
    abort(400, "bad_text", "A post has 1 to 2000 characters.");
  }
  const created = new Post();
  const place = `${ascending(now())}-${uuid()}`;
  created.id = `${me}/${place}`;
  created.author = me;
  created.text = text;
  created.at = now();
  posts.put(created.id, created);

  const entry = new TimelineEntry();
  entry.post = created.id;
  timelines.put(`${me}/${place}`, entry);
  for (const row of followers.prefix(me + "/").first(MOST_FOLLOWERS)) {
    const reader = row.key.substring(me.length + 1);
    timelines.put(`${reader}/${place}`, entry);
  }
  return created.id;
}

/** Posts of those whom the caller follows, and the caller's own, the newest first; `before`: the page before it. */
export function timeline(before: string | null = null, limit: i32 = 20): PostPage {
  return viewTimelineOf(authenticate(), before, limit);
}

/**
 * Likes a post, once. Gives the number of its likes.
 * @speculative
 */
export function like(id: string): i32 {
  const me = authenticate();
  const liked = findPost(id);
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

/**
 * Takes a like back. Gives the number of likes that the post has left.
 * @speculative
 */
export function unlike(id: string): i32 {
  const me = authenticate();
  const liked = findPost(id);
  const key = id + "/" + me;
  if (likes.has(key)) {
    likes.delete(key);
    liked.likes -= 1;
    posts.put(id, liked);
  }
  return liked.likes;
}

/** Which of these posts the caller likes, in their order. */
export function myLikes(ids: string[]): bool[] {
  const me = authenticate();
  if (ids.length > MOST_ASKED) {
    abort(400, "too_many_posts", `A call is about at most ${MOST_ASKED} posts.`);
  }
  const mine: bool[] = [];
  for (const id of ids) mine.push(isPostId(id) && likes.has(id + "/" + me));
  return mine;
}

/** The post `id`; aborts with 404 if there is none. */
function findPost(id: string): Post {
  const post = isPostId(id) ? posts.get(id) : null;
  if (post == null) {
    abort(404, "no_such_post", `There is no post "${id}".`);
  }
  return post;
}

function isPostId(id: string): bool {
  return id.length > 0 && id.length <= 100;
}
