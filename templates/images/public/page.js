import { action, ago, attempt, call, counted, form, h, older, session, show, showSession } from "./ui.js";

/** `#/images/<number>`, `#/pools`, `#/pools/<id>` and `#/upload`; `#/search/<tags>` and anything else is a search. */
async function render() {
  showSession(render);
  const [, kind, rest = ""] = /^#\/(\w+)\/?(.*)$/.exec(location.hash) ?? [];
  if (kind === "images") return showImage(Number(rest));
  if (kind === "pools") return rest === "" ? showPools() : showPool(rest);
  return kind === "upload" ? showUpload() : showSearch(decodeURIComponent(rest));
}

async function showSearch(query) {
  const tags = wordsOf(query);
  const found = h("div", { className: "columns" });
  const more = h("p", {});
  const addPage = async (before) => {
    const page = await call("search", { tags, before });
    if (before === 0 && page.images.length === 0) found.append("No image has these tags.");
    found.append(...page.images.map(thumbnail));
    more.replaceChildren(...(page.next === 0 ? [] : [action("More", () => addPage(page.next))]));
  };
  show(
    form({ query: { placeholder: "sky -night fav:ada", value: query, required: false } }, "Search", async (wanted) => {
      location.hash = `/search/${encodeURIComponent(wanted.query)}`;
    }),
    h(
      "p",
      { className: "row" },
      h("a", { href: "#/pools" }, "Pools"),
      session() === null
        ? []
        : [h("a", { href: "#/upload" }, "Upload"), h("a", { href: `#/search/fav:${session().name}` }, "My favourites")],
    ),
    found,
    more,
  );
  await addPage(0);
}

function showUpload() {
  show(
    form(
      {
        url: { label: "Picture", placeholder: "https://" },
        width: { label: "Width in pixels", type: "number", min: 1 },
        height: { label: "Height in pixels", type: "number", min: 1 },
        tags: { label: "Tags", placeholder: "sky night" },
      },
      "Publish",
      async ({ url, width, height, tags }) => {
        const id = await call("upload", {
          url,
          width: Number(width),
          height: Number(height),
          tags: wordsOf(tags),
        });
        location.hash = `/images/${id}`;
      },
    ),
  );
}

async function showImage(id) {
  const { image, score, favourites, tags, comments } = await call("image", { id });
  const me = session();
  const newest = entriesOf(comments);
  const rest = older((before) => call("comments", { image: id, before }).then(entriesOf), commentView);
  rest.begin(newest);
  const change =
    (handler, args = {}) =>
    async () => {
      await call(handler, { image: id, ...args });
      await render();
    };
  show(
    picture(image),
    h(
      "p",
      {},
      h("small", {}, `Number ${id}, ${image.width} × ${image.height}, by ${image.uploader}, ${ago(image.at)}`),
    ),
    h(
      "div",
      { className: "row" },
      me === null ? [] : action("▲", change("vote", { value: 1 }), "Vote up"),
      h("span", { id: "score" }, `${score}`),
      me === null ? [] : action("▼", change("vote", { value: -1 }), "Vote down"),
      h("span", { id: "favourites" }, counted(favourites, "favourite")),
      me === null ? [] : [action("Favourite", change("favourite")), action("Unfavourite", change("unfavourite"))],
    ),
    h(
      "ul",
      { className: "tags" },
      tags.map(({ tag, count }) =>
        h(
          "li",
          {},
          h("a", { href: `#/search/${encodeURIComponent(tag)}` }, tag),
          ` ${count} `,
          me === null ? "" : action("✕", change("untag", { tag }), `Remove the tag ${tag}`),
        ),
      ),
    ),
    me === null
      ? null
      : form({ tags: { placeholder: "more tags" } }, "Tag", async (given) => {
          await change("tag", { tags: wordsOf(given.tags) })();
        }),
    me === null
      ? null
      : form({ text: { placeholder: "What do you say?", type: "textarea" } }, "Comment", async ({ text }) => {
          await change("comment", { text })();
        }),
    newest.entries.map(commentView),
    rest,
  );
}

function entriesOf({ comments, next }) {
  return { entries: comments, next };
}

function commentView(comment) {
  return h(
    "article",
    {},
    h("small", {}, `${comment.author}, ${ago(comment.at)}`),
    // The handler has made it safe: lib/markup.ts.
    h("div", { innerHTML: comment.html }),
  );
}

async function showPools() {
  const load = (after) => call("listPools", { after }).then(({ pools, next }) => ({ entries: pools, next }));
  const view = ({ id, name, creator }) =>
    h("li", {}, h("a", { href: `#/pools/${id}` }, name), h("small", {}, ` by ${creator}`));
  const first = await load(null);
  const rest = older(load, view, h("ul", {}));
  rest.begin(first);
  show(
    h("h2", {}, "Pools"),
    h("ul", {}, first.entries.map(view)),
    first.entries.length === 0 ? h("p", {}, "There is no pool yet.") : null,
    rest,
    session() === null
      ? null
      : form({ name: { placeholder: "name of a new pool" } }, "Make a pool", async ({ name }) => {
          location.hash = `/pools/${await call("createPool", { name })}`;
        }),
  );
}

async function showPool(id) {
  const pool = await call("pool", { id });
  const me = session();
  const change = async (handler, image) => {
    await call(handler, { pool: id, image });
    await render();
  };
  show(
    h("h2", {}, pool.name),
    h("p", {}, h("small", {}, `by ${pool.creator}, ${counted(pool.images.length, "image")}`)),
    me === null
      ? null
      : form({ image: { label: "Number of an image", type: "number", min: 1 } }, "Add", ({ image }) =>
          change("addToPool", Number(image)),
        ),
    h(
      "div",
      { className: "columns" },
      pool.images.map((image) => {
        const view = thumbnail(image);
        const remove = action("✕", () => change("removeFromPool", image.id), `Take ${image.id} out of the pool`);
        if (me !== null) view.append(" ", remove);
        return view;
      }),
    ),
  );
}

function thumbnail(image) {
  return h(
    "section",
    {},
    h("a", { href: `#/images/${image.id}` }, picture(image)),
    h("small", {}, image.tags.join(" ")),
  );
}

function picture(image) {
  return h("img", { src: image.url, alt: image.tags.join(" "), style: "width: 100%" });
}

function wordsOf(text) {
  return text.split(/\s+/).filter((word) => word !== "");
}

addEventListener("hashchange", () => attempt(render));
await attempt(render);
