/** What everybody may see: searching, one image's page, somebody's favourites. */
import { abort } from "@radical/sdk";
import { isName } from "./lib/accounts";
import { findImage } from "./lib/find";
import { ImagePage, SearchPage, TagCount, talks } from "./lib/records";
import { ALL, favouritesOf, intersect, sizeOfSet } from "./lib/sets";
import { setMeantBy } from "./lib/tags";

const MAX_TERMS = 6;
const MAX_PAGE = 50;

/**
 * The images that have all of these tags, and none of those that are written with a `-` before them, the newest first;
 * `fav:ada` is for the favourites of ada. A page can be short, or empty: there are more if its `next` is not 0.
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
  if (wanted.length == 0) wanted.push(ALL);
  return intersect(wanted, unwanted, before, max(1, min(limit, MAX_PAGE)));
}

/** An image, its tags with the number of images that have each, and what is said about it. */
export function image(id: i32): ImagePage {
  const page = new ImagePage();
  page.image = findImage(id);
  for (let i = 0; i < page.image.tags.length; i++) {
    const entry = new TagCount();
    entry.tag = page.image.tags[i];
    entry.count = sizeOfSet(entry.tag);
    page.tags.push(entry);
  }
  const talk = talks.get(id.toString());
  if (talk != null) page.comments = talk.comments;
  return page;
}

/** Somebody's favourites, the newest image first. */
export function favourites(name: string, before: i32 = 0, limit: i32 = 20): SearchPage {
  if (!isName(name)) {
    abort(404, "no_such_person", `There is nobody called "${name}".`);
  }
  return intersect([favouritesOf(name)], [], before, max(1, min(limit, MAX_PAGE)));
}
