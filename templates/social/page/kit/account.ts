/** The reader and the way in. The session is a cookie that no script sees; the page keeps the name alone, to show it. */
import { action, form } from "./actions.ts";
import { type Child, avatar, h, titled } from "./elements.ts";
import { isDevelopment } from "./strip.ts";

/** Handlers that every application with accounts has. */
export interface Accounts {
  login(args: { name: string; password: string }): Promise<{ readonly name: string } | null>;
  register(args: { name: string; password: string }): Promise<{ readonly name: string }>;
  logout(): Promise<unknown>;
}

const NAME = "name";
/** Of the people in the seed. */
const SEED_PASSWORD = "correct horse";

/** The name of the reader; null: nobody is logged in. */
export function me(): string | null {
  return localStorage.getItem(NAME);
}

/** Called with an error of a call: a session that is over is nobody's. Whether it was. */
export function forgetIfOver(error: unknown): boolean {
  const isOver = (error as { readonly code?: string }).code === "not_logged_in";
  if (isOver) remember(null);
  return isOver;
}

/** For the `catch` of a call: forgets a session that is over, and throws the error again. */
export function rethrow(error: unknown): never {
  forgetIfOver(error);
  throw error;
}

function remember(name: string | null): void {
  if (name === null) localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, name);
}

async function enter(opening: Promise<{ readonly name: string } | null>): Promise<void> {
  const opened = await opening;
  if (opened === null) throw new Error("Name or password is wrong.");
  remember(opened.name);
  if (location.hash === "" || location.hash === "#/") dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = "#/";
}

/** A new account. If the answer was lost and the call repeated, its name is taken: by the reader, whose password opens it. */
async function register(
  accounts: Accounts,
  values: { readonly name: string; readonly password: string },
): Promise<{ readonly name: string }> {
  try {
    return await accounts.register(values);
  } catch (error) {
    const isTaken = (error as { readonly code?: string }).code === "name_taken";
    const opened = isTaken ? await accounts.login(values).catch(() => null) : null;
    if (opened === null) throw error;
    return opened;
  }
}

/** At the top of the page: the way in, or the reader and the way out. */
export function accountBox(accounts: Accounts, profileOf: (name: string) => string): readonly Node[] {
  const name = me();
  if (name === null) return [h("a", { className: "button", href: "#/login" }, "Log in")];
  const leave = async (): Promise<void> => {
    await accounts.logout();
    remember(null);
    location.hash = "#/";
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
  return [
    h(
      "a",
      { className: "reader", href: profileOf(name), ariaLabel: `Your page, ${name}` },
      avatar(name, "small"),
      h("b", {}, titled(name)),
    ),
    action("Log out", leave),
  ];
}

/** The page with both ways in. */
export function loginPage(accounts: Accounts): readonly Child[] {
  const name = { label: "Name", pattern: "[a-z0-9\\-]{2,20}", title: "2 to 20 lowercase letters, digits and dashes" };
  return [
    h("h1", {}, "Log in"),
    h(
      "div",
      { className: "ways" },
      h(
        "section",
        {},
        h("h2", {}, "You have an account"),
        form(
          {
            name: { ...name, autocomplete: "username" },
            password: { label: "Password", type: "password", autocomplete: "current-password" },
          },
          "Log in",
          (values) => enter(accounts.login(values)),
          { className: "login" },
        ),
      ),
      h(
        "section",
        {},
        h("h2", {}, "You are new"),
        form(
          {
            name: { ...name, autocomplete: "username" },
            password: {
              label: "Password",
              type: "password",
              autocomplete: "new-password",
              pattern: ".{8,}",
              title: "at least 8 characters",
            },
          },
          "Make an account",
          (values) => enter(register(accounts, values)),
          { className: "register" },
        ),
      ),
    ),
  ];
}

export interface Seeded {
  readonly name: string;
  readonly words: string;
}

/** How to begin: with `radical dev` as one of the people of the seed, else with an account. `people`: those of the seed that are there. */
export function startPage(accounts: Accounts, title: string, people: readonly Seeded[]): readonly Child[] {
  const account = h("a", { href: "#/login" }, "make an account of your own");
  if (!isDevelopment()) return [h("h1", {}, title), h("p", { className: "lead" }, "Log in, or ", account, ".")];
  if (people.length === 0)
    return [
      h("h1", {}, "Nobody is here yet."),
      h("p", { className: "lead" }, "Fill the storage with people to be, in another terminal, and reload this page:"),
      h("pre", {}, h("code", {}, "npx radical data seed")),
      h("p", { className: "quiet" }, "Or ", account, "."),
    ];
  return [
    h("h1", {}, "Pick somebody to be."),
    h(
      "p",
      { className: "lead" },
      `${titled(numbers[people.length] ?? String(people.length))} people are here already. One click logs you in as one of them.`,
    ),
    h(
      "ul",
      { className: "people" },
      people.map(({ name, words }) =>
        h(
          "li",
          {},
          action(
            [
              avatar(name, "large"),
              h("span", {}, h("b", {}, titled(name)), h("span", { className: "quiet" }, words)),
              h("span", { className: "go" }, `Be ${titled(name)}`),
            ],
            () => enter(accounts.login({ name, password: SEED_PASSWORD })),
            { className: "" },
          ),
        ),
      ),
    ),
    h("p", { className: "quiet" }, "Or ", account, ". It stays on this machine."),
  ];
}

/** With `radical dev`, for somebody who is not logged in: one click to be one of the seed's people that are there. */
export async function seedLogins(
  accounts: Accounts,
  names: readonly string[],
  find: (name: string) => Promise<unknown>,
): Promise<HTMLElement | null> {
  if (!isDevelopment() || me() !== null) return null;
  const found = await Promise.all(
    names.map((name) =>
      find(name).then(
        () => name,
        () => null,
      ),
    ),
  );
  const people = found.filter((name) => name !== null);
  if (people.length === 0)
    return h(
      "p",
      { className: "begin" },
      // One child: others would stand in places of their own.
      h("span", {}, "Nobody is here yet. Run ", h("code", {}, "npx radical data seed"), ", and reload this page."),
    );
  return h(
    "div",
    { className: "begin" },
    h("span", {}, "Look around, or be somebody:"),
    people.map((name) =>
      action([avatar(name, "tiny"), titled(name)], () => enter(accounts.login({ name, password: SEED_PASSWORD })), {
        className: "button small",
        ariaLabel: `Be ${titled(name)}`,
      }),
    ),
  );
}

const numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"];
