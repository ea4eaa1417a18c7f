import { describe, expect, test } from "vitest";
import { buildApplication, type Diagnostic } from "../index.ts";
import { buildInput } from "../testing/library.ts";

const PRELUDE = `import { Table, abort } from "@radical/sdk";
class Part { size: i32 = 0; }
class User { name: string = ""; visits: i32 = 0; tags: string[] = []; part: Part = new Part(); parts: Part[] = []; best: Part | null = null; }
const users = new Table<User>("users");
const others = new Table<User>("others");
const lists = new Table<string[]>("lists");
`;

async function warnings(code: string): Promise<readonly Diagnostic[]> {
  const { diagnostics } = await buildApplication({
    ...buildInput({ "handlers/a.ts": PRELUDE + code }),
    optimize: false,
  });
  expect(diagnostics.filter((found) => found.severity === "error")).toEqual([]);
  return diagnostics.filter((found) => found.code === "unsaved_change");
}

/** The source text of what is told. */
async function toldIn(code: string): Promise<readonly string[]> {
  const text = PRELUDE + code;
  return (await warnings(code)).map(({ primary }) => text.slice(primary.start, primary.end).replace(/;$/, ""));
}

describe("told", () => {
  test.each([
    ["a field", 'u.name = "x";', 'u.name = "x"'],
    ["a count", "u.visits++;", "u.visits++"],
    ["a sum", "u.visits += 2;", "u.visits += 2"],
    ["a count by its own value", "u.visits = u.visits + 1;", "u.visits = u.visits + 1"],
    ["a list", 'u.tags.push("x");', 'u.tags.push("x")'],
    ["an element", 'u.tags[0] = "x";', 'u.tags[0] = "x"'],
    ["a part", "u.part.size = 3;", "u.part.size = 3"],
    ["an element's field", "u.parts[0].size = 3;", "u.parts[0].size = 3"],
    ["a part in a variable", "const p = u.parts[0]; p.size = 3;", "p.size = 3"],
    ["a link", "u.best = u.parts[0];", "u.best = u.parts[0]"],
    ["in a branch", 'if (u.visits > 3) { u.name = "x"; } else return false;', 'u.name = "x"'],
    ["in a loop", "for (let i = 0; i < 3; i++) u.visits++;", "u.visits++"],
    ["of each element", "for (let i = 0; i < u.parts.length; i++) u.parts[i].size = 0;", "u.parts[i].size = 0"],
    ["behind a check", 'if (u.name == "x") abort(409, "same", "x"); u.name = "y";', 'u.name = "y"'],
    ["by a function", "bump(u);", "user.visits++"],
    ["another record is put", "const o = others.get(k)!; u.visits++; others.put(k, o);", "u.visits++"],
    ["a copy of it is put before", "const c = new User(); c.name = u.name; users.put(k, c); u.visits++;", "u.visits++"],
  ])("%s", async (_name, statement, expected) => {
    const code = `function bump(user: User): void { if (user.visits > 3) return; user.visits++; }
export function change(k: string): bool { const u = users.get(k); if (u == null) return false; ${statement} return true; }`;
    expect(await toldIn(code)).toEqual([expected]);
  });

  test("a record that may be new", async () => {
    expect(
      await toldIn(`export function count(k: string): bool {
        const found = users.get(k);
        const user = found == null ? new User() : found;
        user.visits += 1;
        return true;
      }`),
    ).toEqual(["user.visits += 1"]);
  });

  test("an item that is a list", async () => {
    expect(
      await toldIn(`export function add(k: string): void { const l = lists.get(k); if (l != null) l.push(k); }`),
    ).toEqual(["l.push(k)"]);
  });

  test("words: the handler, the read, further changes, and the put", async () => {
    const [told, ...more] = await warnings(`export function rename(id: string, name: string): void {
      const user = users.get(id)!;
      user.name = name;
      user.part.size++;
    }`);
    expect(more).toEqual([]);
    expect(told).toMatchObject({
      severity: "warning",
      message: "The change of user.name is lost, because rename never puts that record.",
      primary: { line: 9 },
      related: [
        { span: { line: 8 }, label: "the record is read here" },
        { span: { line: 10 }, label: "this change is lost too" },
      ],
      help: "Store the record after its changes: `users.put(id, user);`. Or leave the change out.",
    });
  });

  test("each handler that shares a function answers for itself", async () => {
    const told = await warnings(`function bump(user: User): void { user.visits++; }
      export function keeps(k: string): void { const u = users.get(k)!; bump(u); users.put(k, u); }
      export function loses(k: string): void { const u = users.get(k)!; bump(u); }`);
    expect(told.map(({ message }) => message)).toEqual([
      "The change of user.visits is lost, because loses never puts that record.",
    ]);
  });
});

describe("not told", () => {
  test.each([
    ["put", 'u.name = "x"; users.put(k, u);'],
    ["put before, perhaps by mistake", 'users.put(k, u); u.name = "x";'],
    ["put on one path", 'u.name = "x"; if (u.visits > 3) users.put(k, u);'],
    ["put elsewhere", 'u.name = "x"; others.put(k, u);'],
    ["a part is put", "u.part.size = 1; const o = new User(); o.part = u.part; others.put(k, o);"],
    ["put by a function", 'u.name = "x"; store(k, u);'],
    ["returned", 'u.name = "x"; return u;'],
    ["returned in something", "u.parts[0].size = 1; const o = new User(); o.parts.push(u.parts[0]); return o;"],
    ["read behind it", 'u.name = "x"; if (u.name.length > 3) abort(400, "long", "x");'],
    ["read by an abort", 'u.visits++; abort(400, "no", u.visits.toString());'],
    ["read by the next round", "for (let i = 0; i < 3; i++) { if (u.visits > 2) return null; u.visits++; }"],
    ["read by a function", "u.visits++; if (seen(u)) return null;"],
    ["read by the caller", "bump(u); if (u.visits > 3) return null;"],
    ["a list in another order, read", 'u.tags.sort(); if (u.tags[0] == "x") return null;'],
    ["a list that is joined", 'u.tags.push("x"); if (u.tags.join(",") == "x") return null;'],
    ["a list that is searched", 'u.tags.push("x"); if (u.tags.includes(k)) return null;'],
    ["its value is used", "if (u.visits++ > 3) return null;"],
    ["an element that is taken", "const t = u.tags.pop(); if (t == k) return null;"],
    ["a record of its own", 'const o = new User(); o.name = "x"; if (u == o) return null;'],
    ["a key", "u.visits++; const o = others.get(u.visits.toString()); if (o == null) return null;"],
    ["read by a callback", "u.parts[0].size = 3; if (u.parts.some((p) => p.size > 2)) return null;"],
    ["beside a change that is read", 'u.name = "x"; u.tags.push("y"); if (u.tags.length > 3) return null;'],
    ["in a list that is returned", 'const all: User[] = [u]; u.name = "x"; return all[0];'],
  ])("%s", async (_name, statement) => {
    const code = `function store(k: string, user: User): void { users.put(k, user); }
function seen(user: User): bool { return user.visits > 3; }
function bump(user: User): void { user.visits++; }
export function change(k: string): User | null { const u = users.get(k); if (u == null) return null; ${statement} return null; }
export function unused(k: string, user: User): bool { const new_ = new User(); bump(new_); store(k, new_); return seen(user); }`;
    expect(await toldIn(code)).toEqual([]);
  });

  test("an argument that is changed", async () => {
    expect(await toldIn('export function change(user: User): void { user.name = "x"; }')).toEqual([]);
  });
});
