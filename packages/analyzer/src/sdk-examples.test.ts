/** The examples of the SDK's doc comments build, as `docs/sdk.md` shows them. An example is a part of a program: this has the rest. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { buildApplication } from "./index.ts";
import { buildInput } from "./testing/library.ts";

const page = readFileSync(new URL("../../../docs/sdk.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""]) => code);

/** Declarations that examples speak of, by the name. An example that has its own gets none of these. */
const AROUND: Readonly<Record<string, string>> = {
  Post: 'export class Post { author: string = ""; at: i64 = 0; }',
  User: 'export class User { name: string = ""; email: string = ""; picture: Blob | null = null; followers: string[] = []; }',
  Account: 'export class Account { passwordHash: string = ""; }',
  Session: 'export class Session { name: string = ""; }',
  Approval: 'export class Approval { by: string = ""; }',
  posts: 'const posts = new Table<Post>("posts");',
  users: 'const users = new Table<User>("users");',
  accounts: 'const accounts = new Table<Account>("accounts");',
  sessions: 'const sessions = new Table<Session>("sessions");',
  sendReminder: "export function sendReminder(order: string): void {}",
  hold: "export function hold(order: string, seat: string): string { return seat; }",
  release: "export function release(order: string, seat: string): void {}",
  charge: "export function charge(order: string, cents: i32): string { return order; }",
  confirm: "export function confirm(order: string, payment: string): void {}",
  watch:
    "/** @workflow */\nexport function watch(account: string, round: i32): i32 { return again(watch(account, round)); }",
};

/** Types of variables that examples use and do not declare. */
const PARAMETERS: Readonly<Record<string, string>> = {
  room: "string",
  before: "string | null",
  email: "string",
  text: "string",
  name: "string",
  other: "string",
  order: "string",
  seat: "string",
  cents: "i32",
  round: "i32",
  password: "Secret",
  token: "Secret",
};

const NAMES =
  "Table Index Unique Counter Objects Signal Blob Secret abort parseTime log hashPassword verifyPassword needsRehash sha256 enqueue run start undo again caller".split(
    " ",
  );

function programOf(example: string): string {
  const isDeclared = (name: string): boolean => new RegExp(`\\b(?:class|function|const|let) ${name}\\b`).test(example);
  const uses = (code: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(code);
  const declared: string[] = [];
  const body: string[] = [];
  // A class or a function goes on until its brace is closed.
  for (const [part] of example.matchAll(/^export .*\}$|^export [^]*?^\}$|^.+$/gm))
    (/^export |^const \w+ = new [A-Z]/.test(part) ? declared : body).push(part);
  if (body.length > 0)
    declared.push(handlerOf(body.join("\n"), (name) => uses(body.join("\n"), name) && !isDeclared(name)));
  let code = declared.join("\n");
  // Declarations use others, which stand before them.
  for (const [name, declaration] of Object.entries(AROUND).toReversed())
    if (uses(code, name) && !new RegExp(`^export \\w+ ${name}\\b|^const ${name}\\b`, "m").test(code))
      code = `${declaration}\n${code}`;
  const imported = NAMES.filter((name) => uses(code, name));
  return `import { ${imported.join(", ")} } from "@radical/sdk";\n${code}\n`;
}

/** A handler with this body. `lacks`: whether the body needs a variable of this name from outside. */
function handlerOf(body: string, lacks: (name: string) => boolean): string {
  const parameters = Object.entries(PARAMETERS).flatMap(([name, type]) => (lacks(name) ? [`${name}: ${type}`] : []));
  const lines = [body];
  if (lacks("session")) lines.unshift("const session = new Session();");
  if (lacks("account")) {
    if (!/\baccount\./.test(body)) parameters.unshift("account: string");
    else {
      lines.unshift('const account = accounts.get("ann")!;');
      lines.push('accounts.put("ann", account);');
    }
  }
  // `again` calls the workflow in whose body it stands.
  const again = /\bagain\((\w+)\(/.exec(body)?.[1];
  const result = again !== undefined ? "i32" : /\breturn /.test(body) ? "string[]" : "void";
  const tag = /\b(?:run|start|undo|again)\(/.test(body) ? "/** @workflow */\n" : "";
  return `${tag}export function ${again ?? "example"}(${parameters.join(", ")}): ${result} {\n${lines.join("\n")}\n}`;
}

test.each(examples.map((code) => [code.split("\n")[0] ?? "", code]))(
  "the example that begins with %s",
  async (_, code) => {
    const program = programOf(code);
    // One that only declares something builds with a handler beside it.
    const handler = /^export function /m.test(program) ? "" : "export function nothing(): void {}\n";
    const result = await buildApplication({
      ...buildInput({ "handlers/example.ts": program + handler }),
      optimize: false,
    });
    expect(result.diagnostics).toEqual([]);
  },
);

test("there are examples", () => {
  expect(examples.length).toBeGreaterThan(15);
});
