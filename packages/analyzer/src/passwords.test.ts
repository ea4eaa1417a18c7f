/** The hashes of the SDK, beside those of Node. */
import { createHash, scryptSync } from "node:crypto";
import { expect, test } from "vitest";
import { buildWith } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { call, type Answer } from "./testing/run.ts";

const built = buildWith(
  {
    ...buildInput({
      "handlers/h.ts": `
        import { hashPassword, needsRehash, sha256, verifyPassword } from "@radical/sdk";
        export function hash(password: string): string { return hashPassword(password); }
        export function twice(password: string): string[] { return [hashPassword(password), hashPassword(password)]; }
        export function verify(password: string, stored: string | null): bool { return verifyPassword(password, stored); }
        export function old(stored: string): bool { return needsRehash(stored); }
        export function digest(text: string): string { return sha256(text); }
      `,
    }),
    optimize: false,
  },
  slicer,
);

const run = (handler: string, json: unknown, seed?: number): Answer => call(built, new Map(), handler, json, seed);

/** As another implementation writes it. */
function phc(password: string, salt: Buffer, logCost = 14, parallelization = 5): string {
  const [N, p] = [2 ** logCost, parallelization];
  const hash = scryptSync(password, salt, 32, { N, r: 8, p, maxmem: 2 ** 27 });
  const text = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
  return `$scrypt$ln=${logCost},r=8,p=${parallelization}$${text(salt)}$${text(hash)}`;
}

test("a hash is the PHC string of scrypt, with a salt that is drawn", () => {
  for (const password of ["correct horse", "", "pässwörd 𝄞"]) {
    const stored = run("hash", { password }).result as string;
    const salt = Buffer.from(stored.split("$")[3]!, "base64");
    expect(salt).toHaveLength(16);
    expect(stored).toBe(phc(password, salt));
    expect(run("hash", { password }).result).toBe(stored);
    expect(run("hash", { password }, 2).result).not.toBe(stored);
    expect(run("verify", { password, stored }).result).toBe(true);
    expect(run("verify", { password: `${password}.`, stored }).result).toBe(false);
  }
  const [first, second] = run("twice", { password: "a" }).result as [string, string];
  expect(first).not.toBe(second);
});

test("hashes with other parameters are verified, and are to be renewed", () => {
  for (const [stored, isOld] of [
    [phc("secret", Buffer.from("salt"), 15, 3), true],
    [phc("secret", Buffer.alloc(0), 1, 64), true],
    [phc("secret", Buffer.from("a longer salt than ours"), 14, 5), false],
    [phc("secret", Buffer.from("13 bytes salt"), 14, 1), true],
  ] as const) {
    expect([stored, run("verify", { password: "secret", stored }).result]).toEqual([stored, true]);
    expect(run("verify", { password: "Secret", stored }).result).toBe(false);
    expect(run("old", { stored }).result).toBe(isOld);
  }
});

test("without a hash the answer is no, for the same work", () => {
  const known = run("verify", { password: "wrong", stored: phc("right", Buffer.alloc(16)) });
  const unknown = run("verify", { password: "wrong", stored: null });
  expect([known.result, unknown.result]).toEqual([false, false]);
  const rounds = 5 * 2 ** 14 * 8_000;
  expect(known.run.fuel - rounds).toBeGreaterThan(0);
  expect(unknown.run.fuel - rounds).toBeGreaterThan(0);
  expect(Math.abs(known.run.fuel - unknown.run.fuel)).toBeLessThan(rounds / 1_000);
});

const HASH = phc("a", Buffer.from("salt"), 1, 1);

test.each([
  ["", /is not a hash of hashPassword/],
  ["password", /is not a hash of hashPassword/],
  ["$2b$12$abcdefghijklmnopqrstuv", /is not a hash of hashPassword/],
  [HASH.replace("scrypt", "argon2id"), /is not a hash of hashPassword/],
  [HASH.replace("r=8", "r=4"), /is not a hash of hashPassword/],
  [HASH.replace("ln=1", "ln=01"), /is not a hash of hashPassword/],
  [HASH.replace("ln=1", "ln=1 "), /is not a hash of hashPassword/],
  [HASH.replace(",p=1", ""), /is not a hash of hashPassword/],
  [`${HASH}A`, /is not a hash of hashPassword/],
  [HASH.slice(0, -1), /is not a hash of hashPassword/],
  [`${HASH}$`, /is not a hash of hashPassword/],
  [HASH.replace("$c2FsdA$", "$c2FsdA==$"), /is not a hash of hashPassword/],
  [HASH.replace("$c2FsdA$", "$c2FsdB$"), /is not a hash of hashPassword/],
  [HASH.replace("ln=1,", "ln=16,"), /parameters that no host computes/],
  [HASH.replace("ln=1,", "ln=0,"), /parameters that no host computes/],
  [HASH.replace("p=1", "p=65"), /parameters that no host computes/],
])("%s ends the execution, and says why", (stored, words) => {
  expect(run("verify", { password: "a", stored: HASH }).result).toBe(true);
  expect(run("verify", { password: "a", stored }).outcome).toMatchObject({
    kind: "trap",
    code: "assertion_failed",
    message: expect.stringMatching(words) as unknown,
  });
});

test("sha256 is that of the text as UTF-8", () => {
  for (const text of ["", "abc", "é𝄞", "x".repeat(1_000)])
    expect(run("digest", { text }).result).toBe(createHash("sha256").update(text).digest("hex"));
});
