import { CborWriter, SHOWN_SECRET, type UnitId } from "@radical/protocol";
import { expect, test } from "vitest";
import type { Difference } from "./differences.ts";
import { outcomeToJson } from "./recorded-outcome.ts";
import { isSecretPath, shownArguments, withoutSecretNames } from "./secret-names.ts";

test("what is secret by its name is masked at any depth, and all else stays as it is", () => {
  expect(withoutSecretNames('{"name":"ann","login":[{"passwordHash":"x"}],"size":12345678901234567890}')).toBe(
    `{"name":"ann","login":[{"passwordHash":"${SHOWN_SECRET}"}],"size":12345678901234567890}`,
  );
  for (const text of ["deleted", '{"name":"ann"}', "the token is gone", '"a token"', "cbor 9w=="])
    expect(withoutSecretNames(text)).toBe(text);
});

test("a value that JSON can't hold is masked whole, in an outcome and in a command too", () => {
  const value = new CborWriter().map(1).text("apiToken").bytes(Uint8Array.of(1, 2)).finish();
  expect(shownArguments(value)).toBe(SHOWN_SECRET);
  expect(withoutSecretNames(outcomeToJson({ kind: "result", value }))).toBe(
    `{"kind":"result","cbor":"${SHOWN_SECRET}"}`,
  );
  const shown = `cbor ${Buffer.from(value).toString("base64")}`;
  expect(withoutSecretNames(`{"kind":"start","args":${JSON.stringify(shown)}}`)).toBe(
    `{"kind":"start","args":"${SHOWN_SECRET}"}`,
  );
  const other = new CborWriter().map(1).text("picture").bytes(Uint8Array.of(1, 2)).finish();
  expect(shownArguments(other)).toMatch(/^cbor /);
});

test("a difference is secret by the name of its field, not by that of its item", () => {
  const unit = "tokens/ann" as UnitId;
  const write: Difference = { kind: "write", unit, was: "{}", is: "{}" };
  expect([unit, `${unit}: name`, `${unit}: password`].map((path) => isSecretPath(write, path))).toEqual([
    false,
    false,
    true,
  ]);
  const effect: Difference = { kind: "effect", path: "effects[0].args.token", was: '"a"', is: '"b"' };
  expect(isSecretPath(effect, effect.path)).toBe(true);
  expect(isSecretPath({ kind: "read_outside", unit }, `reads ${unit}`)).toBe(false);
});
