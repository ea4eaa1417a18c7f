/** What everybody may read. */
import { abort } from "@radical/sdk";
import { isName } from "./lib/accounts";
import { renderText } from "./lib/markup";
import { shownFront } from "./lib/front";
import { Member, StoryPage, StoryView, members, stories } from "./lib/records";
import { addComments, findStory, tallyOf, viewStory } from "./lib/stories";

const PAGE_LENGTH = 20;

/** A page of the newest stories, the hottest first; pages are counted from 0. What is `fresh`: lib/front.ts. */
export function homepage(page: i32 = 0, fresh: bool = false): StoryView[] {
  const places = shownFront(fresh).places;
  const views: StoryView[] = [];
  const first = max(0, min(page, 100)) * PAGE_LENGTH;
  for (let i = first; i < places.length && i < first + PAGE_LENGTH; i++) {
    const place = places[i];
    const story = stories.get(place.story);
    if (story != null) views.push(viewStory(story, place.score, place.comments));
  }
  return views;
}

/** A story with all its comments. */
export function view(story: string): StoryPage {
  const found = findStory(story);
  const page = new StoryPage();
  const tally = tallyOf(story);
  page.story = viewStory(found, tally.ups - tally.downs, tally.comments);
  page.html = renderText(found.text);
  addComments(page.comments, tally.answers);
  return page;
}

export function member(name: string): Member {
  const found = isName(name) ? members.get(name) : null;
  if (found == null) {
    abort(404, "no_such_member", `There is nobody called "${name}".`);
  }
  return found;
}
