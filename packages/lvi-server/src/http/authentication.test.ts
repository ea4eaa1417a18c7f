import { createHmac } from "node:crypto";
import {
  KEY_HEADER,
  RadicalError,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
} from "@radical/protocol";
import { expect, test } from "vitest";
import { claimOf, verify } from "./authentication.ts";
import { KeyRing, parseKeys } from "./keys.ts";

const SECRETS = { old: "00112233445566778899aabbccddeeff", next: "ffeeddccbbaa99887766554433221100" };
const NOW_MS = 1_000_000_000;
const BODY = Uint8Array.of(1, 2, 3);

function headersOf(keyId: keyof typeof SECRETS, timeMs: number, body = BODY): Record<string, string> {
  const mac = createHmac("sha256", Buffer.from(SECRETS[keyId], "hex"));
  return {
    [KEY_HEADER]: keyId,
    [TIME_HEADER]: String(timeMs),
    [SIGNATURE_HEADER]: mac.update(signedBytes("POST", "/v1/lvi", timeMs, body)).digest("hex"),
  };
}

function isTaken(ring: KeyRing, headers: Record<string, string>, body = BODY): boolean {
  try {
    verify(claimOf(ring, headers, NOW_MS), "POST", "/v1/lvi", body);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(RadicalError);
    expect((error as RadicalError).code).toBe("unauthorized");
    return false;
  }
}

test("the replay window is taken to its last millisecond, both ways, and no further", () => {
  const ring = new KeyRing(parseKeys(`old:${SECRETS.old}`));
  for (const sign of [-1, 1]) {
    expect(isTaken(ring, headersOf("old", NOW_MS + sign * REPLAY_WINDOW_MS))).toBe(true);
    expect(isTaken(ring, headersOf("old", NOW_MS + sign * (REPLAY_WINDOW_MS + 1)))).toBe(false);
  }
});

test("a signature is for one time, one body and one key", () => {
  const ring = new KeyRing(parseKeys(`old:${SECRETS.old},next:${SECRETS.next}`));
  const headers = headersOf("old", NOW_MS);
  expect(isTaken(ring, headers)).toBe(true);
  expect(isTaken(ring, headers, Uint8Array.of(1, 2, 4))).toBe(false);
  expect(isTaken(ring, { ...headers, [TIME_HEADER]: String(NOW_MS + 1) })).toBe(false);
  expect(isTaken(ring, { ...headers, [KEY_HEADER]: "next" })).toBe(false);
  for (const time of ["", "soon", "1e9", "-1", `${NOW_MS}.0`]) {
    expect(isTaken(ring, { ...headers, [TIME_HEADER]: time })).toBe(false);
  }
});

test("rotation: both keys while there are both, then only the next one", () => {
  const ring = new KeyRing(parseKeys(`old:${SECRETS.old}`));
  expect([isTaken(ring, headersOf("old", NOW_MS)), isTaken(ring, headersOf("next", NOW_MS))]).toEqual([true, false]);
  ring.replace(parseKeys(`old:${SECRETS.old},next:${SECRETS.next}`));
  expect([isTaken(ring, headersOf("old", NOW_MS)), isTaken(ring, headersOf("next", NOW_MS))]).toEqual([true, true]);
  ring.replace(parseKeys(`next:${SECRETS.next}`));
  expect([isTaken(ring, headersOf("old", NOW_MS)), isTaken(ring, headersOf("next", NOW_MS))]).toEqual([false, true]);
});
