/** Records as they are shown. */
import { Table } from "@radical/sdk";
import { Follow, PeoplePage, Post, PostPage, PostView, posts, timelines } from "./records";
import { renderText } from "./markup";

const MOST_POSTS = 50;
const MOST_NAMES = 200;

export function viewPost(post: Post): PostView {
  const view = new PostView();
  view.id = post.id;
  view.author = post.author;
  view.html = renderText(post.text);
  view.at = post.at;
  view.likes = post.likes;
  return view;
}

/** Posts of one person, the newest first; `before`: the page before it. */
export function viewPostsOf(author: string, before: string | null, limit: i32): PostPage {
  let range = posts.prefix(author + "/");
  if (before != null) range = range.before(before);
  const most = lengthOf(limit);
  const rows = range.last(most);
  const page = new PostPage();
  for (const row of rows) page.posts.push(viewPost(row.value));
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

/** Posts on somebody's timeline, the newest first; `before`: the page before it. */
export function viewTimelineOf(reader: string, before: string | null, limit: i32): PostPage {
  let range = timelines.prefix(reader + "/");
  if (before != null) range = range.before(before);
  const most = lengthOf(limit);
  const rows = range.last(most);
  const page = new PostPage();
  for (const row of rows) {
    const post = posts.get(row.value.post);
    if (post != null) page.posts.push(viewPost(post));
  }
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

/** The second parts of the keys `name/…`; `after`: those behind a page. */
export function viewNames(follows: Table<Follow>, name: string, after: string | null, limit: i32): PeoplePage {
  let range = follows.prefix(name + "/");
  if (after != null) range = range.after(after);
  const most = max(1, min(limit, MOST_NAMES));
  const rows = range.first(most);
  const page = new PeoplePage();
  for (const row of rows) page.names.push(row.key.substring(name.length + 1));
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

function lengthOf(limit: i32): i32 {
  return max(1, min(limit, MOST_POSTS));
}
