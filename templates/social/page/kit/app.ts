/** The frame of the page: its head, the place for what it shows, the strip, and the way from one view to the next. */
import { type Accounts, accountBox, forgetIfOver, loginPage } from "./account.ts";
import { attempt } from "./actions.ts";
import { type Child, type Shape, drawing, h } from "./elements.ts";
import { watch } from "./live.ts";
import { openStrip } from "./strip.ts";

export interface App {
  readonly name: string;
  /** Of 24 by 24. */
  readonly mark: readonly Shape[];
  readonly accounts: Accounts;
  readonly links?: () => readonly (readonly [href: string, words: string])[];
  readonly profileOf: (name: string) => string;
  /** Gives the view at a path: the parts of `#/people/ada` are `people` and `ada`. */
  readonly view: (parts: readonly string[]) => View | Promise<View>;
}

export interface View {
  /** For the window and for those who hear the page. */
  readonly title: string;
  readonly content: readonly Child[];
  /** Of `main`. */
  readonly className?: string;
  /** Called when the content is there. */
  readonly begin?: () => void;
}

export async function openApp({ name, mark, accounts, links, profileOf, view }: App): Promise<void> {
  const nav = h("nav", { ariaLabel: "Pages" });
  const account = h("div", { className: "account" });
  const main = h("main", { id: "main", tabIndex: -1 });
  const message = h("p", { id: "message" });
  message.role = "status";
  document.body.replaceChildren(
    h("a", { className: "skip", href: "#main", onclick: skip }, "Skip to the content"),
    h(
      "header",
      { className: "top" },
      h("a", { className: "logo", href: "#/" }, drawing("0 0 24 24", mark), name),
      nav,
      account,
    ),
    message,
    main,
    await openStrip(),
  );
  function skip(event: Event): void {
    event.preventDefault();
    main.focus();
  }

  let shown = "";
  let renders = 0;
  const render = async (): Promise<void> => {
    const { hash } = location;
    const number = ++renders;
    const parts = hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
    watch(null);
    nav.replaceChildren(...(links?.() ?? []).map(([href, words]) => linkOf(href, words, hash)));
    let found: View;
    try {
      found =
        parts[0] === "login"
          ? { title: "Log in", content: loginPage(accounts), className: "narrow" }
          : await view(parts);
    } catch (error) {
      forgetIfOver(error);
      if (number !== renders) return;
      account.replaceChildren(...accountBox(accounts, profileOf));
      main.replaceChildren(h("p", {}, h("a", { className: "link", href: "#/" }, "Back to the beginning")));
      throw error;
    }
    // The reader has gone on meanwhile, or logged in at the same path: the newest render alone may show something.
    if (number !== renders) return;
    account.replaceChildren(...accountBox(accounts, profileOf));
    main.className = found.className ?? "";
    main.replaceChildren(...h("div", {}, found.content).childNodes);
    document.title = found.title === name ? name : `${found.title} · ${name}`;
    if (shown !== hash) scrollTo(0, 0);
    shown = hash;
    found.begin?.();
  };
  addEventListener("hashchange", () => void attempt(render));
  account.replaceChildren(...accountBox(accounts, profileOf));
  await attempt(render);
}

function linkOf(href: string, words: string, hash: string): HTMLElement {
  const link = h("a", { href }, words);
  if (hash === href || (hash === "" && href === "#/")) link.ariaCurrent = "page";
  return link;
}
