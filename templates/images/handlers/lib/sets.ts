/**
 * Sets of images: those with a tag, and somebody's favourites. An image in a set is a row, and the rows of a set are a range in the
 * order of the images' numbers.
 */
import { Row } from "@radical/sdk";
import { Member, SearchPage, imageKey, images, sets } from "./records";

/** How many images of each set one page of a search looks at. */
const WALKED = 100;

/** The set of somebody's favourites. */
export function favouritesOf(name: string): string {
  return "fav:" + name;
}

/** Puts an image into a set. False if it is there. */
export function addToSet(name: string, image: i32): bool {
  const key = memberKey(name, image);
  if (sets.has(key)) return false;
  const member = new Member();
  member.image = image;
  sets.put(key, member);
  return true;
}

/** Takes an image out of a set. False if it is not there. */
export function removeFromSet(name: string, image: i32): bool {
  const key = memberKey(name, image);
  if (!sets.has(key)) return false;
  sets.delete(key);
  return true;
}

export function isInSet(name: string, image: i32): bool {
  return sets.has(memberKey(name, image));
}

export function isEmptySet(name: string): bool {
  return sets.prefix(name + "/").first(1).length == 0;
}

/** The newest images of all, before `before` (0: from the end). */
export function newest(before: i32, limit: i32): SearchPage {
  let range = images.all();
  if (before > 0) range = range.before(imageKey(before));
  const page = new SearchPage();
  for (const row of range.last(limit)) page.images.push(row.value);
  if (page.images.length == limit) page.next = page.images[limit - 1].id;
  return page;
}

/** The newest images of one set, before `before` (0: from the end). */
export function newestOf(name: string, before: i32, limit: i32): SearchPage {
  const rows = walk(name, before, limit);
  const page = new SearchPage();
  for (const row of rows) {
    const image = images.get(imageKey(row.value.image));
    if (image != null) page.images.push(image);
  }
  if (rows.length == limit) page.next = rows[limit - 1].value.image;
  return page;
}

/** The newest images before `before` (0: from the end) that are in all of the sets `wanted`, and in none of `unwanted`. */
export function intersect(wanted: string[], unwanted: string[], before: i32, limit: i32): SearchPage {
  let found = wanted.length == 0 ? numbersBefore(before) : numbersOf(walk(wanted[0], before, WALKED));
  let floor = floorOf(found);
  for (let i = 1; i < wanted.length; i++) {
    const others = numbersOf(walk(wanted[i], before, WALKED));
    floor = max(floor, floorOf(others));
    found = keep(found, others, true);
  }
  for (let i = 0; i < unwanted.length; i++) {
    const others = numbersOf(walk(unwanted[i], before, WALKED));
    floor = max(floor, floorOf(others));
    found = keep(found, others, false);
  }
  const page = new SearchPage();
  page.next = floor;
  for (let i = 0; i < found.length && found[i] >= floor; i++) {
    if (page.images.length == limit) {
      page.next = found[i] + 1;
      return page;
    }
    const image = images.get(imageKey(found[i]));
    if (image != null) page.images.push(image);
  }
  return page;
}

function walk(name: string, before: i32, most: i32): Row<Member>[] {
  const range = sets.prefix(name + "/");
  return before > 0 ? range.before(memberKey(name, before)).last(most) : range.last(most);
}

function numbersBefore(before: i32): i32[] {
  const numbers: i32[] = [];
  const range = before > 0 ? images.all().before(imageKey(before)) : images.all();
  for (const row of range.last(WALKED)) numbers.push(row.value.id);
  return numbers;
}

function numbersOf(rows: Row<Member>[]): i32[] {
  const numbers: i32[] = [];
  for (const row of rows) numbers.push(row.value.image);
  return numbers;
}

/** The number down to which a set was looked at; 0 if that is all of it. */
function floorOf(walked: i32[]): i32 {
  return walked.length < WALKED ? 0 : walked[walked.length - 1];
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

function memberKey(name: string, image: i32): string {
  return name + "/" + imageKey(image);
}
