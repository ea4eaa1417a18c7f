import { action, ago, attempt, call, form, h, session, show, showSession } from "./ui.js";

/** `#/stories/<id>` is a story with its comments, `#/submit` the form for one; anything else the front page. */
async function render() {
  showSession(render);
  const [, story] = /^#\/stories\/(.+)$/.exec(location.hash) ?? [];
  if (story !== undefined) return showStory(story);
  return location.hash === "#/submit" ? showSubmit() : showFront();
}

async function showFront() {
  const stories = await call("homepage");
  show(session() === null ? null : h("p", {}, h("a", { href: "#/submit" }, "Submit a story")), stories.map(storyView));
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

async function showStory(id) {
  const { story, html, comments } = await call("view", { story: id });
  show(
    storyView(story),
    // The handler has made it safe: lib/markup.ts.
    h("div", { innerHTML: html }),
    session() === null ? h("p", {}, "Log in to comment.") : commentForm(id, ""),
    comments.map((comment) => {
      const answer = h("div", {});
      return h(
        "article",
        { style: `margin-left: ${comment.depth * 1.5}rem` },
        h("small", {}, `${comment.author} ${ago(comment.at)}`),
        h("div", { innerHTML: comment.html }),
        h(
          "div",
          { className: "row" },
          votes(id, comment.id, comment.score),
          session() === null ? null : action("Answer", () => answer.replaceChildren(commentForm(id, comment.id))),
        ),
        answer,
      );
    }),
  );
}

function commentForm(story, parent) {
  return form({ text: { placeholder: "What do you say?", type: "textarea" } }, "Comment", async ({ text }) => {
    await call("comment", { token: session().token, story, text, parent });
    await render();
  });
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
