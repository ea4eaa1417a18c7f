/** The pages of the forum. */
import { type CommentView, type StoryList, type StoryView, createClient } from "#radical";
import "./kit/kit.css";
import "./page.css";
import { me, rethrow, seedLogins } from "./kit/account.ts";
import { action, form } from "./kit/actions.ts";
import { type View, openApp } from "./kit/app.ts";
import { ago, avatar, counted, h, marked, titled } from "./kit/elements.ts";
import { type Page, pages, watch } from "./kit/live.ts";
import { asked } from "./kit/mine.ts";
import { send, sendUntold } from "./kit/strip.ts";
import { type Vote, type Votes, votesOf } from "./kit/votes.ts";

const client = createClient({ fetch: send });
const { live } = client;
/** For questions of the page itself, of which the strip does not tell. */
const aside = createClient({ fetch: sendUntold });

/** In the seed. */
const SEEDED = ["ada", "grace", "alan", "edsger"];
/** The front page has so many stories on each of its pages. */
const PAGE_LENGTH = 20;
const PAGES = 3;

function linkTo(name: string): string {
  return `#/people/${encodeURIComponent(name)}`;
}

// ── Lists of stories ─────────────────────────────────────────────────────────────────────────────────────────────────

/** The first page is live. Those behind it are loaded when somebody asks for them. */
async function front(): Promise<View> {
  const pageOf = (stories: readonly StoryView[], page: number): Page<StoryView> => ({
    entries: stories,
    next: stories.length < PAGE_LENGTH || page + 1 === PAGES ? null : String(page + 1),
  });
  const list = pages(
    async (page) => pageOf(await client.homepage({ page: Number(page) }), Number(page)),
    storyView,
    updateStory,
  );
  const empty = noStories();
  const update = (stories: readonly StoryView[]): void => {
    empty.hidden = stories.length > 0;
    list.begin(pageOf(stories, 0));
  };
  const [stories, logins] = await Promise.all([
    client.homepage(),
    seedLogins(client, SEEDED, (name) => aside.member({ name })),
  ]);
  update(stories);
  return {
    title: "Forum",
    content: [h("h1", { className: "hidden" }, "The hottest stories"), logins, empty, list.element],
    begin: () => watch((options) => live.homepage({}, options), update),
  };
}

function noStories(): HTMLElement {
  return h(
    "p",
    { className: "empty" },
    "No stories yet. ",
    me() === null
      ? h("a", { className: "link", href: "#/login" }, "Log in to submit the first one")
      : h("a", { className: "link", href: "#/submit" }, "Submit the first one"),
    ".",
  );
}

function newest(): Promise<View> {
  return listed("Newest stories", h("h1", { className: "hidden" }, "Newest stories"), (before) =>
    client.newest({ before }),
  );
}

async function member(name: string): Promise<View> {
  const { karma, joinedAt } = await client.member({ name });
  const since = new Date(joinedAt).toLocaleDateString(undefined, { month: "long", year: "numeric" });
  const head = h(
    "section",
    { className: "member" },
    avatar(name, "large"),
    h(
      "div",
      {},
      h("h1", {}, titled(name)),
      h("p", { className: "quiet" }, h("b", {}, `Karma ${karma}`), ` · a member since ${since}`),
    ),
  );
  return listed(titled(name), head, (before) => client.storiesOf({ name, before }));
}

/** Stories by their times. */
async function listed(
  title: string,
  head: HTMLElement,
  pageOf: (before: string | null) => Promise<StoryList>,
): Promise<View> {
  const load = async (before: string | null): Promise<Page<StoryView>> => {
    const { stories, next } = await pageOf(before);
    return { entries: stories, next };
  };
  const list = pages(load, storyView, updateStory);
  const first = await load(null);
  list.begin(first);
  return { title, content: [head, first.entries.length === 0 ? noStories() : null, list.element] };
}

interface ShownStory {
  readonly votes: Votes;
  readonly comments: HTMLElement;
}

const myVotes = asked((on) => aside.myVotes({ on }));

/** Of a story, or of a comment on it. */
function ownVotes(story: string, comment: string, first: number): Votes {
  const words = { "1": "up", "-1": "down", "0": "none" } as const;
  const cast = (vote: Vote): Promise<number> => client.interact({ story, comment, vote: words[vote] });
  const votes = votesOf(first, cast, comment !== "");
  myVotes(comment === "" ? story : `${story}/${comment}`, votes.mine);
  return votes;
}

/** By element. */
const shown = new WeakMap<HTMLElement, ShownStory>();

