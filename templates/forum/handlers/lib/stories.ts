/** Stories: which is meant, and how they are shown. */
import { abort } from "@radical/sdk";
import { renderText } from "./markup";
import { Comment, CommentView, Story, StoryPage, StoryView, Tally, comments, stories, tallies } from "./records";
import { confidence } from "./ranking";

/** Comments of one page. */
const COMMENTS_SHOWN = 200;

/** The story `id`; aborts with 404 if there is none. */
export function findStory(id: string): Story {
  const story = id.length > 0 && id.length <= 100 ? stories.get(id) : null;
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

/** A comment, with all that answers it. */
class Branch {
  answers: Branch[] = [];

  constructor(public comment: Comment) {}
}

/**
 * Comments on a story, each followed by what answers it, the best first; `after`: those behind a page. The key of a comment begins
 * with that of the comment that it answers. So the comments of a story are one range, in which answers follow what they answer.
 */
export function addComments(page: StoryPage, story: string, after: string | null): void {
  let range = comments.prefix(story + "/");
  if (after != null) range = range.after(after);
  const rows = range.first(COMMENTS_SHOWN);
  const roots: Branch[] = [];
  /** The comment that was last met, and those that it answers. */
  const path: Branch[] = [];
  for (const row of rows) {
    const branch = new Branch(row.value);
    const id = row.value.id;
    while (path.length > 0 && !id.startsWith(path[path.length - 1].comment.id + "/")) path.pop();
    if (path.length == 0) roots.push(branch);
    else path[path.length - 1].answers.push(branch);
    path.push(branch);
  }
  addBranches(page.comments, roots);
  if (rows.length == COMMENTS_SHOWN) page.next = rows[rows.length - 1].cursor;
}

function addBranches(views: CommentView[], branches: Branch[]): void {
  branches.sort((a, b) => {
    const better = confidence(b.comment.ups, b.comment.downs) - confidence(a.comment.ups, a.comment.downs);
    return better > 0 ? 1 : better < 0 ? -1 : 0;
  });
  for (const branch of branches) {
    const comment = branch.comment;
    const view = new CommentView();
    view.id = comment.id;
    view.author = comment.author;
    view.html = renderText(comment.text);
    view.at = comment.at;
    view.score = comment.ups - comment.downs;
    view.depth = depthOf(comment.id);
    views.push(view);
    addBranches(views, branch.answers);
  }
}

/** How many comments are above the comment of this id. */
export function depthOf(id: string): i32 {
  return id.split("/").length - 1;
}
