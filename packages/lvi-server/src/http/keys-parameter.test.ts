import { expect, test } from "vitest";
import type { Keys } from "./keys.ts";
import { firstKeys, followKeys, parameterIn } from "./keys-parameter.ts";

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
    expect.stringMatching(/^wrong Key 1 is neither/),
    "keys b",
  ]);
});

test("looks are one after the other, and somebody who asks for one is told in any case", async () => {
  const source = parameter(KEY, OTHER);
  const told = follower();
  const look = followKeys(source, KEY, told);
  await Promise.all([look(true), look(false), look(false), look(true)]);
  // One that nobody has asked for is left out while another is under way.
  expect(source.looks()).toBe(2);
  expect(told.told).toEqual(["keys a", "keys b"]);
  await look(false);
  expect(source.looks()).toBe(3);
});

test("a client that hangs is given up, and the next look asks again", async () => {
  const looks: AbortController[] = [];
  let isHanging = true;
  const ask = (signal: AbortSignal): Promise<string> =>
    isHanging
      ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
      : Promise.resolve(OTHER);
  const source = parameterIn(ask, "keys", () => {
    const patience = new AbortController();
    looks.push(patience);
    return patience.signal;
  });
  const told = follower();
  const look = followKeys(source, KEY, told);
  const hanging = look(false);
  for (let timed = 0; timed < 5; timed++) void look(false);
  const asked = look(true);
  // The read begins in a later turn.
  await Promise.resolve();
  expect(looks).toHaveLength(1);
  isHanging = false;
  looks[0]!.abort();
  await Promise.all([hanging, asked]);
  expect(looks).toHaveLength(2);
  expect(told.told).toEqual(["unread aborted", "keys b"]);
});

test("without a first look there are no keys", async () => {
  await expect(firstKeys(parameter(new Error("no such parameter")))).rejects.toThrow("no such parameter");
  await expect(firstKeys(parameter("nothing"))).rejects.toThrow("Key 1 is neither");
  expect([...(await firstKeys(parameter(KEY))).keys.locations.keys()]).toEqual(["a"]);
});
