import { createClient } from "./client.js";
import { action, ago, attempt, call, form, h, session, setSession, show, showSession } from "./ui.js";

/** Made by the build. Its calls go to the page's own origin. */
const { speculate } = createClient({ baseUrl: "" });

/** `#/people/ada` is ada's profile; anything else is one's own timeline. */
async function render() {
  showSession(render);
  const [, name] = /^#\/people\/(.+)$/.exec(location.hash) ?? [];
  if (name !== undefined) return showProfile(decodeURIComponent(name));
  const me = session();
  if (me === null) return show(h("p", {}, "Log in or register to see your timeline."));
  const posts = await call("timeline", { token: me.token });
  show(
    form({ text: { placeholder: "What is new?", type: "textarea" } }, "Post", async ({ text }) => {
      await call("post", { token: me.token, text });
      await render();
    }),
    form({ name: { placeholder: "somebody's name" } }, "Visit", ({ name: visited }) => {
      location.hash = `/people/${visited}`;
    }),
    posts.map(postView),
  );
}

async function showProfile(name) {
  const person = await call("profile", { name });
  const me = session();
  const followers = h("span", { id: "followers" }, `${person.followers} followers`);
  const change = (handler) => () =>
    showEarly(followers, speculate[handler]({ token: session().token, name }), (count) => `${count} followers`);
  show(
    h("h2", {}, person.name),
    h("p", {}, person.bio),
    h("p", { className: "row" }, followers, ` follows ${person.following}`),
    me === null || me.name === name
      ? null
      : h("div", { className: "row" }, action("Follow", change("follow")), action("Unfollow", change("unfollow"))),
    person.posts.map(postView),
  );
}

function postView(post) {
  // The handler has made it safe: lib/markup.ts.
  const text = h("div", { innerHTML: post.html });
  const likes = h("span", {}, `${post.likes} likes`);
  const me = session();
  return h(
    "article",
    {},
    h("small", {}, h("a", { href: `#/people/${post.author}` }, post.author), ` ${ago(post.at)}`),
    text,
    h(
      "div",
      { className: "row" },
      likes,
      me === null
        ? null
        : action("Like", () =>
            showEarly(likes, speculate.like({ token: me.token, id: post.id }), (count) => `${count} likes`),
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

addEventListener("hashchange", () => attempt(render));
await attempt(render);
