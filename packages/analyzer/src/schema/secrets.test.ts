/** Parameters of the type `Secret`, and the places in which it is refused. */
import { describe, expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

const IMPORTS = 'import { Secret, Table, enqueue, hashPassword, sha256, verifyPassword } from "@radical/sdk";\n';
const TABLES = "class Account { hash: string = ''; }\nconst accounts = new Table<Account>('accounts');\n";

const analysed = (body: string) =>
  buildWith({ ...buildInput({ "handlers/a.ts": IMPORTS + TABLES + body }), modules: false }, slicer);

test("a parameter is a secret by its name, by another name for it, with null, and left out", () => {
  const { diagnostics, handlers, services } = analysed(`
type Password = Secret;
type Perhaps = Password | null;
function check(password: Secret, hash: string): bool { return verifyPassword(password, hash); }
export function login(name: string, password: Secret): bool { return check(password, accounts.get(name)!.hash); }
export function others(name: string, one: Password, two: Secret | null, three: Perhaps, four?: Secret, five: Secret = "", six?: string): void {
  enqueue(tell(name, one));
}
/** @service */
export declare function tell(name: string, token: Secret): void;
`);
  expect(diagnostics).toEqual([]);
  const secretsOf = (name: string) =>
    [...handlers, ...services]
      .find((one) => one.name === name)
      ?.parameters.filter(({ secret }) => secret === true)
      .map((parameter) => parameter.name);
  expect(secretsOf("login")).toEqual(["password"]);
  expect(secretsOf("others")).toEqual(["one", "two", "three", "four", "five"]);
  expect(secretsOf("tell")).toEqual(["token"]);
  // In all else it is a string.
  expect(handlers.find(({ name }) => name === "login")?.parameters[1]?.type).toEqual({ kind: "string" });
});

describe("it is refused", () => {
  const refused = (body: string): readonly string[] =>
    analysed(body)
      .diagnostics.filter(({ code }) => code === "misplaced_secret")
      .map(({ message }) => message);

  test.each([
    [
      "the field password of record class Login",
      "class Login { password: Secret = ''; }\nexport function h(login: Login): void {}",
    ],
    ["the parameter list of handler h", "export function h(list: Secret[]): void {}"],
    ["the parameter map of handler h", "export function h(map: Record<string, Secret>): void {}"],
    ["the result of handler h", "export function h(): Secret { return ''; }"],
    [
      "the items of table tokens",
      "const tokens = new Table<Secret>('tokens');\nexport function h(): bool { return tokens.has('a'); }",
    ],
  ])("as %s", (what, body) => {
    const first = what[0]!.toUpperCase() + what.slice(1);
    expect(refused(body)).toEqual([`${first} can't be a Secret, because its value is stored or sent on.`]);
  });

  test.each([
    "export function h(token: Secret): bool { return accounts.has(token); }",
    "function has(key: string): bool { return accounts.has(key); }\nexport function h(token: Secret): bool { return has(`a/${token}`); }",
    "/** @nearstorage */\nexport function h(token: Secret): void { accounts.delete(token); }",
  ])("as a key, and its hash is not", (body) => {
    expect(refused(body)).toEqual([
      "The Secret token of handler h is in a key of accounts, and keys can be seen in requests, logs and caches.",
    ]);
    expect(refused(body.replaceAll(/(accounts\.\w+\()(\w+)\)/g, "$1sha256($2))"))).toEqual([]);
  });
});
