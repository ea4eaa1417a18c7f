/** The pages of the image board. */
import { type Comment, type CommentPage, type Image, type Pool, type SearchPage, createClient } from "#radical";
import "./kit/kit.css";
import "./page.css";
import { me, rethrow, seedLogins } from "./kit/account.ts";
import { action, form } from "./kit/actions.ts";
import { type View, openApp } from "./kit/app.ts";
import { type Child, ago, avatar, counted, h, marked, titled } from "./kit/elements.ts";
import { type Page, pages, watch } from "./kit/live.ts";
import { send, sendUntold } from "./kit/strip.ts";
import { votesOf } from "./kit/votes.ts";
import { choosePicture } from "./picture.ts";

const client = createClient({ fetch: send });
const { live } = client;
/** For questions of the page itself, of which the strip does not tell. */
const aside = createClient({ fetch: sendUntold });

/** In the seed. */
const SEEDED = ["ada", "grace", "alan", "edsger"];

function searchFor(query: string): string {
  return `#/search/${encodeURIComponent(query)}`;
}

function favouritesOf(name: string): string {
  return searchFor(`fav:${name}`);
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** Where the picture is: among the blobs of this application, or wherever it has been published from. */
function addressOf({ picture, url }: Image): string {
  return picture === null ? url : client.blobs.url(picture);
}

// ── Searching ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Tile {
  readonly id: string;
  readonly image: Image;
}

function tilesOf({ images, next }: SearchPage): Page<Tile> {
  return {
    entries: images.map((image) => ({ id: String(image.id), image })),
    next: next === 0 ? null : String(next),
  };
}

async function search(query: string): Promise<View> {
  const tags = wordsOf(query);
  const load = (before: string): Promise<Page<Tile>> => client.search({ tags, before: Number(before) }).then(tilesOf);
  const grid = pages(load, ({ image }) => tileView(image), undefined, h("div", { className: "grid" }));
  const [first, logins] = await Promise.all([load("0"), seedLogins(client, SEEDED, () => aside.image({ id: 1 }))]);
  grid.begin(first);
  return {
    title: query === "" ? "Images" : query,
    content: [
      h("h1", { className: "hidden" }, query === "" ? "The newest images" : `Images: ${query}`),
      form(
        {
          query: {
            label: "Tags",
            quiet: true,
            optional: true,
            type: "search",
            placeholder: "sky -night fav:ada",
            value: query,
          },
        },
        "Search",
        ({ query: wanted }) => {
          location.hash = searchFor(wanted);
        },
        { className: "search" },
      ),
      logins,
      // A page may be empty although there are more.
      first.entries.length > 0 || first.next !== null ? null : nothingFound(query),
      grid.element,
    ],
  };
}

function nothingFound(query: string): Child {
  const link = (href: string, words: string): HTMLElement => h("a", { className: "link", href }, words);
  return h(
    "p",
    { className: "empty" },
    ...(query === ""
      ? ["There is no image yet. "]
      : ["No image has all of these tags. ", link("#/", "See the newest"), ". "]),
    ...(me() === null ? [] : [link("#/upload", "Publish one"), "."]),
  );
}

function tileView(image: Image): HTMLElement {
  const { id, tags } = image;
  return h(
    "article",
    { className: "tile" },
    h("a", { href: `#/images/${id}` }, h("img", { src: addressOf(image), alt: tags.join(" "), loading: "lazy" })),
    h("p", { className: "quiet" }, tags.join(" ")),
  );
}

// ── One image ────────────────────────────────────────────────────────────────────────────────────────────────────────

function commentsOf({ comments, next }: CommentPage): Page<Comment> {
  return { entries: comments, next };
}

