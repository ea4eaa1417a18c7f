/** The pages of the image board. */
import { type Comment, type CommentPage, type Image, type Pool, type SearchPage, createClient } from "#radical";
import "./kit/kit.css";
import "./page.css";
import { forgetIfOver, me, seedLogins } from "./kit/account.ts";
import { action, form } from "./kit/actions.ts";
import { type View, openApp } from "./kit/app.ts";
import { type Child, ago, avatar, counted, drawing, h, marked, titled } from "./kit/elements.ts";
import { type Page, pages, watch } from "./kit/live.ts";
import { send } from "./kit/strip.ts";

const client = createClient({ fetch: send });
const { live } = client;

/** In the seed. */
const SEEDED = ["ada", "grace", "alan", "edsger"];

function rethrow(error: unknown): never {
  forgetIfOver(error);
  throw error;
}

function searchFor(query: string): string {
  return `#/search/${encodeURIComponent(query)}`;
}

function favouritesOf(name: string): string {
  return searchFor(`fav:${name}`);
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
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
  const [first, logins] = await Promise.all([load("0"), seedLogins(client, SEEDED, () => client.image({ id: 1 }))]);
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

function tileView({ id, url, tags }: Image): HTMLElement {
  return h(
    "article",
    { className: "tile" },
    h("a", { href: `#/images/${id}` }, h("img", { src: url, alt: tags.join(" "), loading: "lazy" })),
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
    reader === null ? null : client.listPools({ limit: 50 }),
    reader === null ? null : client.search({ tags: [`fav:${reader}`], before: id + 1, limit: 1 }),
  ]);
  const { image } = first;
  const isMine = mine?.images[0]?.id === id;
  const picture = h("img", { className: "shown", src: image.url });
  const score = h("b", { className: "score", id: "score" });
  const favourites = h("span", { className: "quiet", id: "favourites" });
  const list = pages((before) => client.comments({ image: id, before }).then(commentsOf), commentView);
  const tags = h("ul", { className: "tags" });
  let shownTags = "";
  const show = {
    score: (count: number) => void (score.textContent = String(count)),
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
    show.score(page.score);
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
          votesOf(id, score, show.score),
          reader === null ? null : favouriteButton(id, isMine, show.favourites),
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

function votesOf(image: number, score: HTMLElement, show: (score: number) => void): HTMLElement {
  if (me() === null) return h("div", { className: "votes" }, "Score ", score);
  const cast = (value: 1 | -1): HTMLElement => {
    const points = value === 1 ? "5,13 10,6 15,13" : "5,7 10,14 15,7";
    const words = value === 1 ? "Vote up" : "Vote down";
    const button = action(
      drawing("0 0 20 20", [["polygon", { points }]]),
      async () => {
        const isBack = button.ariaPressed === "true";
        show(await client.vote({ image, value: isBack ? 0 : value }).catch(rethrow));
        for (const other of element.querySelectorAll("button")) other.ariaPressed = String(other === button && !isBack);
      },
      { className: "vote", ariaLabel: words, title: words, ariaPressed: "false" },
    );
    return button;
  };
  const element = h("div", { className: "votes" }, cast(1), score, cast(-1));
  return element;
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
          className: "",
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
  return {
    title: "Publish an image",
    className: "narrow",
    content: [
      h("h1", {}, "Publish an image"),
      form(
        {
          url: { label: "Address of the picture", placeholder: "https://" },
          tags: { label: "Tags", placeholder: "sky night" },
        },
        "Publish",
        async ({ url, tags }) => {
          const size = await sizeOf(url);
          const id = await client.upload({ url, ...size, tags: wordsOf(tags) }).catch(rethrow);
          location.hash = `#/images/${id}`;
        },
        { className: "publish", hint: "The picture stays where it is: the board keeps its address." },
      ),
    ],
  };
}

/** In pixels. */
async function sizeOf(url: string): Promise<{ readonly width: number; readonly height: number }> {
  const picture = h("img", { src: url });
  await picture.decode().catch(() => {
    throw new Error("There is no picture at this address.");
  });
  return { width: picture.naturalWidth, height: picture.naturalHeight };
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
  const count = h("p", { className: "quiet" });
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
