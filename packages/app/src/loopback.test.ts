import { expect, test } from "vitest";
import { isMeantFor, isOfAnotherOrigin } from "./loopback.ts";

test.each([
  ["127.0.0.1", "localhost:8787", true],
  ["127.0.0.1", "LOCALHOST", true],
  ["127.0.0.1", "shop.localhost:8787", true],
  ["127.0.0.1", "127.0.0.1:8787", true],
  ["127.0.0.1", "[::1]:8787", true],
  ["127.0.0.1", "evil.example:8787", false],
  ["127.0.0.1", "localhost.evil.example", false],
  ["127.0.0.1", "127.0.0.1.evil.example", false],
  ["127.0.0.1", "evil.example@localhost", false],
  ["127.0.0.1", "192.168.1.5:8787", false],
  ["127.0.0.1", "0.0.0.0:8787", false],
  ["127.0.0.1", "", false],
  ["127.0.0.1", "localhost:8787, evil.example", false],
  ["192.168.1.5", "192.168.1.5:8787", true],
  ["192.168.1.5", "192.168.1.6:8787", false],
  ["My.Machine", "my.machine:8787", true],
  ["fe80::1", "[fe80::1]:8787", true],
  ["0.0.0.0", "192.168.1.5:8787", true],
  ["::", "[fe80::1]:8787", true],
  ["0.0.0.0", "evil.example", false],
])("listening on %s, a request for %j is meant for it: %j", (listensOn, host, isMeant) => {
  expect(isMeantFor(listensOn, host)).toBe(isMeant);
});

test("a page is of this origin only if it was loaded from the very host and port that it asks", () => {
  expect(isOfAnotherOrigin(undefined, "localhost:8787")).toBe(false);
  expect(isOfAnotherOrigin("http://localhost:8787", "localhost:8787")).toBe(false);
  for (const origin of ["null", "http://localhost:3000", "https://localhost:8787", "http://evil.example:8787"])
    expect({ origin, isOther: isOfAnotherOrigin(origin, "localhost:8787") }).toEqual({ origin, isOther: true });
});
