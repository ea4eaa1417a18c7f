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
  setSession,
  show,
  showSession,
  watch,
} from "./ui.js";

const { live, speculate } = client;

/** `#/people/ada` is ada's profile, `#/people/ada/followers` who follows her; anything else is one's own timeline. */
async function render() {
  showSession(render);
  const { hash } = location;
  const [, name, list] = /^#\/people\/([^/]+)(?:\/(followers|following))?$/.exec(hash) ?? [];
  watch(null);
  if (list !== undefined) return showPeople(decodeURIComponent(name), list);
  if (name !== undefined) return showProfile(decodeURIComponent(name));
  const me = session();
  const visit = form({ name: { placeholder: "name of somebody" } }, "Visit", ({ name: visited }) => {
    location.hash = `/people/${visited}`;
  });
  if (me === null) return show(h("p", {}, "Log in or register to see your timeline, or visit somebody."), visit);
  const load = (before) => call("timeline", { token: me.token, before }).then(entriesOf);
  const newest = await load(null);
  // Somebody has gone on meanwhile.
  if (location.hash !== hash) return;
  const rest = older(load, postView);
  rest.begin(newest);
  show(
    form({ text: { placeholder: "What is new?", type: "textarea" } }, "Post", async ({ text }) => {
      await call("post", { token: me.token, text });
      await render();
    }),
    visit,
    newest.entries.map(postView),
    newest.entries.length === 0 ? h("p", {}, "Nothing yet. Visit somebody, and follow them.") : null,
    rest,
  );
}

/** The page of a person changes while it is looked at. */
function showProfile(name) {
  const me = session();
  const bio = h("p", {});
  const following = h("a", { href: `#/people/${name}/following` });
  const followers = h("span", { id: "followers" });
  const list = h("div", {});
  const rest = older((before) => call("posts", { name, before }).then(entriesOf), postView);
  const posts = new Map();
  const change = (handler) => () =>
    showEarly(followers, speculate[handler]({ token: session().token, name }), (count) => counted(count, "follower"));
  show(
    h("h2", {}, name),
    bio,
    h("p", { className: "row" }, h("a", { href: `#/people/${name}/followers` }, followers), following),
    me === null || me.name === name
      ? null
      : h("div", { className: "row" }, action("Follow", change("follow")), action("Unfollow", change("unfollow"))),
    list,
    rest,
  );
  watch(
    (options) => live.profile({ name }, options),
    (person) => {
      bio.textContent = person.bio;
      following.textContent = `follows ${person.following}`;
      showConfirmed(followers, counted(person.followers, "follower"));
      const newest = entriesOf(person.posts);
      for (const post of newest.entries) {
        const known = posts.get(post.id);
        if (known === undefined) posts.set(post.id, postView(post));
        else showConfirmed(known.querySelector(".likes"), counted(post.likes, "like"));
      }
      arrange(
        list,
        newest.entries.map((post) => posts.get(post.id)),
      );
      rest.begin(newest);
    },
  );
}

/** Those who follow somebody, or whom somebody follows. */
async function showPeople(name, list) {
  const { hash } = location;
  const load = async (after) => {
    const { names, next } = await call(list === "followers" ? "followersOf" : "followingOf", { name, after });
    return { entries: names.map((id) => ({ id })), next };
  };
  const view = ({ id }) => h("li", {}, h("a", { href: `#/people/${id}` }, id));
  const first = await load(null);
  if (location.hash !== hash) return;
  const rest = older(load, view, h("ul", {}));
  rest.begin(first);
  show(
    h(
      "h2",
      {},
      list === "followers" ? "Who follows " : "Whom ",
      h("a", { href: `#/people/${name}` }, name),
      list === "followers" ? "" : " follows",
    ),
    h("ul", {}, first.entries.map(view)),
    first.entries.length === 0 ? h("p", {}, "Nobody yet.") : null,
    rest,
  );
}

function entriesOf({ posts, next }) {
  return { entries: posts, next };
}

function postView(post) {
  // The handler has made it safe: lib/markup.ts.
  const text = h("div", { innerHTML: post.html });
  const likes = h("span", { className: "likes" }, counted(post.likes, "like"));
  const me = session();
  return h(
    "article",
    {},
    h("small", {}, h("a", { href: `#/people/${post.author}` }, post.author), `, ${ago(post.at)}`),
    text,
    h(
      "div",
      { className: "row" },
      likes,
      me === null
        ? null
        : action("Like", () =>
            showEarly(likes, speculate.like({ token: me.token, id: post.id }), (count) => counted(count, "like")),
          ),
    ),
  );
}

/** By element: the text that is confirmed, and the newest call for it, whose results it shows. */
const early = new WeakMap();

/** Shows a result as soon as there is one, marked until it is confirmed. Takes it back if the call fails. */
async function showEarly(element, speculation, words) {
  const state = early.get(element) ?? { confirmed: element.textContent };
  early.set(element, state);
  state.newest = speculation;
  const put = (text, isBusy) => {
    if (!isBusy) state.confirmed = text;
    if (state.newest !== speculation) return;
    element.textContent = text;
    element.ariaBusy = String(isBusy);
  };
  try {
    for await (const { kind, result } of speculation) put(words(result), kind === "speculative");
  } catch (error) {
    put(state.confirmed, false);
    if (error.code === "not_logged_in") setSession(null);
    throw error;
  }
}

/** The newest result, unless a call of this page is about to show one. */
function showConfirmed(element, text) {
  const state = early.get(element);
  if (state !== undefined) state.confirmed = text;
  if (element.ariaBusy !== "true") element.textContent = text;
}

addEventListener("hashchange", () => attempt(render));
await attempt(render);
