/**
 * Sets of images: those with a tag, somebody's favourites, all. A set is kept on shelves, one for each range of numbers,
 * so that no item grows without bound, and so that sets are intersected one range after the other.
 */
import { Image, ImageSet, SearchPage, Shelf, images, sets, shelves } from "./records";

/** The set of all images. No tag is called so. */
export const ALL = "*";
/** How many numbers one shelf is for. */
const RANGE = 500;
/** How many ranges are searched for one page at most. */
const RANGES_PER_PAGE = 8;

/** The set of somebody's favourites. */
export function favouritesOf(name: string): string {
  return "fav:" + name;
}

/** Puts an image into a set. False if it is there. */
export function addToSet(name: string, image: i32): bool {
  const range = image / RANGE;
  const shelf = findShelf(name, range);
  const at = placeOf(shelf.images, image);
  if (at < shelf.images.length && shelf.images[at] == image) return false;
  insert(shelf.images, at, image);
  shelves.put(shelfKey(name, range), shelf);

  const set = findSet(name);
  set.count += 1;
  const place = placeOf(set.shelves, range);
  if (place == set.shelves.length || set.shelves[place] != range) insert(set.shelves, place, range);
  sets.put(name, set);
  return true;
}

/** Takes an image out of a set. False if it is not there. */
export function removeFromSet(name: string, image: i32): bool {
  const range = image / RANGE;
  const shelf = findShelf(name, range);
  const at = shelf.images.indexOf(image);
  if (at < 0) return false;
  shelf.images.splice(at, 1);

  const set = findSet(name);
  set.count -= 1;
  if (shelf.images.length > 0) {
    shelves.put(shelfKey(name, range), shelf);
  } else {
    shelves.delete(shelfKey(name, range));
    set.shelves.splice(set.shelves.indexOf(range), 1);
  }
  sets.put(name, set);
  return true;
}

export function sizeOfSet(name: string): i32 {
  return findSet(name).count;
}

/** The newest images before `before` (0: from the end) that are in all of the sets `wanted` and in none of `unwanted`. */
export function intersect(wanted: string[], unwanted: string[], before: i32, limit: i32): SearchPage {
  const page = new SearchPage();
  // Where the smallest set has nothing there is nothing.
  let smallest = findSet(wanted[0]);
  for (let i = 1; i < wanted.length; i++) {
    const set = findSet(wanted[i]);
    if (set.count < smallest.count) smallest = set;
  }
  let searched = 0;
  for (let i = 0; i < smallest.shelves.length; i++) {
    const range = smallest.shelves[i];
    if (before > 0 && range * RANGE >= before) continue;
    if (searched == RANGES_PER_PAGE) {
      page.next = (range + 1) * RANGE;
      return page;
    }
    searched += 1;
    const found = inRange(wanted, unwanted, range);
    for (let j = 0; j < found.length; j++) {
      if (before > 0 && found[j] >= before) continue;
      if (page.images.length == limit) {
        page.next = found[j] + 1;
        return page;
      }
      const image = images.get(found[j].toString());
      if (image != null) page.images.push(image);
    }
  }
  return page;
}

function inRange(wanted: string[], unwanted: string[], range: i32): i32[] {
  let found = findShelf(wanted[0], range).images;
  for (let i = 1; i < wanted.length; i++) found = keep(found, findShelf(wanted[i], range).images, true);
  for (let i = 0; i < unwanted.length; i++) found = keep(found, findShelf(unwanted[i], range).images, false);
  return found;
}

/** Those of `list` that are in `other`, or those that are not. Both are in descending order, and so is the result. */
function keep(list: i32[], other: i32[], common: bool): i32[] {
  const kept: i32[] = [];
  let at = 0;
  for (let i = 0; i < list.length; i++) {
    while (at < other.length && other[at] > list[i]) at++;
    const inBoth = at < other.length && other[at] == list[i];
    if (inBoth == common) kept.push(list[i]);
  }
  return kept;
}

function findSet(name: string): ImageSet {
  const set = sets.get(name);
  return set == null ? new ImageSet() : set;
}

function findShelf(name: string, range: i32): Shelf {
  const shelf = shelves.get(shelfKey(name, range));
  return shelf == null ? new Shelf() : shelf;
}

function shelfKey(name: string, range: i32): string {
  return name + "/" + range.toString();
}

/** Where `value` is in a descending list, or where it would be. */
function placeOf(list: i32[], value: i32): i32 {
  let at = 0;
  while (at < list.length && list[at] > value) at++;
  return at;
}

export function insert(list: i32[], at: i32, value: i32): void {
  list.push(value);
  for (let i = list.length - 1; i > at; i--) list[i] = list[i - 1];
  list[at] = value;
}
