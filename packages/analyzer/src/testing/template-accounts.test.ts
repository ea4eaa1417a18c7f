/** The accounts that the templates share, at times that a test over HTTP can't wait for. */
import { valueToJson, type Outcome } from "@radical/protocol";
import { recordHandler, type CompletedRun } from "@radical/wasm-host";
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { invocation, moduleOf, snapshotOf, type Items } from "./run.ts";
import { templateInput } from "./template-input.ts";

const built = buildWith({ ...templateInput("social"), optimize: false }, slicer);
const module = moduleOf(built);

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const START = 1_700_000_000_000;

/** Sessions that call: of browsers. */
const [PHONE, LAPTOP] = ["a".repeat(64), "b".repeat(64)];

interface Session {
  readonly name: string;
  readonly expiresAt: number;
}

/** A store whose calls happen at a time of the test's. */
class Store {
  readonly items: Items = new Map();
  #calls = 0;

  run(timeMs: number, handler: string, json: object, caller: string | null = PHONE): CompletedRun {
    const { environment, ...invoked } = invocation(built, handler, json, ++this.#calls, caller);
    const at = { ...invoked, environment: { ...environment, timeMs } };
    const { run } = recordHandler(module, at, snapshotOf(this.items), { guess: false });
    if (run === null) throw new Error("the handler did not end");
    for (const { unit, value } of run.writes) {
      if (value === null) this.items.delete(unit);
      else this.items.set(unit, value);
    }
    return run;
  }

  call(timeMs: number, handler: string, json: object, caller: string | null = PHONE): unknown {
    const { outcome } = this.run(timeMs, handler, json, caller);
    return outcome.kind === "result" ? (JSON.parse(valueToJson(outcome.value)) as unknown) : codeOf(outcome);
  }
}

function codeOf(outcome: Outcome): string {
  return outcome.kind === "result" ? "" : outcome.code;
}

const RIGHT = { name: "ada", password: "correct horse" };
const WRONG = { name: "ada", password: "battery staple" };

test("ten wrong passwords close the account for a quarter of an hour, and a right one begins anew", () => {
  const store = new Store();
  store.call(START, "register", RIGHT);
  for (let attempt = 0; attempt < 9; attempt++) expect(store.call(START + attempt, "login", WRONG)).toBeNull();
  expect(store.call(START + 9, "login", RIGHT)).toMatchObject({ name: "ada" });
  for (let attempt = 0; attempt < 10; attempt++) expect(store.call(START + 10, "login", WRONG)).toBeNull();
  for (const attempt of [RIGHT, WRONG])
    expect(store.call(START + 9 + 15 * MINUTE, "login", attempt)).toBe("too_many_attempts");
  expect(store.call(START + 10 + 15 * MINUTE, "login", WRONG)).toBeNull();
  expect(store.call(START + 11 + 15 * MINUTE, "login", RIGHT)).toMatchObject({ name: "ada" });
});

test("a name that nobody has is answered as a wrong password, for the same work", () => {
  const store = new Store();
  store.call(START, "register", RIGHT);
  const [known, unknown, impossible] = [WRONG, { ...WRONG, name: "nobody" }, { ...WRONG, name: "No Name" }].map(
    (attempt) => store.run(START, "login", attempt),
  );
  for (const other of [unknown, impossible]) {
    expect(other?.outcome).toEqual(known?.outcome);
    expect(Math.abs((other?.fuel ?? 0) / (known?.fuel ?? 0) - 1)).toBeLessThan(0.001);
    expect(other?.writes).toEqual([]);
  }
});

test("a session is the caller's, and ends after thirty days or by logging out", () => {
  const store = new Store();
  const { expiresAt } = store.call(START, "register", RIGHT) as Session;
  expect(expiresAt).toBe(START + 30 * DAY);
  expect(store.call(expiresAt - 1, "timeline", {})).toMatchObject({ posts: [] });
  expect(store.call(expiresAt, "timeline", {})).toBe("not_logged_in");
  expect(store.call(START, "timeline", {}, LAPTOP)).toBe("not_logged_in");
  expect(store.call(START, "login", WRONG, LAPTOP)).toBeNull();
  expect(store.call(START, "timeline", {}, LAPTOP)).toBe("not_logged_in");
  expect(store.call(START, "login", RIGHT, LAPTOP)).toMatchObject({ name: "ada" });
  expect(store.call(START, "timeline", {}, LAPTOP)).toMatchObject({ posts: [] });
  store.call(START, "logout", {}, LAPTOP);
  expect(store.call(START, "timeline", {}, LAPTOP)).toBe("not_logged_in");
  expect(store.call(START, "timeline", {})).toMatchObject({ posts: [] });
});

test("without a session nobody is logged in, and a login opens none", () => {
  const store = new Store();
  store.call(START, "register", RIGHT);
  expect(() => store.call(START, "login", RIGHT, null)).not.toThrow();
  expect(store.run(START, "login", RIGHT, null).outcome.kind).toBe("trap");
  expect(store.call(START, "timeline", {}, null)).toBe("not_logged_in");
});