/** The page of an image changes while it is looked at. */
async function imagePage(id: number): Promise<View> {
  const reader = me();
  const [first, pools, mine] = await Promise.all([
    client.image({ id }),
    reader === null ? null : aside.listPools({ limit: 50 }),
    reader === null ? null : aside.mine({ image: id }),
  ]);
  const { image } = first;
  const picture = h("img", { className: "shown", src: addressOf(image) });
  const votes = votesOf(first.score, (value) => client.vote({ image: id, value }), true);
  votes.mine(mine?.vote ?? 0);
  const favourites = h("span", { className: "quiet", id: "favourites" });
  const list = pages((before) => client.comments({ image: id, before }).then(commentsOf), commentView);
  const tags = h("ul", { className: "tags" });
  let shownTags = "";
  const show = {
    favourites: (count: number) => void (favourites.textContent = counted(count, "favourite")),
    tags: (shown: typeof first.tags) => {
      const text = JSON.stringify(shown);
      // Somebody may be on one of them with the keyboard.
      if (text === shownTags) return;
      shownTags = text;
      tags.replaceChildren(...shown.map((entry) => tagView(id, entry)));
      picture.alt = shown.map(({ tag }) => tag).join(" ");
    },
  };
  const update = (page: typeof first): void => {
    votes.score(page.score);
    show.favourites(page.favourites);
    show.tags(page.tags);
    list.begin(commentsOf(page.comments));
  };
  update(first);
  return {
    title: image.tags.join(" "),
    className: "image",
    content: [
      h("h1", { className: "hidden" }, `Image ${id}`),
      picture,
      h(
        "aside",
        { className: "side" },
        h(
          "p",
          { className: "by" },
          avatar(image.uploader),
          h(
            "span",
            {},
            h("a", { href: favouritesOf(image.uploader) }, h("b", {}, titled(image.uploader))),
            h("span", { className: "quiet" }, `${image.width} × ${image.height}, ${ago(image.at)}`),
          ),
        ),
        h(
          "div",
          { className: "acts" },
          votes.element,
          mine === null ? null : favouriteButton(id, mine.isFavourite, show.favourites),
          favourites,
        ),
        h("div", {}, h("h2", {}, "Tags"), tags, reader === null ? null : tagForm(id)),
        pools === null || pools.pools.length === 0 ? null : poolForm(id, pools.pools),
      ),
      h(
        "section",
        { className: "talk" },
        h("h2", {}, "Comments"),
        reader === null
          ? h("p", { className: "quiet" }, h("a", { href: "#/login" }, "Log in"), " to vote, tag and comment.")
          : commentForm(id),
        list.element,
      ),
    ],
    begin: () => watch((options) => live.image({ id }, options), update),
  };
}

function favouriteButton(image: number, first: boolean, show: (count: number) => void): HTMLElement {
  let isMine = first;
  const put = (): void => {
    button.ariaPressed = String(isMine);
    button.textContent = isMine ? "Favoured" : "Favourite";
    button.className = isMine ? "button" : "button primary";
  };
  const button = action("", async () => {
    show(await (isMine ? client.unfavourite({ image }) : client.favourite({ image })).catch(rethrow));
    isMine = !isMine;
    put();
  });
  put();
  return button;
}

/** The change of tags comes by itself, here and below. */
function tagView(image: number, { tag, count }: { readonly tag: string; readonly count: number }): HTMLElement {
  return h(
    "li",
    {},
    h("a", { href: searchFor(tag) }, tag),
    h("span", { className: "quiet" }, String(count)),
    me() === null
      ? null
      : action("×", () => client.untag({ image, tag }).catch(rethrow), {
          className: "plain",
          ariaLabel: `Remove the tag ${tag}`,
        }),
  );
}

function tagForm(image: number): HTMLFormElement {
  return form(
    { tags: { label: "More tags", quiet: true, placeholder: "more tags" } },
    "Tag",
    ({ tags }) => client.tag({ image, tags: wordsOf(tags) }).catch(rethrow),
    { className: "inline" },
  );
}

function poolForm(image: number, pools: readonly Pool[]): HTMLElement {
  return h(
    "div",
    {},
    h("h2", {}, "Add to a pool"),
    form(
      { pool: { label: "Pool", quiet: true, choices: pools.map(({ id, name }) => [id, name]) } },
      "Add",
      async ({ pool }) => {
        await client.addToPool({ pool, image }).catch(rethrow);
        location.hash = `#/pools/${pool}`;
      },
      { className: "inline" },
    ),
  );
}

function commentForm(image: number): HTMLFormElement {
  return form(
    { text: { label: "Your comment", quiet: true, lines: 2, placeholder: "What do you say?" } },
    "Comment",
    ({ text }) => client.comment({ image, text }).catch(rethrow),
    { className: "say" },
  );
}

