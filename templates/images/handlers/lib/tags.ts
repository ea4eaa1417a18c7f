/** Tags, and the other words for them. */
import { abort } from "@radical/sdk";
import { isName } from "./accounts";
import { Image, MAX_TAGS, tagCounts, words } from "./records";
import { addToSet } from "./sets";

/** A tag has 1 to 40 lowercase letters, digits, `_`, `(` and `)`. */
export function isTag(text: string): bool {
  if (text.length < 1 || text.length > 40) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const letter = code >= 97 && code <= 122;
    const digit = code >= 48 && code <= 57;
    if (!letter && !digit && code != 95 && code != 40 && code != 41) return false;
  }
  return true;
}

/** The tag that is meant by a word; aborts with 400 if it can't be one. */
export function tagMeantBy(text: string): string {
  if (!isTag(text)) {
    abort(400, "bad_tag", `"${text}" is no tag: 1 to 40 lowercase letters, digits, _, ( and ).`);
  }
  const word = words.get(text);
  return word == null || word.means == "" ? text : word.means;
}

/** The set of images that is meant by a word of a search: those with a tag, or, as `fav:ada`, somebody's favourites. */
export function setMeantBy(text: string): string {
  if (text.startsWith("fav:") && isName(text.substring(4))) return text;
  return tagMeantBy(text);
}

/** Gives tags to an image, which is stored by the caller. */
export function addTags(image: Image, tags: string[]): void {
  for (let i = 0; i < tags.length; i++) {
    const tag = tagMeantBy(tags[i]);
    if (image.tags.includes(tag)) continue;
    if (image.tags.length == MAX_TAGS) {
      abort(409, "too_many_tags", `An image has at most ${MAX_TAGS} tags.`);
    }
    image.tags.push(tag);
    addToSet(tag, image.id);
    tagCounts.add(tag, 1);
  }
}
