import { Table, abort, caller } from "@radical/sdk";

/** Names of those who like a post, by `post/person`. */
const likes = new Table<string>("likes");

/** @speculative */
export function like(post: string): i32 {
  const me = caller();
  if (me == null) abort(401, "not_signed_in", "Sign in first.");
  // So that no two pairs of post and person have one key.
  if (post.includes("/")) abort(400, "bad_post", "The id of a post has no slash.");
  likes.put(`${post}/${me}`, me);
  return likes.prefix(`${post}/`).count();
}
