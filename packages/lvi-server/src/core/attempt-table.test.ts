import type { ExecutionId, LviRequest } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { AttemptTable } from "./attempt-table.ts";

/** Few ones that differ in one place, and random ones. */
const series = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...Array.from("0123456789abcdef")).map((digit) => digit.padStart(32, "0")),
      fc.constant("f".repeat(32)),
    ),
    fc.oneof(
      fc.nat(15).map((at) => new Uint8Array(16).fill(255, at, at + 1)),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    ),
  )
  .map(([id, seed]) => ({ executionId: id as ExecutionId, environment: { seed } }) as LviRequest);

const attempt = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));

test("property: it is a map", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(series, attempt), { maxLength: 400 }), series, (sets, other) => {
      const table = new AttemptTable();
      const model = new Map<string, number>();
      const keyOf = ({ executionId, environment }: LviRequest): string => `${executionId} ${environment.seed.join()}`;
      for (const [request, last] of sets) {
        table.set(request, last);
        model.set(keyOf(request), last);
      }
      expect(table.size).toBe(model.size);
      for (const request of [...sets.map(([set]) => set), other])
        expect(table.get(request)).toBe(model.get(keyOf(request)) ?? 0);
    }),
  );
});
