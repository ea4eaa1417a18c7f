/** Lists and numbers that change while somebody looks. */
import { action, attempt, say } from "./actions.ts";
import { arrange, h } from "./elements.ts";
import { forgetIfOver } from "./account.ts";

interface Live<Result> extends AsyncIterable<Result> {
  close(): void;
}

let watched: { close(): void } | null = null;

/**
 * Shows the results of a live query as they change, until the page shows another one, or nothing: null. It tells the reader when the
 * last result may be old.
 */
export function watch<Result>(
  query: ((options: { onStale: (isStale: boolean) => void }) => Live<Result>) | null,
  update: (result: Result) => void = () => undefined,
): void {
  watched?.close();
  watched = null;
  if (query === null) return;
  const live = query({ onStale: (isStale) => say(isStale ? "No connection: this may be old." : "") });
  watched = live;
  void attempt(async () => {
    for await (const result of live) if (watched === live) update(result);
  });
}

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Of the page behind it; null: there is none. */
  readonly next: string | null;
}

/** A list that is loaded page by page. `begin` tells its newest page, whenever that changes. */
export interface Pages<Entry> {
  readonly element: HTMLElement;
  readonly begin: (page: Page<Entry>) => void;
}

/** `view` makes the element of an entry, once. `update` gets those that are shown and come again in a newest page. */
export function pages<Entry extends { readonly id: string }>(
  load: (cursor: string) => Promise<Page<Entry>>,
  view: (entry: Entry) => HTMLElement,
  update: (entry: Entry, element: HTMLElement) => void = () => undefined,
  list: HTMLElement = h("div", { className: "list" }),
): Pages<Entry> {
  const shown = new Map<string, HTMLElement>();
  let newest: string[] = [];
  let older: string[] = [];
  let [begun, next]: (string | null)[] = [null, null];
  const elementOf = (entry: Entry): void => {
    const known = shown.get(entry.id);
    if (known === undefined) shown.set(entry.id, view(entry));
    else update(entry, known);
  };
  const arranged = (): void => {
    older = older.filter((id) => !newest.includes(id));
    arrange(
      list,
      [...newest, ...older].map((id) => shown.get(id)!),
    );
  };
  const more = action("Older", async () => {
    const page = await load(next!);
    page.entries.forEach(elementOf);
    older = [...new Set([...older, ...page.entries.map(({ id }) => id)])];
    next = page.next;
    more.hidden = next === null;
    arranged();
  });
  more.hidden = true;
  const begin = ({ entries, next: cursor }: Page<Entry>): void => {
    entries.forEach(elementOf);
    const pushed = newest.filter((id) => !entries.some((entry) => entry.id === id));
    newest = entries.map(({ id }) => id);
    if (begun === null) {
      [begun, next] = [cursor, cursor];
      more.hidden = cursor === null;
    } else older = [...pushed, ...older];
    arranged();
  };
  return { element: h("div", {}, list, h("p", { className: "more" }, more)), begin };
}

interface Speculation<Result> {
  [Symbol.asyncIterator](): AsyncIterator<{ readonly kind: string; readonly result: Result }>;
}

/** The value that is confirmed, and the newest call for another one. */
interface Shown<Value> {
  confirmed: Value;
  newest: object | null;
}

/** A value whose changes show before they are confirmed, marked, and are taken back if the call fails. */
export interface Early<Value> {
  /** The newest confirmed value, as the page hears of it. */
  confirm(value: Value): void;
  change<Result>(speculation: Speculation<Result>, valueOf: (result: Result) => Value): Promise<void>;
}

export function early<Value>(element: HTMLElement, first: Value, put: (value: Value) => void): Early<Value> {
  const shown: Shown<Value> = { confirmed: first, newest: null };
  const show = (value: Value, isBusy: boolean): void => {
    put(value);
    element.ariaBusy = String(isBusy);
  };
  show(first, false);
  return {
    confirm(value) {
      shown.confirmed = value;
      if (element.ariaBusy !== "true") show(value, false);
    },
    async change(speculation, valueOf) {
      shown.newest = speculation;
      try {
        for await (const { kind, result } of speculation) {
          const value = valueOf(result);
          const isBusy = kind === "speculative";
          if (!isBusy) shown.confirmed = value;
          if (shown.newest === speculation) show(value, isBusy);
        }
      } catch (error) {
        if (shown.newest === speculation) show(shown.confirmed, false);
        forgetIfOver(error);
        throw error;
      }
    },
  };
}
