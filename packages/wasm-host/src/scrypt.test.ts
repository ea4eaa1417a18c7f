import { DEFAULT_LIMITS, type Limits, NO_EXECUTION } from "@radical/protocol";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { beforeAll, describe, expect, test } from "vitest";
import type { HandlerModule } from "./module.ts";
import { recordHandler, type CompletedRun } from "./run.ts";
import { nativeScrypt, portableScrypt } from "./scrypt.ts";
import { programs } from "./testing/programs.ts";

/** Section 12 of RFC 7914, the vectors with a block size of 8: the first 32 bytes are the hash of that length. */
const VECTORS = [
  {
    password: "password",
    salt: "NaCl",
    cost: 2 ** 10,
    parallelization: 16,
    hash: "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162",
  },
  {
    password: "pleaseletmein",
    salt: "SodiumChloride",
    cost: 2 ** 14,
    parallelization: 1,
    hash: "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2",
  },
];

test.each([
  ["the native function", nativeScrypt()!],
  ["the one in JavaScript", portableScrypt],
])("%s gives the bytes of RFC 7914", (_, scrypt) => {
  for (const { password, salt, hash, ...cost } of VECTORS)
    expect(bytesToHex(scrypt(utf8ToBytes(password), utf8ToBytes(salt), cost))).toBe(hash);
});

test("both take an empty password and salt, and the largest parallelization", () => {
  for (const cost of [
    { cost: 2, parallelization: 64 },
    { cost: 16, parallelization: 1 },
  ]) {
    const [empty, long] = [new Uint8Array(), new Uint8Array(1_000).fill(7)];
    expect(nativeScrypt()!(empty, empty, cost)).toEqual(portableScrypt(empty, empty, cost));
    expect(nativeScrypt()!(long, long, cost)).toEqual(portableScrypt(long, long, cost));
  }
});

describe("as a host function", () => {
  let module: HandlerModule;

  beforeAll(async () => {
    module = await programs({
      f: `
        function hash(logCost: i32, rounds: i32): void {
          const password = String.UTF8.encode("pleaseletmein");
          const salt = String.UTF8.encode("SodiumChloride");
          const at = memory.data(32);
          host_scrypt(at, changetype<usize>(password), password.byteLength, changetype<usize>(salt), salt.byteLength, logCost, rounds);
          host_result(at, 32);
        }
        export function nothing(): void {}
        export function one(): void { hash(14, 1 << 14); }
        export function five(): void { hash(14, 5 << 14); }
        export function largest(): void { hash(15, 1 << 15); }
        export function tooLarge(): void { hash(16, 1 << 16); }
        export function noCost(): void { hash(0, 5); }
        export function shifted(): void { hash(32, 1); }
        export function noRounds(): void { hash(14, 0); }
        export function uneven(): void { hash(14, (1 << 14) + 1); }
        export function parallel(): void { hash(1, 65 << 1); }
        export function negative(): void { hash(14, -1 << 14); }
        export function longSalt(): void { host_scrypt(0, 0, 0, 0, 1025, 1, 2); }
        export function longestSalt(): void { host_scrypt(0, 0, 0, 0, 1024, 1, 2); }
        export function outside(): void { host_scrypt(0, -8, 16, 0, 0, 1, 2); }
        export function digest(): void { const at = memory.data(32); host_sha256(at, changetype<usize>(String.UTF8.encode("abc")), 3); host_result(at, 32); }
        export function digestOfMuch(): void { host_sha256(memory.data(32), memory.data(1 << 16), 1 << 16); }
      `,
    });
  });

  function run(handler: string, limits: Partial<Limits> = {}): CompletedRun {
    const environment = { timeMs: 0, seed: new Uint8Array(16), caller: null };
    const limited = { ...module, limits: { ...module.limits, ...limits } };
    const invocation = { executionId: NO_EXECUTION, handler, args: new Uint8Array(), environment };
    return recordHandler(limited, invocation, () => undefined, { guess: false }).run!;
  }

  const resultOf = (handler: string): string => {
    const { outcome } = run(handler);
    return outcome.kind === "result" ? bytesToHex(outcome.value) : JSON.stringify(outcome);
  };

  test("it gives the same bytes, and so does sha256", () => {
    expect(resultOf("one")).toBe(VECTORS[1]!.hash);
    expect(resultOf("digest")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });

  test("the rounds are paid before they are computed", () => {
    const used = (handler: string): number => run(handler).fuel - run("nothing").fuel;
    expect(used("five") - used("one")).toBe(4 * 2 ** 14 * 8_000);
    expect(used("digestOfMuch") - 20 * 2 ** 16).toBeLessThan(5_000);
    // A login fits into a speculation, and so does a changed password: two hashes, and a third.
    expect(3 * used("five")).toBeLessThan(DEFAULT_LIMITS.speculationFuel);
    expect(4 * used("five")).toBeGreaterThan(DEFAULT_LIMITS.speculationFuel);
    const { fuel } = run("one");
    expect(run("one", { fuel: fuel - 1 }).outcome).toMatchObject({ kind: "trap", code: "out_of_fuel" });
    expect(run("negative", { fuel: 30e12 }).outcome).toMatchObject({ kind: "trap", code: "out_of_fuel" });
  });

  test.each(["tooLarge", "noCost", "shifted", "noRounds", "uneven", "parallel"])(
    "%s: parameters that no host computes end the run",
    (handler) => {
      expect(run(handler).outcome).toMatchObject({
        kind: "trap",
        code: "invalid_access",
        message: expect.stringMatching(/^scrypt of -?\d+ rounds with a cost of 2\^\d+$/),
      });
    },
  );

  // Each block hashes the salt anew, and nobody pays for that.
  test("a long salt ends the run", () => {
    expect(run("longestSalt").outcome.kind).toBe("result");
    expect(run("longSalt").outcome).toMatchObject({
      kind: "trap",
      code: "invalid_access",
      message: "a salt of scrypt with more than 1024 bytes",
    });
  });

  test("the largest cost is computed, and operands outside of memory end the run", () => {
    expect(run("largest").outcome.kind).toBe("result");
    expect(run("outside").outcome).toMatchObject({ kind: "trap", code: "memory_out_of_bounds" });
  });
});
