/** The work on an image: uploading, tagging, favouring, voting and commenting. */
import { Blob, abort, ascending, now, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { findImage } from "./lib/find";
import { renderText } from "./lib/markup";
import {
  Comment,
  Image,
  Mine,
  Word,
  comments,
  favouriteCounts,
  imageKey,
  images,
  numbers,
  scores,
  tagCounts,
  votes,
  words,
} from "./lib/records";
import { addToSet, favouritesOf, isEmptySet, isInSet, removeFromSet } from "./lib/sets";
import { addTags, isTag, tagMeantBy } from "./lib/tags";

/** Publishes a picture whose bytes were put: `src/worker.ts` says which. Gives its number. */
export function publish(picture: Blob, width: i32, height: i32, tags: string[]): i32 {
  const uploaded = new Image();
  uploaded.uploader = authenticate();
  uploaded.picture = picture;
  return addImage(uploaded, width, height, tags);
}

/** Publishes the image at `url`, which stays there. Gives its number. */
export function upload(url: string, width: i32, height: i32, tags: string[]): i32 {
  const uploaded = new Image();
  uploaded.uploader = authenticate();
  if (url.length > 500 || (!url.startsWith("https://") && !url.startsWith("/"))) {
    abort(
      400,
      "bad_url",
      "The address of an image begins with https:// or, on this site, with /, and has at most 500 characters.",
    );
  }
  uploaded.url = url;
  return addImage(uploaded, width, height, tags);
}

function addImage(uploaded: Image, width: i32, height: i32, tags: string[]): i32 {
  if (width < 1 || width > 20_000 || height < 1 || height > 20_000) {
    abort(400, "bad_size", "An image has 1 to 20000 pixels in each direction.");
  }
  if (tags.length == 0) {
    abort(400, "no_tags", "An image has at least one tag.");
  }
  numbers.add("images", 1);
  uploaded.id = <i32>numbers.get("images");
  uploaded.width = width;
  uploaded.height = height;
  uploaded.at = now();
  addTags(uploaded, tags);
  images.put(imageKey(uploaded.id), uploaded);
  return uploaded.id;
}

/** Gives tags to an image; those that it has change nothing. Gives all its tags. */
export function tag(image: i32, tags: string[]): string[] {
  authenticate();
  const tagged = findImage(image);
  addTags(tagged, tags);
  images.put(imageKey(image), tagged);
  return tagged.tags;
}

/** Takes a tag from an image, but not the last one. Gives all its tags. */
export function untag(image: i32, tag: string): string[] {
  authenticate();
  const tagged = findImage(image);
  const taken = tagMeantBy(tag);
  const at = tagged.tags.indexOf(taken);
  if (at >= 0) {
    if (tagged.tags.length == 1) {
      abort(409, "last_tag", "An image has at least one tag.");
    }
    tagged.tags.splice(at, 1);
    images.put(imageKey(image), tagged);
    removeFromSet(taken, image);
    tagCounts.add(taken, -1);
  }
  return tagged.tags;
}

/** Makes `word`, which no image has as a tag, another word for a tag, in tagging and in searching. Gives that tag. */
export function alias(word: string, tag: string): string {
  authenticate();
  if (tagMeantBy(word) != word) {
    abort(409, "word_taken", `"${word}" is another word for a tag.`);
  }
  const meant = tagMeantBy(tag);
  if (meant == word) {
    abort(400, "same_word", "A tag is no other word for itself.");
  }
  const made = findWord(word);
  if (!isEmptySet(word) || made.others > 0) {
    abort(409, "word_taken", `"${word}" is in use as a tag.`);
  }
  made.means = meant;
  words.put(word, made);
  const target = findWord(meant);
  target.others += 1;
  words.put(meant, target);
  return meant;
}

function findWord(text: string): Word {
  const word = isTag(text) ? words.get(text) : null;
  return word == null ? new Word() : word;
}

/** Puts an image among the caller's favourites. Gives the number of people who have it there. */
export function favourite(image: i32): i32 {
  const me = authenticate();
  findImage(image);
  const key = imageKey(image);
  if (addToSet(favouritesOf(me), image)) favouriteCounts.add(key, 1);
  return <i32>favouriteCounts.get(key);
}

/** Takes an image from the caller's favourites. Gives the number of people who have it there. */
export function unfavourite(image: i32): i32 {
  const me = authenticate();
  findImage(image);
  const key = imageKey(image);
  if (removeFromSet(favouritesOf(me), image)) favouriteCounts.add(key, -1);
  return <i32>favouriteCounts.get(key);
}

/** Votes for (1) or against (-1) an image, or takes the vote back (0). Gives the score. */
export function vote(image: i32, value: i32): i32 {
  const me = authenticate();
  if (value < -1 || value > 1) {
    abort(400, "bad_vote", "A vote is 1, -1 or 0.");
  }
  findImage(image);
  const key = imageKey(image);
  const mine = key + "/" + me;
  const cast = voteOf(mine);
  if (value != cast) {
    if (value == 0) votes.delete(mine);
    else votes.put(mine, { value });
    scores.add(key, value - cast);
  }
  return <i32>scores.get(key);
}

/** The vote of the caller for an image, and whether it is a favourite of theirs. */
export function mine(image: i32): Mine {
  const me = authenticate();
  findImage(image);
  const found = new Mine();
  found.vote = voteOf(imageKey(image) + "/" + me);
  found.isFavourite = isInSet(favouritesOf(me), image);
  return found;
}

/** 1, -1, or 0 for none. */
function voteOf(key: string): i32 {
  const vote = votes.get(key);
  return vote == null ? 0 : vote.value;
}

/** Says something about an image. */
export function comment(image: i32, text: string): void {
  const me = authenticate();
  if (text.trim().length == 0 || text.length > 2000) {
    abort(400, "bad_text", "A comment has 1 to 2000 characters.");
  }
  findImage(image);
  const made = new Comment();
  made.id = `${ascending(now())}-${uuid()}`;
  made.author = me;
  made.html = renderText(text);
  made.at = now();
  comments.put(imageKey(image) + "/" + made.id, made);
}
