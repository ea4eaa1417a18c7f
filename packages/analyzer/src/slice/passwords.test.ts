/** Hashes of passwords: no read/write-set function computes one, and the sets hold all that the handlers touch. */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

const built = buildWith(
  {
    ...buildInput({
      "handlers/h.ts": `
        import { Table, abort, hashPassword, needsRehash, now, sha256, uuid, verifyPassword } from "@radical/sdk";
        class Account { name: string = ""; hash: string = ""; failures: i32 = 0; }
        const accounts = new Table<Account>("accounts");
        const sessions = new Table<string>("sessions");
        const failures = new Table<i32[]>("failures");
        export function register(name: string, password: string): void {
          if (accounts.has(name)) abort(409, "name_taken", "taken");
          const account = new Account();
          account.name = name;
          account.hash = hashPassword(password);
          accounts.put(name, account);
        }
        export function login(name: string, password: string): string | null {
          const account = accounts.get(name);
          if (!verifyPassword(password, account == null ? null : account.hash)) {
            if (account != null) { account.failures++; accounts.put(name, account); failures.put(name, [account.failures]); }
            return null;
          }
          failures.delete(name);
          const token = uuid();
          sessions.put(sha256(token), name);
          return token;
        }
        export function ends(name: string, password: string): void {
          const account = accounts.get(name);
          if (!verifyPassword(password, account == null ? null : account.hash)) abort(401, "wrong", "wrong");
          sessions.put("s/" + name, uuid());
        }
        export function renews(name: string, password: string): void {
          const account = accounts.get(name);
          if (account == null || !verifyPassword(password, account.hash)) return;
          if (needsRehash(account.hash)) account.hash = hashPassword(password);
          accounts.put(name, account);
        }
        export function who(token: string): string | null { return sessions.get(sha256(token)); }
        export function keyed(name: string, password: string): void {
          const account = accounts.get(name);
          sessions.put(verifyPassword(password, account == null ? null : account.hash) ? "right" : "wrong", name);
        }
      `,
    }),
    optimize: false,
    emitIr: true,
  },
  slicer,
);

test("only a handler whose keys hang on a hash is not sliced", () => {
  expect(built.diagnostics.map(({ code }) => code)).toEqual(["not_sliced_password_hash"]);
  expect(Object.fromEntries(built.handlers.map(({ name, plan }) => [name, plan.kind]))).toEqual({
    register: "sliced",
    login: "sliced",
    ends: "sliced",
    renews: "sliced",
    who: "sliced",
    keyed: "recorded",
  });
});

test("read/write-set functions import sha256, and scrypt never", () => {
  const imports = (wasm: Uint8Array): string[] =>
    WebAssembly.Module.imports(new WebAssembly.Module(Uint8Array.from(wasm)))
      .map(({ name }) => name)
      .filter((name) => name === "scrypt" || name === "sha256");
  expect(imports(built.wasm).toSorted()).toEqual(["scrypt", "sha256"]);
  expect(imports(built.rwWasm)).toEqual(["sha256"]);
});

test("what the handlers touch is what was said", () => {
  expect(() => explore(built, { strings: ["ann", "bob"], runs: 4, callsPerRun: 6 })).not.toThrow();
});

test("a given read/write-set function that hashes a password is refused, with what to write", () => {
  const given = buildWith(
    {
      ...buildInput({
        "handlers/h.ts": `
          import { Table, verifyPassword } from "@radical/sdk";
          const items = new Table<string>("items");
          export function check(stored: string, password: string): void { if (verifyPassword(password, stored)) items.put("a", "b"); }
          /** @readwrite check */
          export function checkSet(stored: string, password: string): void { if (verifyPassword(password, stored)) items.willPut("a"); }
        `,
      }),
      optimize: false,
    },
    slicer,
  );
  expect(given.diagnostics).toMatchObject([
    { code: "given_set_effect", message: expect.stringContaining("hashes no password") as string },
  ]);
});
