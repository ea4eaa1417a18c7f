import type { Life } from "@radical/protocol";
import { expect, test } from "vitest";
import { Joined } from "./join.ts";
import { life } from "../testing/lives.ts";

const location = (more: Partial<Life> = {}): Life => life({ side: "location", ...more });
const primary = (more: Partial<Life> = {}): Life => life({ side: "primary", ...more });

/** Which calls have a primary's half, the first call first. */
function halves(joined: Joined): readonly (number | null)[] {
  return joined.calls.toReversed().map((call) => call.primary?.tookUs ?? null);
}

test("a half waits for the other one, whichever comes first", () => {
  const joined = new Joined(10);
  joined.add(primary({ execution: "a" as Life["execution"], tookUs: 1 }));
  joined.add(location({ execution: "a" as Life["execution"] }));
  joined.add(location({ execution: "b" as Life["execution"] }));
  expect(halves(joined)).toEqual([1, null]);
  joined.add(primary({ execution: "b" as Life["execution"], tookUs: 2 }));
  expect(halves(joined)).toEqual([1, 2]);
});

test("halves of other attempts and of other places stay apart", () => {
  const joined = new Joined(10);
  joined.add(location({ attempt: 2 }));
  joined.add(primary({ attempt: 1, tookUs: 1 }));
  joined.add(primary({ attempt: 2, place: "VA", tookUs: 2 }));
  expect(halves(joined)).toEqual([null]);
  joined.add(primary({ attempt: 2, tookUs: 3 }));
  expect(halves(joined)).toEqual([3]);
});

test("the same execution sent twice is two calls, in their order", () => {
  const joined = new Joined(10);
  joined.add(location());
  joined.add(location());
  joined.add(primary({ tookUs: 1 }));
  joined.add(primary({ tookUs: 2 }));
  expect(halves(joined)).toEqual([1, 2]);
});

test("a call that asked nothing waits for nobody", () => {
  const joined = new Joined(10);
  joined.add(primary({ attempt: 0, tookUs: 1 }));
  joined.add(location({ attempt: 0 }));
  expect(halves(joined)).toEqual([null]);
});

test("the oldest calls are forgotten, and a half of theirs harms nobody", () => {
  const joined = new Joined(2);
  for (const execution of ["a", "b", "c"]) joined.add(location({ execution: execution as Life["execution"] }));
  joined.add(primary({ execution: "a" as Life["execution"] }));
  expect(joined.calls.map((call) => call.life.execution)).toEqual(["c", "b"]);
  expect(halves(joined)).toEqual([null, null]);
});
