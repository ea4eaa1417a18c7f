/**
 * The front page: the newest stories, the hottest first. Each vote and each comment changes the rank of some story, and everybody
 * reads the front page. If it was ranked anew each time, no location could have it for long. So it is ranked now and then, by
 * whoever votes, comments or posts, and a new story waits for that. When nobody has ranked it for a while, whoever reads it ranks
 * for themselves: it is never older than {@link RANKED_FOR_MS}.
 */
import { now } from "@radical/sdk";
import { heat } from "./ranking";
import { FRONT, FRONT_LENGTH, Front, Place, Story, Tally, fronts, stories } from "./records";
import { tallyOf } from "./stories";

const RANKED_EVERY_MS: i64 = 60_000;
const RANKED_FOR_MS: i64 = 90_000;

/** As it is to be shown; `fresh`: by the votes, comments and stories of this moment, however lately it was ranked. */
export function shownFront(fresh: bool): Front {
  const front = currentFront();
  return fresh || now() - front.rankedAt >= RANKED_FOR_MS ? ranked() : front;
}

/** For whoever has changed a tally, or posted a story. */
export function keepFrontRanked(): void {
  if (now() - currentFront().rankedAt >= RANKED_EVERY_MS) fronts.put(FRONT, ranked());
}

function currentFront(): Front {
  const front = fronts.get(FRONT);
  return front == null ? new Front() : front;
}

function ranked(): Front {
  const front = new Front();
  front.rankedAt = now();
  for (const row of stories.all().last(FRONT_LENGTH)) front.places.push(placeOf(row.value, tallyOf(row.key)));
  front.places.sort((a, b) => (b.heat > a.heat ? 1 : b.heat < a.heat ? -1 : 0));
  return front;
}

function placeOf(story: Story, tally: Tally): Place {
  const place = new Place();
  place.story = story.id;
  place.at = story.at;
  place.score = tally.ups - tally.downs;
  place.comments = tally.comments;
  place.heat = heat(place.score, place.comments, place.at);
  return place;
}
