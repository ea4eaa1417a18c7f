/** Open to everybody: searching, one image's page, somebody's favourites. */
import { abort } from "@radical/sdk";
import { isName } from "./lib/accounts";
import { findImage } from "./lib/find";
import {
  CommentPage,
  ImagePage,
  SearchPage,
  TagCount,
  comments as commentTable,
  favouriteCounts,
  imageKey,
  scores,
  tagCounts,
} from "./lib/records";
import { favouritesOf, intersect, newest, newestOf } from "./lib/sets";
import { setMeantBy } from "./lib/tags";

const MAX_TERMS = 6;
const MAX_PAGE = 50;
const COMMENTS_SHOWN = 20;

/**
 * The images that have all of these tags, and none of those with a `-` before them, the newest first. `fav:ada` is for
 * the favourites of ada. A page can be short, or empty: there are more if its `next` is not 0.
 */
export function search(tags: string[], before: i32 = 0, limit: i32 = 20): SearchPage {
  if (tags.length > MAX_TERMS) {
    abort(400, "too_many_tags", `A search is for at most ${MAX_TERMS} tags.`);
  }
  const wanted: string[] = [];
  const unwanted: string[] = [];
  for (let i = 0; i < tags.length; i++) {
    if (tags[i].startsWith("-")) unwanted.push(setMeantBy(tags[i].substring(1)));
    else wanted.push(setMeantBy(tags[i]));
  }
  const most = max(1, min(limit, MAX_PAGE));
  if (wanted.length + unwanted.length == 0) return newest(before, most);
  if (wanted.length == 1 && unwanted.length == 0) return newestOf(wanted[0], before, most);
  return intersect(wanted, unwanted, before, most);
}

/** An image with its score, its tags with the number of images that have each, and what is said about it. */
export function image(id: i32): ImagePage {
  const page = new ImagePage();
  page.image = findImage(id);
  page.score = <i32>scores.get(imageKey(id));
  page.favourites = <i32>favouriteCounts.get(imageKey(id));
  for (let i = 0; i < page.image.tags.length; i++) {
    const entry = new TagCount();
    entry.tag = page.image.tags[i];
    entry.count = <i32>tagCounts.get(entry.tag);
    page.tags.push(entry);
  }
  page.comments = viewComments(id, null, COMMENTS_SHOWN);
  return page;
}

/** Comments on an image, the newest first: those before a cursor of `image` or of an earlier page. */
export function comments(image: i32, before: string | null = null, limit: i32 = 20): CommentPage {
  findImage(image);
  return viewComments(image, before, limit);
}

/** Somebody's favourites, the newest image first. */
export function favourites(name: string, before: i32 = 0, limit: i32 = 20): SearchPage {
  if (!isName(name)) {
    abort(404, "no_such_person", `There is nobody called "${name}".`);
  }
  return newestOf(favouritesOf(name), before, max(1, min(limit, MAX_PAGE)));
}

/** Comments on an image, the newest first; `before`: the page before it. */
function viewComments(image: i32, before: string | null, limit: i32): CommentPage {
  let range = commentTable.prefix(imageKey(image) + "/");
  if (before != null) range = range.before(before);
  const most = max(1, min(limit, MAX_PAGE));
  const rows = range.last(most);
  const page = new CommentPage();
  for (const row of rows) page.comments.push(row.value);
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}
