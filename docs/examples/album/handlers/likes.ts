import { Table } from "@radical/sdk";

/** Names of those who like it, by `post/person`. */
const likes = new Table<string>("likes");

/** @speculative */
export function like(post: string, person: string): i32 {
  likes.put(`${post}/${person}`, person);
  return likes.prefix(`${post}/`).count();
}
