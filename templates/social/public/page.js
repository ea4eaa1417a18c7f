import { action, ago, attempt, call, form, h, session, show, showSession } from "./ui.js";

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
  const change = (handler) => async () => {
    await call(handler, { token: session().token, name });
    await render();
  };
  show(
    h("h2", {}, person.name),
    h("p", {}, person.bio),
    h(
      "p",
      { className: "row" },
      h("span", { id: "followers" }, `${person.followers} followers`),
      ` follows ${person.following}`,
    ),
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
        : action("Like", async () => {
            likes.textContent = `${await call("like", { token: me.token, id: post.id })} likes`;
          }),
    ),
  );
}

addEventListener("hashchange", () => attempt(render));
await attempt(render);
