/** Records as they are shown. */
import { Post, PostView, posts } from "./records";
import { renderText } from "./markup";

export function viewPost(post: Post): PostView {
  const view = new PostView();
  view.id = post.id;
  view.author = post.author;
  view.html = renderText(post.text);
  view.at = post.at;
  view.likes = post.likes;
  return view;
}

/** The first `limit` of the posts called `ids`; posts that are gone are left out. */
export function viewPosts(ids: string[], limit: i32): PostView[] {
  const views: PostView[] = [];
  const count = min(limit, ids.length);
  for (let i = 0; i < count; i++) {
    const post = posts.get(ids[i]);
    if (post != null) views.push(viewPost(post));
  }
  return views;
}