function storyView({ id, title, url, author, at, score, comments: count }: StoryView): HTMLElement {
  const votes = ownVotes(id, "", score);
  const comments = h("a", { href: `#/stories/${id}` }, counted(count, "comment"));
  const host = hostOf(url);
  const element = h(
    "article",
    { className: "story" },
    votes.element,
    h(
      "div",
      {},
      h(
        "h2",
        {},
        h("a", host === null ? { href: `#/stories/${id}` } : { href: url, rel: "noreferrer" }, title),
        host === null ? null : h("span", { className: "quiet" }, ` ${host}`),
      ),
      h("p", { className: "quiet about" }, byline(author, at), comments),
    ),
  );
  shown.set(element, { votes, comments });
  return element;
}

function updateStory({ score, comments }: StoryView, element: HTMLElement): void {
  const story = shown.get(element);
  story?.votes.score(score);
  if (story !== undefined) story.comments.textContent = counted(comments, "comment");
}

/** Of a link to another site; null: there is none that a browser may follow. */
function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? hostname.replace(/^www\./, "") : null;
}

function byline(author: string, at: number): HTMLElement {
  return h(
    "span",
    { className: "by" },
    avatar(author, "tiny"),
    h("a", { href: linkTo(author) }, author),
    ` · ${ago(at)}`,
  );
}

// ── One story ────────────────────────────────────────────────────────────────────────────────────────────────────────

async function story(id: string): Promise<View> {
  const first = await client.view({ story: id });
  const head = storyView(first.story);
  const list = pages(
    async (after) => {
      const { comments, next } = await client.view({ story: id, after });
      return { entries: comments, next };
    },
    (comment) => commentView(id, comment),
    updateComment,
  );
  const quiet = h("p", { className: "empty" }, "Nobody has said anything yet.");
  const update = ({ story: changed, comments, next }: typeof first): void => {
    updateStory(changed, head);
    quiet.hidden = comments.length > 0;
    list.begin({ entries: comments, next });
  };
  update(first);
  return {
    title: first.story.title,
    content: [
      h("h1", { className: "hidden" }, first.story.title),
      head,
      h("div", { className: "text" }, marked(first.html) as Node),
      me() === null
        ? h("p", { className: "quiet say" }, h("a", { href: "#/login" }, "Log in"), " to comment and to vote.")
        : commentForm(id, ""),
      quiet,
      list.element,
    ],
    begin: () => watch((options) => live.view({ story: id }, options), update),
  };
}

const shownComments = new WeakMap<HTMLElement, Votes>();

function commentView(story: string, { id, author, at, html, score, depth }: CommentView): HTMLElement {
  const votes = ownVotes(story, id, score);
  const answer = h("div", { className: "answer" });
  const write = (): void => {
    const box = commentForm(story, id, () => answer.replaceChildren());
    answer.replaceChildren(box);
    box.querySelector("textarea")?.focus();
  };
  const element = h(
    "article",
    { className: "comment" },
    h("p", { className: "quiet" }, byline(author, at)),
    h("div", { className: "text" }, marked(html) as Node),
    h(
      "div",
      { className: "acts" },
      votes.element,
      me() === null ? null : action("Answer", write, { className: "plain" }),
    ),
    answer,
  );
  element.style.setProperty("--depth", String(depth));
  shownComments.set(element, votes);
  return element;
}

function updateComment({ score }: CommentView, element: HTMLElement): void {
  shownComments.get(element)?.score(score);
}

/** The comment appears by itself. */
function commentForm(story: string, parent: string, done: () => void = () => undefined): HTMLFormElement {
  return form(
    { text: { label: "Your comment", quiet: true, lines: 2, placeholder: "What do you say?" } },
    "Comment",
    async ({ text }) => {
      await client.comment({ story, text, parent }).catch(rethrow);
      done();
    },
    { className: "say" },
  );
}

function submit(): View {
  return {
    title: "Submit a story",
    className: "narrow",
    content: [
      h("h1", {}, "Submit a story"),
      form(
        {
          title: { label: "Title" },
          url: { label: "Link", type: "url", placeholder: "https://", optional: true },
          text: { label: "Text", lines: 5, placeholder: "A story has a link, a text or both.", optional: true },
        },
        "Submit",
        async (fields) => {
          location.hash = `#/stories/${await client.post(fields).catch(rethrow)}`;
        },
        { className: "submit" },
      ),
    ],
  };
}

// Last: what is above is there by now.
await openApp({
  name: "Forum",
  mark: [
    ["path", { d: "M3 4h18v12H10l-5 4.5V16H3Z", fill: "var(--accent)" }],
    ["path", { d: "M7 8.2h10M7 11.8h6", stroke: "var(--bg)", "stroke-width": "1.8", "stroke-linecap": "round" }],
  ],
  accounts: client,
  links: () => [
    ["#/", "Hottest"],
    ["#/newest", "Newest"],
    ...(me() === null ? [] : [["#/submit", "Submit a story"] as const]),
  ],
  profileOf: linkTo,
  view: ([kind, id]) => {
    if (kind === "stories" && id !== undefined) return story(id);
    if (kind === "people" && id !== undefined) return member(id);
    if (kind === "submit") return submit();
    return kind === "newest" ? newest() : front();
  },
});
