/** The pages of the social network. */
import { type PeoplePage, type PostPage, type PostView, createClient } from "#radical";
import "./kit/kit.css";
import "./page.css";
import { me, rethrow, startPage } from "./kit/account.ts";
import { action, form } from "./kit/actions.ts";
import { type View, openApp } from "./kit/app.ts";
import { type Child, ago, avatar, counted, drawing, h, marked, titled } from "./kit/elements.ts";
import { type Early, type Page, early, pages, watch } from "./kit/live.ts";
import { asked } from "./kit/mine.ts";
import { isDevelopment, send, sendUntold } from "./kit/strip.ts";

const client = createClient({ fetch: send });
const { live, speculate } = client;
/** For questions of the page itself, of which the strip does not tell. */
const aside = createClient({ fetch: sendUntold });

/** In the seed. */
const SEEDED = ["ada", "grace", "alan", "edsger", "barbara"];

function linkTo(name: string): string {
  return `#/people/${encodeURIComponent(name)}`;
}

async function start(): Promise<View> {
  const found = isDevelopment()
    ? await Promise.all(SEEDED.map((name) => aside.profile({ name }).catch(() => null)))
    : [];
  const people = found.flatMap((person) => (person === null ? [] : [{ name: person.name, words: person.bio }]));
  return { title: "Social", content: startPage(client, "Read what people say.", people), className: "narrow" };
}

// ── Posts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function entriesOf({ posts, next }: PostPage): Page<PostView> {
  return { entries: posts, next };
}

const HEART = "M10 17S2.5 12.5 2.5 7.3A3.9 3.9 0 0 1 10 5.6a3.9 3.9 0 0 1 7.5 1.7C17.5 12.5 10 17 10 17Z";

interface ShownPost {
  readonly element: HTMLElement;
  readonly likes: Early<number>;
}

/** By element. */
const shownPosts = new WeakMap<HTMLElement, ShownPost>();

const myLikes = asked((ids) => aside.myLikes({ ids }));

function postView({ id, author, html, at, likes: count }: PostView): HTMLElement {
  const number = h("span", { className: "likes" });
  /** Whether the reader likes it; null: not known yet. */
  let known: boolean | null = null;
  let isActing = false;
  const press = (isMine: boolean): void => void (like.ariaPressed = String(isMine));
  const like = action(
    [drawing("0 0 20 20", [["path", { d: HEART }]]), number],
    async () => {
      const isMine = like.ariaPressed === "true";
      isActing = true;
      press(!isMine);
      try {
        await likes.change(isMine ? speculate.unlike({ id }) : speculate.like({ id }), (value) => value).catch(rethrow);
        known = !isMine;
      } finally {
        isActing = false;
        press(known ?? false);
      }
    },
    { className: "plain like", title: "Like" },
  );
  const likes = early(number, count, (value) => {
    number.textContent = String(value);
    like.ariaLabel = `Like, ${counted(value, "like")}`;
  });
  press(false);
  // The answer may come after a click of now.
  myLikes(id, (isMine) => {
    known ??= isMine;
    if (!isActing) press(known);
  });
  // Nobody's likes do not count.
  if (me() === null) like.disabled = true;
  const element = h(
    "article",
    { className: "post" },
    avatar(author),
    h(
      "div",
      {},
      h(
        "div",
        { className: "who" },
        h("a", { href: linkTo(author) }, h("b", {}, titled(author))),
        h("span", { className: "quiet" }, `@${author} · ${ago(at)}`),
      ),
      marked(html) as unknown as Node,
      h("div", { className: "acts" }, like),
    ),
  );
  shownPosts.set(element, { element, likes });
  return element;
}

function updatePost({ likes }: PostView, element: HTMLElement): void {
  shownPosts.get(element)?.likes.confirm(likes);
}

// ── The reader's own timeline ────────────────────────────────────────────────────────────────────────────────────────

async function timeline(reader: string): Promise<View> {
  const load = (before: string | null): Promise<Page<PostView>> => client.timeline({ before }).then(entriesOf);
  const [newest, followed] = await Promise.all([load(null), aside.followingOf({ name: reader, limit: 50 })]);
  const list = pages(load, postView, updatePost);
  list.begin(newest);
  const write = form(
    { text: { label: "A new post", quiet: true, lines: 2, placeholder: `What is new, ${titled(reader)}?` } },
    "Post",
    async ({ text }) => {
      await client.post({ text }).catch(rethrow);
      list.begin(await load(null));
    },
    { hint: "Everybody who follows you reads it at once, anywhere." },
  );
  return {
    title: "Your timeline",
    className: "columns",
    content: [
      h(
        "div",
        {},
        h("h1", { className: "hidden" }, "Your timeline"),
        h("div", { className: "write" }, avatar(reader), write),
        newest.entries.length > 0 ? null : nothingYet(reader),
        list.element,
      ),
      h(
        "aside",
        { className: "side" },
        h("h2", {}, "You follow"),
        followed.names.length === 0 ? h("p", { className: "quiet" }, "Nobody yet.") : null,
        h(
          "ul",
          {},
          followed.names.slice(0, 8).map((name) => h("li", {}, personRow(name, true))),
        ),
        followed.names.length > 8
          ? h("a", { className: "link", href: `${linkTo(reader)}/following` }, "All of them")
          : null,
        h("h2", {}, "Find somebody"),
        visit(),
      ),
    ],
  };
}

