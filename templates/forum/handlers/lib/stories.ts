/** Stories: which is meant, and how they are shown. */
import { abort } from "@radical/sdk";
import { isId } from "./accounts";
import { renderText } from "./markup";
import { Comment, CommentView, Story, StoryView, comments, members, stories } from "./records";
import { confidence, heat } from "./ranking";

/** The story `id`; aborts with 404 if there is none. */
export function findStory(id: string): Story {
  const story = isId(id) ? stories.get(id) : null;
  if (story == null) {
    abort(404, "no_such_story", `There is no story "${id}".`);
  }
  return story;
}

/** Stores a story whose votes or comments have changed, or one that is new. */
export function putStory(id: string, story: Story): void {
  story.heat = heat(story.ups - story.downs, story.comments, story.at);
  stories.put(id, story);
}

export function viewStory(story: Story): StoryView {
  const author = members.get(story.author);
  const view = new StoryView();
  view.id = story.id;
  view.author = story.author;
  view.karma = author == null ? 0 : author.karma;
  view.title = story.title;
  view.url = story.url;
  view.at = story.at;
  view.score = story.ups - story.downs;
  view.comments = story.comments;
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
