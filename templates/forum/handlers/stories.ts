/** What everybody may read. */
import { abort } from "@radical/sdk";
import { isName } from "./lib/accounts";
import { renderText } from "./lib/markup";
import { FRONT, Member, Story, StoryPage, StoryView, fronts, members, stories } from "./lib/records";
import { addComments, findStory, viewStory } from "./lib/stories";

const PAGE_LENGTH = 20;

/** A page of the newest stories, the hottest first; pages are counted from 0. */
export function homepage(page: i32 = 0): StoryView[] {
  const front = fronts.get(FRONT);
  const ranking: Story[] = [];
  if (front != null) {
    for (let i = 0; i < front.stories.length; i++) {
      const story = stories.get(front.stories[i]);
      if (story != null) ranking.push(story);
    }
  }
  ranking.sort((a, b) => (b.heat > a.heat ? 1 : b.heat < a.heat ? -1 : 0));
  const views: StoryView[] = [];
  const first = max(0, min(page, 100)) * PAGE_LENGTH;
  for (let i = first; i < ranking.length && i < first + PAGE_LENGTH; i++) views.push(viewStory(ranking[i]));
  return views;
}

/** A story with all its comments. */
export function view(story: string): StoryPage {
  const found = findStory(story);
  const page = new StoryPage();
  page.story = viewStory(found);
  page.html = renderText(found.text);
  addComments(page.comments, found.answers);
  return page;
}

export function member(name: string): Member {
  const found = isName(name) ? members.get(name) : null;
  if (found == null) {
    abort(404, "no_such_member", `There is nobody called "${name}".`);
  }
  return found;
}
