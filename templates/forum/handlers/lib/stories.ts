/** Stories: which is meant, and how they are shown. */
import { abort } from "@radical/sdk";
import { isId } from "./accounts";
import { renderText } from "./markup";
import { Comment, CommentView, Story, StoryView, Tally, comments, stories, tallies } from "./records";
import { confidence } from "./ranking";

/** The story `id`; aborts with 404 if there is none. */
export function findStory(id: string): Story {
  const story = isId(id) ? stories.get(id) : null;
  if (story == null) {
    abort(404, "no_such_story", `There is no story "${id}".`);
  }
  return story;
}

export function tallyOf(story: string): Tally {
  const tally = tallies.get(story);
  return tally == null ? new Tally() : tally;
}

export function viewStory(story: Story, score: i32, comments: i32): StoryView {
  const view = new StoryView();
  view.id = story.id;
  view.author = story.author;
  view.title = story.title;
  view.url = story.url;
  view.at = story.at;
  view.score = score;
  view.comments = comments;
  return view;
}

/** Adds the comments `ids` to `views`, the best first, each with all that answers it. */
export function addComments(views: CommentView[], ids: string[]): void {
  const found: Comment[] = [];
  for (let i = 0; i < ids.length; i++) {
    const comment = comments.get(ids[i]);
    if (comment != null) found.push(comment);
  }
  found.sort((a, b) => {
    const better = confidence(b.ups, b.downs) - confidence(a.ups, a.downs);
    return better > 0 ? 1 : better < 0 ? -1 : 0;
  });
  for (let i = 0; i < found.length; i++) {
    const comment = found[i];
    const view = new CommentView();
    view.id = comment.id;
    view.author = comment.author;
    view.html = renderText(comment.text);
    view.at = comment.at;
    view.score = comment.ups - comment.downs;
    view.depth = comment.depth;
    views.push(view);
    addComments(views, comment.answers);
  }
}
