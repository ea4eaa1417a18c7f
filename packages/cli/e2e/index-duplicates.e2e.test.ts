/** Stored items that share the fields of a new unique index: `radical dev` serves the last good build, and lists them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createProject, radical, type RadicalDev, radicalDev, type TemporaryProject } from "./radical-process.ts";

const SOON = { timeout: 100_000, interval: 30 };

const handlers = (unique: boolean): string => `import { Table, Unique } from "@radical/sdk";
export class User { email: string = ""; name: string = ""; }
const users = new Table<User>("users");
${unique ? 'const byEmail = new Unique<User>(users, "email");' : ""}
export function register(id: string, email: string): void { users.put(id, { email, name: id }); }
export function nameOf(email: string): string {
  ${unique ? "const user = byEmail.find(email);" : "const user = users.get(email);"}
  return user == null ? "nobody" : user.name;
}
`;

let project: TemporaryProject;
let dev: RadicalDev;

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "users", dev: { locations: { A: 0 } } };\n',
    "handlers/users.ts": handlers(false),
  });
  dev = await radicalDev(project.folder);
});
afterAll(async () => {
  dev.child.kill("SIGTERM");
  await dev.closed;
  await project.remove();
});

/** Status, and the result or the code. */
async function call(handler: string, body: object): Promise<readonly unknown[]> {
  const response = await fetch(`${dev.url}/api/${handler}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const { result, error } = (await response.json()) as { result?: unknown; error?: { readonly code: string } };
  return [response.status, error?.code ?? result];
}

test("items with the same fields keep a build with the index from serving; it serves when they are corrected", async () => {
  for (const [id, email] of [
    ["u1", "ann@example.com"],
    ["u2", "ann@example.com"],
    ["u3", "bob@example.com"],
  ])
    expect(await call("register", { id, email })).toEqual([200, null]);
  await project.write("handlers/users.ts", handlers(true));
  await expect
    .poll(() => dev.events.find(({ event }) => event === "failed"), SOON)
    .toEqual({
      event: "failed",
      code: "index_stopped",
      message:
        "The index users=email can't be built: some items of users can't be indexed as they are.\n" +
        '  email "ann@example.com": the keys u1, u2',
      hint: expect.stringContaining("Change or delete all but one of the items of each line") as unknown,
    });
  // The build before serves on, and its writes are free.
  expect(await call("nameOf", { email: "u1" })).toEqual([200, "u1"]);
  expect(await call("register", { id: "u4", email: "bob@example.com" })).toEqual([200, null]);

  for (const id of ["u2", "u4"])
    expect((await radical(["data", "delete", "users", id], { cwd: project.folder })).code).toBe(0);
  const served = dev.events.filter(({ event }) => event === "serving").length;
  await project.write("handlers/users.ts", `${handlers(true)}\n`);
  await expect.poll(() => dev.events.filter(({ event }) => event === "serving").length, SOON).toBe(served + 1);
  expect(await call("nameOf", { email: "ann@example.com" })).toEqual([200, "u1"]);
  expect(await call("register", { id: "u5", email: "bob@example.com" })).toEqual([409, "not_unique"]);
  const checked = await radical(["data", "check"], { cwd: project.folder });
  expect(checked.stderr).toContain("✓ 1 index checked: 2 items and 2 entries compared, 0 differences.");
});
