/** Stories and lists that everybody may read. */
import { Row, abort } from "@radical/sdk";
import { isName } from "./lib/accounts";
import { renderText } from "./lib/markup";
import { shownFront } from "./lib/front";
import {
  Member,
  MemberView,
  Story,
  StoryList,
  StoryPage,
  StoryView,
  karma,
  members,
  stories,
  storiesByAuthor,
} from "./lib/records";
import { addComments, findStory, tallyOf, viewStory } from "./lib/stories";

const PAGE_LENGTH = 20;

/** A page of the newest stories, the hottest first; pages are counted from 0. lib/front.ts explains `fresh`. */
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

/** All stories, the newest first; `before`: the page before it. */
export function newest(before: string | null = null, limit: i32 = PAGE_LENGTH): StoryList {
  const most = lengthOf(limit);
  const all = stories.all();
  return listOf(before == null ? all.last(most) : all.before(before).last(most), most);
}

/** The stories of a member, the newest first; `before`: the page before it. */
export function storiesOf(name: string, before: string | null = null, limit: i32 = PAGE_LENGTH): StoryList {
  findMember(name);
  const most = lengthOf(limit);
  const all = storiesByAuthor.equal(name);
  return listOf(before == null ? all.last(most) : all.before(before).last(most), most);
}

/** A story with its comments; `after`: the comments behind a page. */
export function view(story: string, after: string | null = null): StoryPage {
  const found = findStory(story);
  const page = new StoryPage();
  const tally = tallyOf(story);
  page.story = viewStory(found, tally.ups - tally.downs, tally.comments);
  page.html = renderText(found.text);
  addComments(page, story, after);
  return page;
}

export function member(name: string): MemberView {
  const found = findMember(name);
  const view = new MemberView();
  view.name = found.name;
  view.joinedAt = found.joinedAt;
  view.karma = <i32>karma.get(name);
  return view;
}

/** The member called `name`; aborts with 404 if there is none. */
function findMember(name: string): Member {
  const member = isName(name) ? members.get(name) : null;
  if (member == null) {
    abort(404, "no_such_member", `There is nobody called "${name}".`);
  }
  return member;
}

function lengthOf(limit: i32): i32 {
  return max(1, min(limit, 50));
}

/** A page of at most `most` stories. */
function listOf(rows: Row<Story>[], most: i32): StoryList {
  const list = new StoryList();
  for (const row of rows) {
    const tally = tallyOf(row.key);
    list.stories.push(viewStory(row.value, tally.ups - tally.downs, tally.comments));
  }
  if (rows.length == most) list.next = rows[rows.length - 1].cursor;
  return list;
}
