/** The parts of the page: calls of handlers, the session, and elements. No dependencies. */
import { createClient } from "./client.js";

/** The session of this browser: `{ token, name }`, or null. */
export function session() {
  return JSON.parse(localStorage.getItem("session") ?? "null");
}

export function setSession(value) {
  if (value === null) localStorage.removeItem("session");
  else localStorage.setItem("session", JSON.stringify(value));
}

/** The application's handlers. The build makes the client; its calls go to the page's own origin. */
export const client = createClient();

/** Calls a handler. Throws the error of the answer: its `message` is for the reader, its `code` for the page. */
export async function call(handler, args = {}) {
  try {
    return await client[handler](args);
  } catch (error) {
    if (error.code === "not_logged_in") setSession(null);
    if (error.code === "network_error") throw new Error("The network can't be reached.", { cause: error });
    throw error;
  }
}

/** An element: `h("a", { href: "#", onclick }, "text", otherElement)`. Text is text, never markup. */
export function h(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

/**
 * A form of these fields, `{ name: { label, placeholder, type, … } }`; `submit` gets their values. What it throws is shown. A
 * field without a label is named by its placeholder. One of the type `select` has a list of `choices`.
 */
export function form(fields, label, submit) {
  const inputs = Object.entries(fields).map(([name, field]) => {
    const { type = "text", label: words, choices = [], value, ...properties } = field;
    const isInput = type !== "textarea" && type !== "select";
    return Object.assign(
      h(
        isInput ? "input" : type,
        {
          name,
          required: true,
          // For those who hear the page.
          ariaLabel: words ?? properties.placeholder,
          ...(isInput ? { type } : {}),
          ...properties,
        },
        choices.map((choice) => h("option", {}, choice)),
      ),
      value === undefined ? {} : { value },
    );
  });
  const named = inputs.map((input) => {
    const { label: words } = fields[input.name];
    return words === undefined ? input : h("label", {}, words, input);
  });
  const button = h("button", {}, label);
  const onsubmit = (event) => {
    event.preventDefault();
    button.disabled = true;
    attempt(async () => {
      await submit(Object.fromEntries(inputs.map(({ name, value }) => [name, value])));
    }).finally(() => (button.disabled = false));
  };
  return h("form", { onsubmit }, named, button);
}

/** A button that does something; what it throws is shown. `meaning`: in words, where the label is a sign. */
export function action(label, work, meaning = label) {
  return h("button", { type: "button", title: meaning, ariaLabel: meaning, onclick: () => attempt(work) }, label);
}

export async function attempt(work) {
  say("");
  try {
    await work();
  } catch (error) {
    say(error.message);
  }
}

/** A line for the reader, at the top of the page. */
export function say(text) {
  document.querySelector("#message").textContent = text;
}

/** Shows `elements` as the page's content. */
export function show(...elements) {
  document.querySelector("main").replaceChildren(...elements.flat().filter((element) => element !== null));
}

let watched = null;

/**
 * Shows the results of a live query as they change, until the page shows another one, or nothing: null. The options of the query
 * tell the reader when its last result may be old.
 */
export function watch(query, update) {
  watched?.close();
  watched = null;
  if (query === null) return;
  const live = query({ onStale: (isStale) => say(isStale ? "No connection: this may be old." : "") });
  watched = live;
  attempt(async () => {
    for await (const result of live) if (watched === live) update(result);
  });
}

/** Puts these elements into a list. Those that are in their place stay as they are: a reader may be typing there. */
export function arrange(list, elements) {
  for (const [at, element] of elements.entries())
    if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
  while (list.children.length > elements.length) list.lastChild.remove();
}

/**
 * The older entries of a list, below its newest page: a button loads one page after the other. `load(cursor)` gives
 * `{ entries, next }`. `view` makes the element of an entry, which has an `id`. `list` takes these elements. `begin` tells the newest
 * page, whenever it changes.
 */
export function older(load, view, list = h("div", {})) {
  const shown = new Map();
  let [begun, next] = [null, null];
  const button = action("More", async () => {
    const page = await load(next);
    add(page.entries, [...shown.values()], []);
    proceed(page.next);
  });
  const add = (entries, before, behind) => {
    const added = entries.filter(({ id }) => !shown.has(id));
    for (const entry of added) shown.set(entry.id, view(entry));
    arrange(list, [...before, ...added.map(({ id }) => shown.get(id)), ...behind]);
  };
  const proceed = (cursor) => {
    next = cursor;
    button.hidden = cursor === null;
  };
  const begin = ({ entries, next: cursor }) => {
    for (const { id } of entries) {
      shown.get(id)?.remove();
      shown.delete(id);
    }
    if (shown.size === 0) return proceed(cursor);
    if (cursor === begun || cursor === null) return;
    begun = cursor;
    // Entries that the newest page had before.
    attempt(async () => add((await load(cursor)).entries, [], [...list.children]));
  };
  button.hidden = true;
  return Object.assign(h("div", {}, list, button), { begin });
}

/** Logging in or out, at the top; `changed` is called after either. */
export function showSession(changed) {
  const current = session();
  const enter = (handler) => async () => {
    const values = Object.fromEntries(new FormData(document.querySelector("#session form")));
    const opened = await call(handler, values);
    if (opened === null) throw new Error("Name or password is wrong.");
    setSession(opened);
    await changed();
  };
  const box =
    current === null
      ? form(
          { name: { placeholder: "name" }, password: { placeholder: "password", type: "password" } },
          "Log in",
          enter("login"),
        )
      : h(
          "span",
          {},
          h("b", {}, current.name),
          " ",
          action("Log out", async () => {
            await call("logout");
            setSession(null);
            await changed();
          }),
        );
  if (current === null) box.append(action("Register", enter("register")));
  document.querySelector("#session").replaceChildren(box);
}

/** A number of things: `1 comment`, `2 comments`. */
export function counted(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** A time in milliseconds as a person says it; the date after a month. */
export function ago(at) {
  const minutes = Math.round((Date.now() - at) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 1440) return `${Math.round(minutes / 60)} h ago`;
  const days = Math.round(minutes / 1440);
  return days <= 30 ? `${days} d ago` : new Date(at).toLocaleDateString(undefined, { dateStyle: "medium" });
}
