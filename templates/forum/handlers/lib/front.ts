/**
 * The front page. Each vote and each comment changes the rank of some story, and everybody reads the front page: if it was
 * ranked anew each time, no location could have it for long. So it is ranked now and then, by who votes or comments; a new
 * story is on it at once. When nobody has ranked it for a while not much is happening, and whoever reads it ranks for
 * themselves: it is never older than {@link RANKED_FOR_MS}.
 */
import { now } from "@radical/sdk";
import { heat } from "./ranking";
import { FRONT, FRONT_LENGTH, Front, Place, Story, fronts, tallies } from "./records";

const RANKED_EVERY_MS: i64 = 30_000;
const RANKED_FOR_MS: i64 = 60_000;

/** As it is to be shown; `fresh`: by the votes and comments of this moment, however lately it was ranked. */
export function shownFront(fresh: bool): Front {
  const front = currentFront();
  if (fresh || now() - front.rankedAt >= RANKED_FOR_MS) rank(front);
  return front;
}

/** For whoever has changed a tally. */
export function keepFrontRanked(): void {
  const front = currentFront();
  if (now() - front.rankedAt < RANKED_EVERY_MS) return;
  rank(front);
  fronts.put(FRONT, front);
}

/** A new story takes its place, the oldest one leaves. */
export function addToFront(story: Story): void {
  const front = currentFront();
  if (front.places.length == FRONT_LENGTH) {
    let oldest = 0;
    for (let i = 1; i < front.places.length; i++) {
      if (front.places[i].at < front.places[oldest].at) oldest = i;
    }
    front.places.splice(oldest, 1);
  }
  const place = new Place();
  place.story = story.id;
  place.at = story.at;
  place.heat = heat(0, 0, story.at);
  front.places.push(place);
  sort(front);
  fronts.put(FRONT, front);
}

function currentFront(): Front {
  const front = fronts.get(FRONT);
  return front == null ? new Front() : front;
}

function rank(front: Front): void {
  for (let i = 0; i < front.places.length; i++) {
    const place = front.places[i];
    const tally = tallies.get(place.story);
    if (tally == null) continue;
    place.score = tally.ups - tally.downs;
    place.comments = tally.comments;
    place.heat = heat(place.score, place.comments, place.at);
  }
  sort(front);
  front.rankedAt = now();
}

function sort(front: Front): void {
  front.places.sort((a, b) => (b.heat > a.heat ? 1 : b.heat < a.heat ? -1 : 0));
}