function commentView({ author, at, html }: Comment): HTMLElement {
  return h(
    "article",
    { className: "said" },
    avatar(author),
    h(
      "div",
      {},
      h("p", {}, h("b", {}, titled(author)), h("span", { className: "quiet" }, ` ${ago(at)}`)),
      marked(html) as unknown as Node,
    ),
  );
}

// ── Publishing ───────────────────────────────────────────────────────────────────────────────────────────────────────

function upload(): View {
  const chooser = choosePicture();
  return {
    title: "Publish a picture",
    className: "narrow",
    content: [
      h("h1", {}, "Publish a picture"),
      form(
        { tags: { label: "Tags", placeholder: "sky night", title: "words with spaces between them" } },
        "Publish",
        async ({ tags }) => {
          const { file, width, height } = chooser.chosen();
          const picture = await client.blobs.put(file).catch(rethrow);
          const id = await client.publish({ picture, width, height, tags: wordsOf(tags) }).catch(rethrow);
          location.hash = `#/images/${id}`;
        },
        { className: "publish", first: chooser.element },
      ),
    ],
  };
}

// ── Pools ────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function poolList(): Promise<View> {
  const load = async (after: string | null): Promise<Page<Pool>> => {
    const page = await client.listPools({ after });
    return { entries: page.pools, next: page.next };
  };
  const first = await load(null);
  const list = pages(load, poolView, undefined, h("ul", { className: "pools" }));
  list.begin(first);
  return {
    title: "Pools",
    content: [
      h("h1", {}, "Pools"),
      first.entries.length > 0
        ? null
        : h("p", { className: "empty" }, "There is no pool yet. A pool holds images in an order."),
      list.element,
      me() === null
        ? null
        : form(
            { name: { label: "Name of a new pool", quiet: true, placeholder: "name of a new pool" } },
            "Make a pool",
            async ({ name }) => {
              location.hash = `#/pools/${await client.createPool({ name }).catch(rethrow)}`;
            },
            { className: "inline make" },
          ),
    ],
  };
}

function poolView({ id, name, creator }: Pool): HTMLElement {
  return h(
    "li",
    {},
    h("a", { href: `#/pools/${id}` }, h("b", {}, name)),
    h("span", { className: "quiet" }, ` by ${creator}`),
  );
}

async function poolPage(id: string): Promise<View> {
  const pool = await client.pool({ id });
  const count = h("p", { className: "quiet count" });
  const grid = h("div", { className: "grid" });
  const empty = h("p", { className: "empty" }, "It is empty. Open an image, and add it from there.");
  const put = (): void => {
    count.textContent = `by ${pool.creator}, ${counted(grid.children.length, "image")}`;
    empty.hidden = grid.children.length > 0;
  };
  grid.replaceChildren(
    ...pool.images.map((image) => {
      const tile = tileView(image);
      const remove = async (): Promise<void> => {
        await client.removeFromPool({ pool: id, image: image.id }).catch(rethrow);
        tile.remove();
        put();
      };
      if (me() !== null)
        tile.append(
          action("Take out", remove, {
            className: "button small",
            ariaLabel: `Take out image ${image.id}`,
          }),
        );
      return tile;
    }),
  );
  put();
  return { title: pool.name, content: [h("h1", {}, pool.name), count, empty, grid] };
}

// Last: what is above is there by now.
await openApp({
  name: "Images",
  mark: [
    ["rect", { x: "2", y: "3", width: "20", height: "18", rx: "5", fill: "var(--accent)" }],
    ["circle", { cx: "8", cy: "9", r: "2.2", fill: "var(--bg)" }],
    ["path", { d: "m5 18 5-5.5 3 3 3.5-4.5L21 18Z", fill: "var(--bg)" }],
  ],
  accounts: client,
  links: () => [["#/", "Newest"], ["#/pools", "Pools"], ...(me() === null ? [] : [["#/upload", "Publish"] as const])],
  profileOf: favouritesOf,
  view: ([kind, what]) => {
    if (kind === "images" && what !== undefined) return imagePage(Number(what));
    if (kind === "pools") return what === undefined ? poolList() : poolPage(what);
    if (kind === "upload") return upload();
    return search(kind === "search" ? (what ?? "") : "");
  },
});