function nothingYet(reader: string): Child {
  return h(
    "div",
    { className: "empty" },
    h("h2", {}, "Nothing here yet"),
    h("p", {}, "Write the first post, or follow somebody: their new posts come here."),
    isDevelopment()
      ? h(
          "p",
          { className: "some" },
          SEEDED.filter((name) => name !== reader).map((name) =>
            h("a", { className: "button small", href: linkTo(name) }, avatar(name, "tiny"), titled(name)),
          ),
        )
      : null,
  );
}

function visit(): HTMLElement {
  return form({ name: { label: "Name of somebody", quiet: true, placeholder: "their name" } }, "Visit", ({ name }) => {
    location.hash = linkTo(name.trim().replace(/^@/, "").toLowerCase());
  });
}

// ── People ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function personRow(name: string, isFollowed: boolean | null): readonly Child[] {
  return [
    avatar(name),
    h("a", { href: linkTo(name) }, h("b", {}, titled(name)), h("span", { className: "quiet" }, `@${name}`)),
    isFollowed === null || me() === name ? null : followButton(name, isFollowed, null),
  ];
}

/** `followers`: the number of them, where the page has it. */
function followButton(name: string, first: boolean, followers: Early<number> | null): HTMLElement {
  let isFollowed = first;
  const put = (): void => {
    button.textContent = isFollowed ? "Following" : "Follow";
    button.ariaPressed = String(isFollowed);
    button.ariaLabel = `${isFollowed ? "Following" : "Follow"} ${name}`;
    button.className = `button small${isFollowed ? "" : " primary"}`;
  };
  const button = action("", async () => {
    const speculation = isFollowed ? speculate.unfollow({ name }) : speculate.follow({ name });
    isFollowed = !isFollowed;
    put();
    try {
      await (followers === null ? speculation.confirmed : followers.change(speculation, (count) => count));
    } catch (error) {
      isFollowed = !isFollowed;
      put();
      rethrow(error);
    }
  });
  put();
  return button;
}

/** The page of a person changes while it is looked at. */
async function profile(name: string): Promise<View> {
  const reader = me();
  const [person, followed] = await Promise.all([
    client.profile({ name }),
    reader === null || reader === name ? null : isFollowing(reader, name),
  ]);
  const list = pages((before) => client.posts({ name, before }).then(entriesOf), postView, updatePost);
  const count = h("b", {});
  const followers = early(count, person.followers, (value) => {
    count.textContent = counted(value, "follower");
  });
  const following = h("b", {});
  const bio = h("p", { className: "bio" });
  const empty = h("p", { className: "empty" }, `${titled(name)} has not written anything yet.`);
  const update = ({ bio: words, following: others, followers: all, posts }: typeof person): void => {
    bio.textContent = words;
    following.textContent = String(others);
    followers.confirm(all);
    empty.hidden = posts.posts.length > 0;
    list.begin(entriesOf(posts));
  };
  update(person);
  return {
    title: titled(name),
    className: "single",
    content: [
      h(
        "section",
        { className: "person" },
        avatar(name, "huge"),
        h(
          "div",
          {},
          h("h1", {}, titled(name)),
          bio,
          h(
            "p",
            { className: "counts" },
            h("a", { href: `${linkTo(name)}/followers`, id: "followers" }, count),
            h("a", { href: `${linkTo(name)}/following` }, "follows ", following),
            h(
              "span",
              { className: "quiet" },
              `here since ${new Date(person.joinedAt).toLocaleDateString(undefined, { month: "long", year: "numeric" })}`,
            ),
          ),
        ),
        followed === null ? null : followButton(name, followed, followers),
      ),
      empty,
      list.element,
    ],
    begin: () => watch((options) => live.profile({ name }, options), update),
  };
}

async function isFollowing(reader: string, name: string): Promise<boolean> {
  const { names } = await aside.followingOf({ name: reader, limit: 200 });
  return names.includes(name);
}

/** Those who follow somebody, or whom somebody follows. */
async function peopleOf(name: string, list: "followers" | "following"): Promise<View> {
  const reader = me();
  const call = list === "followers" ? client.followersOf : client.followingOf;
  const load = async (after: string | null): Promise<Page<{ id: string }>> => {
    const { names, next }: PeoplePage = await call({ name, after });
    return { entries: names.map((id) => ({ id })), next };
  };
  const [first, followed] = await Promise.all([
    load(null),
    reader === null ? null : aside.followingOf({ name: reader, limit: 200 }),
  ]);
  const row = ({ id }: { readonly id: string }): HTMLElement =>
    h("li", {}, personRow(id, followed === null ? null : followed.names.includes(id)));
  const rows = pages(load, row, undefined, h("ul", { className: "rows" }));
  rows.begin(first);
  const person = h("a", { className: "link", href: linkTo(name) }, titled(name));
  return {
    title: list === "followers" ? `Followers of ${titled(name)}` : `Followed by ${titled(name)}`,
    className: "single",
    content: [
      h(
        "h1",
        { className: "middle" },
        ...(list === "followers" ? ["Who follows ", person] : ["Whom ", person, " follows"]),
      ),
      first.entries.length === 0 ? h("p", { className: "empty" }, "Nobody yet.") : null,
      rows.element,
    ],
  };
}

// Last: what is above is there by now.
await openApp({
  name: "Social",
  mark: [
    ["circle", { cx: "8", cy: "12", r: "7", fill: "var(--accent)" }],
    ["circle", { cx: "17", cy: "12", r: "5.2", fill: "none", stroke: "var(--accent)", "stroke-width": "2.4" }],
  ],
  accounts: client,
  profileOf: linkTo,
  view: ([kind, name, list]) => {
    if (kind !== "people" || name === undefined) return me() === null ? start() : timeline(me()!);
    return list === "followers" || list === "following" ? peopleOf(name, list) : profile(name);
  },
});
