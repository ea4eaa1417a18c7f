import { expect, test } from "vitest";
import type { Keys } from "./keys.ts";
import { firstKeys, followKeys } from "./keys-parameter.ts";

const KEY = "a:00112233445566778899aabbccddeeff";
const OTHER = "b:ffeeddccbbaa99887766554433221100";

/** A parameter that says this, one look after the other, the last for good. */
function parameter(...texts: readonly (string | Error)[]) {
  let looks = 0;
  return {
    looks: () => looks,
    read: () => {
      const text = texts[Math.min(looks++, texts.length - 1)]!;
      return typeof text === "string" ? Promise.resolve(text) : Promise.reject(text);
    },
  };
}

function follower() {
  const told: string[] = [];
  return {
    told,
    onKeys: ({ locations }: Keys) => void told.push(`keys ${[...locations.keys()].join(" ")}`),
    onWrong: (reason: string) => void told.push(`wrong ${reason}`),
    onUnread: (reason: string) => void told.push(`unread ${reason}`),
  };
}

test("what changes is told; what stays, what can't be read and what is wrong changes nothing", async () => {
  const told = follower();
  const look = followKeys(
    parameter(KEY, new Error("throttled"), `${OTHER},${KEY}`, "nothing", "nothing", OTHER),
    KEY,
    told,
  );
  for (let looks = 0; looks < 6; looks++) await look(false);
  expect(told.told).toEqual([
    "unread throttled",
    "keys b a",
    expect.stringMatching(/^wrong the key "nothing" is not hexadecimal/),
    "keys b",
  ]);
});

test("looks are one after the other, and somebody who asks for one is told in any case", async () => {
  const source = parameter(KEY, OTHER);
  const told = follower();
  const look = followKeys(source, KEY, told);
  await Promise.all([look(true), look(false), look(false), look(true)]);
  expect(source.looks()).toBe(4);
  expect(told.told).toEqual(["keys a", "keys b", "keys b"]);
});

test("without a first look there are no keys", async () => {
  await expect(firstKeys(parameter(new Error("no such parameter")))).rejects.toThrow("no such parameter");
  await expect(firstKeys(parameter("nothing"))).rejects.toThrow("not hexadecimal");
  expect([...(await firstKeys(parameter(KEY))).keys.locations.keys()]).toEqual(["a"]);
});
