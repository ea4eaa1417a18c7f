import {
  action,
  ago,
  arrange,
  attempt,
  call,
  client,
  counted,
  form,
  h,
  older,
  session,
  show,
  showSession,
  watch,
} from "./ui.js";

/** The front page has so many stories on each of its pages. */
const PAGE_LENGTH = 20;
const PAGES = 3;

/**
 * `#/stories/<id>` is a story with its comments, `#/people/<name>` a member, `#/submit` the form for a story, `#/newest` all; anything
 * else the front page.
 */
async function render() {
  showSession(render);
  const [, kind, id] = /^#\/(stories|people)\/(.+)$/.exec(location.hash) ?? [];
  watch(null);
  if (kind === "stories") return showStory(id);
  if (kind === "people") return showMember(decodeURIComponent(id));
  if (location.hash === "#/submit") return showSubmit();
  return location.hash === "#/newest" ? showNewest() : showFront();
}

/** The first page is live. Those behind it are loaded when somebody asks for them. */
function showFront() {
  const list = h("div", {});
  const pageOf = (stories, page) => ({
    entries: stories,
    next: stories.length < PAGE_LENGTH || page + 1 === PAGES ? null : page + 1,
  });
  const rest = older((page) => call("homepage", { page }).then((stories) => pageOf(stories, page)), storyView);
  show(
    h(
      "p",
      { className: "row" },
      h("a", { href: "#/newest" }, "Newest"),
      session() === null ? null : h("a", { href: "#/submit" }, "Submit a story"),
    ),
    list,
    rest,
  );
  watch(
    (options) => client.live.homepage({}, options),
    (stories) => {
      list.replaceChildren(...(stories.length === 0 ? ["No stories yet."] : stories.map(storyView)));
      rest.begin(pageOf(stories, 0));
    },
  );
}

function showNewest() {
  return showList(h("h2", {}, "Newest stories"), (before) => call("newest", { before }));
}

async function showMember(name) {
  const member = await call("member", { name });
  const since = new Date(member.joinedAt).toLocaleDateString(undefined, { dateStyle: "medium" });
  const head = h(
    "div",
    {},
    h("h2", {}, name),
    h("p", {}, h("small", {}, `Karma ${member.karma}, a member since ${since}`)),
  );
  await showList(head, (before) => call("storiesOf", { name, before }));
}

/** Stories by their times. */
async function showList(head, pageOf) {
  const { hash } = location;
  const load = (before) => pageOf(before).then(({ stories, next }) => ({ entries: stories, next }));
  const newest = await load(null);
  // Somebody has gone on meanwhile.
  if (location.hash !== hash) return;
  const rest = older(load, storyView);
  rest.begin(newest);
  show(head, newest.entries.map(storyView), newest.entries.length === 0 ? h("p", {}, "No stories yet.") : null, rest);
}

function showSubmit() {
  show(
    form(
      {
        title: { label: "Title" },
        url: { label: "Link", placeholder: "https://", required: false },
        text: { label: "Text", placeholder: "A story has a link, a text or both", type: "textarea", required: false },
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
  const load = (after) =>
    call("view", { story: id, after }).then(({ comments, next }) => ({ entries: comments, next }));
  const rest = older(load, (comment) => commentView(id, comment));
  show(head, session() === null ? h("p", {}, "Log in to comment.") : commentForm(id, ""), list, rest);
  const shown = new Map();
  watch(
    (options) => client.live.view({ story: id }, options),
    ({ story, html, comments, next }) => {
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
      rest.begin({ entries: comments, next });
    },
  );
}

function commentView(story, comment) {
  const answer = h("div", {});
  return h(
    "article",
    { style: `margin-left: min(${comment.depth * 1.5}rem, 30vw)` },
    byline(comment),
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
      byline(story),
      h("a", { href: `#/stories/${story.id}` }, counted(story.comments, "comment")),
    ),
  );
}

function byline({ author, at }) {
  return h("small", {}, h("a", { href: `#/people/${author}` }, author), `, ${ago(at)}`);
}

function votes(story, comment, score) {
  const shown = h("span", { className: "score" }, `${score}`);
  const cast = (label, vote) =>
    action(
      label,
      async () => {
        shown.textContent = `${await call("interact", { token: session().token, story, comment, vote })}`;
      },
      `Vote ${vote}`,
    );
  return session() === null ? shown : h("span", { className: "row" }, cast("▲", "up"), shown, cast("▼", "down"));
}

addEventListener("hashchange", () => attempt(render));
await attempt(render);
