/**
 * The front page: the newest stories, the hottest first. Each vote and each comment changes the rank of some story, and everybody
 * reads the front page. If it was ranked anew each time, no location could have it for long. So the first one in a minute who
 * votes, comments or posts ranks it, for those who read it in the next minute. Nobody reads what somebody is writing. Where nothing
 * has happened for a minute, whoever reads it ranks for themselves.
 */
import { now } from "@radical/sdk";
import { heat } from "./ranking";
import { FRONT_LENGTH, Front, Place, Story, Tally, fronts, stories } from "./records";
import { tallyOf } from "./stories";

const MINUTE_MS: i64 = 60_000;
/** That of the minute before, and that of this one. */
const FRONTS: i64 = 2;

/** As it is to be shown; `fresh`: by the votes, comments and stories of this moment, however lately it was ranked. */
export function shownFront(fresh: bool): Front {
  if (fresh) return ranked();
  return frontOf(thisMinute() - 1) ?? frontOf(thisMinute()) ?? ranked();
}

/** For whoever has changed a tally, or posted a story. */
export function keepFrontRanked(): void {
  if (frontOf(thisMinute()) == null) fronts.put(keyOf(thisMinute()), ranked());
}

/** The front page that was ranked in a minute, or null. */
function frontOf(minute: i64): Front | null {
  const front = fronts.get(keyOf(minute));
  return front != null && front.minute == minute ? front : null;
}

function thisMinute(): i64 {
  return now() / MINUTE_MS;
}

function keyOf(minute: i64): string {
  return (minute % FRONTS).toString();
}

function ranked(): Front {
  const front = new Front();
  front.minute = thisMinute();
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
