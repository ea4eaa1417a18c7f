import { action, ago, arrange, attempt, call, client, form, h, session, show, showSession, watch } from "./ui.js";

/** `#/stories/<id>` is a story with its comments, `#/submit` the form for one; anything else the front page. */
async function render() {
  showSession(render);
  const [, story] = /^#\/stories\/(.+)$/.exec(location.hash) ?? [];
  watch(null);
  if (story !== undefined) return showStory(story);
  return location.hash === "#/submit" ? showSubmit() : showFront();
}

function showFront() {
  const list = h("div", {});
  show(session() === null ? null : h("p", {}, h("a", { href: "#/submit" }, "Submit a story")), list);
  watch(
    (options) => client.live.homepage({}, options),
    (stories) => list.replaceChildren(...stories.map(storyView)),
  );
}

function showSubmit() {
  show(
    form(
      {
        title: { placeholder: "title" },
        url: { placeholder: "https://", required: false },
        text: { placeholder: "text", type: "textarea" },
      },
      "Submit",
      async (story) => {
        const id = await call("post", { token: session().token, ...story });
        location.hash = `/stories/${id}`;
      },
    ),
  );
}

function showStory(id) {
  const head = h("div", {});
  const list = h("div", {});
  show(head, session() === null ? h("p", {}, "Log in to comment.") : commentForm(id, ""), list);
  const shown = new Map();
  watch(
    (options) => client.live.view({ story: id }, options),
    ({ story, html, comments }) => {
      // The handler has made it safe: lib/markup.ts.
      head.replaceChildren(storyView(story), h("div", { innerHTML: html }));
      for (const comment of comments) {
        const known = shown.get(comment.id);
        if (known === undefined) shown.set(comment.id, commentView(id, comment));
        else known.querySelector(".score").textContent = `${comment.score}`;
      }
      arrange(
        list,
        comments.map((comment) => shown.get(comment.id)),
      );
    },
  );
}

function commentView(story, comment) {
  const answer = h("div", {});
  return h(
    "article",
    { style: `margin-left: ${comment.depth * 1.5}rem` },
    h("small", {}, `${comment.author} ${ago(comment.at)}`),
    h("div", { innerHTML: comment.html }),
    h(
      "div",
      { className: "row" },
      votes(story, comment.id, comment.score),
      session() === null ? null : action("Answer", () => answer.replaceChildren(commentForm(story, comment.id))),
    ),
    answer,
  );
}

/** The comment appears by itself. */
function commentForm(story, parent) {
  const box = form({ text: { placeholder: "What do you say?", type: "textarea" } }, "Comment", async ({ text }) => {
    await call("comment", { token: session().token, story, text, parent });
    if (parent === "") box.reset();
    else box.remove();
  });
  return box;
}

function storyView(story) {
  return h(
    "article",
    {},
    h("div", {}, h("a", { href: story.url === "" ? `#/stories/${story.id}` : story.url }, h("b", {}, story.title))),
    h(
      "div",
      { className: "row" },
      votes(story.id, "", story.score),
      h("small", {}, `${story.author} ${ago(story.at)}`),
      h("a", { href: `#/stories/${story.id}` }, `${story.comments} comments`),
    ),
  );
}

function votes(story, comment, score) {
  const shown = h("span", { className: "score" }, `${score}`);
  const cast = (label, vote) =>
    action(label, async () => {
      shown.textContent = `${await call("interact", { token: session().token, story, comment, vote })}`;
    });
  return session() === null ? shown : h("span", { className: "row" }, cast("▲", "up"), shown, cast("▼", "down"));
}

addEventListener("hashchange", () => attempt(render));
await attempt(render);
