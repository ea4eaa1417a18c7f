import { expect, test } from "vitest";
import { ConfigurationError, parseKeys, parseOptions, type RawOptions } from "./options.ts";

const RAW: RawOptions = {
  port: "0",
  host: "127.0.0.1",
  storage: "sqlite:x.sqlite",
  keys: "a:00112233445566778899aabbccddeeff",
  followupTimeoutMs: "5000",
  executionLimitMs: "30000",
  leaseMs: "5000",
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

test("storage is a SQLite file or tables of DynamoDB", () => {
  const storageOf = (storage: string) => parseOptions({ ...RAW, storage }).storage;
  expect(storageOf("sqlite:C:\\data\\app.sqlite")).toEqual({ kind: "sqlite", file: "C:\\data\\app.sqlite" });
  expect(storageOf("dynamodb:app")).toEqual({ kind: "dynamodb", prefix: "app" });
  expect(storageOf("dynamodb:app?region=eu-central-1&endpoint=http://127.0.0.1:8000")).toEqual({
    kind: "dynamodb",
    prefix: "app",
    region: "eu-central-1",
    endpoint: "http://127.0.0.1:8000",
  });
});

test.each([
  [{ port: "99999" }, /--port "99999"/],
  [{ port: "1e3" }, /--port "1e3"/],
  [{ host: "exa mple" }, /--host "exa mple"/],
  [{ storage: "" }, /--storage "".*sqlite:<file>.*dynamodb:/],
  [{ storage: "x.sqlite" }, /--storage "x.sqlite".*sqlite:<file>/],
  [{ storage: "sqlite:" }, /--storage "sqlite:" names no file/],
  [{ storage: "dynamodb:" }, /table prefix ""/],
  [{ storage: "dynamodb:my app" }, /table prefix "my app"/],
  [{ storage: "dynamodb:app?table=x" }, /parameter "table"/],
  [{ storage: "dynamodb:app?region=EU!" }, /region "EU!"/],
  [{ storage: "dynamodb:app?endpoint=localhost:8000" }, /endpoint "localhost:8000"/],
  [{ leaseMs: "1" }, /--lease-ms "1"/],
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
