import { expect, test } from "vitest";
import { ConfigurationError, parseKeys, parseOptions, type RawOptions } from "./options.ts";

const RAW: RawOptions = {
  port: "0",
  host: "127.0.0.1",
  data: "x.sqlite",
  keys: "a:00112233445566778899aabbccddeeff",
  followupTimeoutMs: "5000",
  executionLimitMs: "30000",
  drainMs: "0",
  logLevel: "info",
};

test("good options", () => {
  expect(parseOptions({ ...RAW, workers: "2" })).toMatchObject({
    port: 0,
    workers: 2,
    followupTimeoutMs: 5_000,
    exitWithParent: false,
  });
  expect(parseKeys("a:00112233445566778899aabbccddeeff,b:ffffffffffffffffffffffffffffffff").size).toBe(2);
});

test.each([
  [{ port: "99999" }, /--port "99999"/],
  [{ port: "1e3" }, /--port "1e3"/],
  [{ host: "exa mple" }, /--host "exa mple"/],
  [{ data: "" }, /--data/],
  [{ workers: "0" }, /--workers "0"/],
  [{ followupTimeoutMs: "-1" }, /--followup-timeout-ms "-1"/],
  [{ logLevel: "loud" }, /--log-level "loud".*debug/],
  [{ keys: "" }, /no key/],
  [{ keys: "a" }, /not hexadecimal/],
  [{ keys: "a:00" }, /"a".*shorter/],
  [{ keys: "a b:00112233445566778899aabbccddeeff" }, /not id:hex/],
  [{ keys: `${RAW.keys},${RAW.keys}` }, /"a" twice/],
])("%j is refused by name", (wrong, message) => {
  expect(() => parseOptions({ ...RAW, ...wrong })).toThrow(ConfigurationError);
  expect(() => parseOptions({ ...RAW, ...wrong })).toThrow(message);
});

test("no message shows a secret", () => {
  const secret = "0123456789abcdef0123456789abcdeg";
  expect(() => parseKeys(`a:${secret}`)).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining(secret) as string }),
  );
});
