import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  ConfigurationError,
  configurationFields,
  describeConfiguration,
  flagOf,
  type KeySources,
  parseOptions,
  type RawSettings,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  type Source,
  variableOf,
} from "./options.ts";

const KEY = "a:00112233445566778899aabbccddeeff";

function keys(variable: string | undefined, file?: string): KeySources {
  return {
    variable,
    read: () => {
      if (file === undefined) throw new Error("no such file");
      return file;
    },
  };
}

const KEYS = keys(KEY);

function raw(texts: Partial<Record<SettingName, string>> = {}, source: Source = "command line"): RawSettings {
  return Object.fromEntries(
    SETTING_NAMES.map((name) => {
      const text = texts[name];
      if (text !== undefined) return [name, { text, source }];
      return [name, { text: SETTINGS[name].default ?? undefined, source: "default" }];
    }),
  ) as unknown as RawSettings;
}

function wrongIn(run: () => unknown): ConfigurationError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
  }
  throw new Error("nothing was wrong");
}

test("good options", () => {
  expect(parseOptions(raw({ port: "0", workers: "2" }), KEYS)).toMatchObject({
    port: 0,
    workers: 2,
    followupTimeoutMs: 5_000,
    exitWithParent: false,
  });
  expect(parseOptions(raw({ exitWithParent: "yes" }), KEYS)).toMatchObject({ workers: null, exitWithParent: true });
});

test("storage is a SQLite file or tables of DynamoDB", () => {
  const storageOf = (storage: string) => parseOptions(raw({ storage }), KEYS).storage;
  expect(storageOf("sqlite:C:\\data\\app.sqlite")).toEqual({ kind: "sqlite", file: "C:\\data\\app.sqlite" });
  expect(storageOf("dynamodb:app")).toEqual({ kind: "dynamodb", prefix: "app" });
  expect(storageOf("dynamodb:app?region=eu-central-1&endpoint=http://127.0.0.1:8000")).toEqual({
    kind: "dynamodb",
    prefix: "app",
    region: "eu-central-1",
    endpoint: "http://127.0.0.1:8000",
  });
});

const WRONG: readonly (readonly [Partial<Record<SettingName, string>>, RegExp])[] = [
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
  [{ advertise: "primary-1" }, /--advertise "primary-1" is no http or https URL/],
  [{ advertise: "https://user:hunter2@primary-1.example" }, /--advertise ".*" is no .* without a password/],
  [{ workers: "0" }, /--workers "0"/],
  [{ followupTimeoutMs: "-1" }, /--followup-timeout-ms "-1"/],
  [{ logLevel: "loud" }, /--log-level "loud".*debug/],
  [{ exitWithParent: "maybe" }, /--exit-with-parent "maybe" is none of yes, no/],
];

test.each(WRONG)("%j is refused by name", (texts, message) => {
  expect(wrongIn(() => parseOptions(raw(texts), KEYS)).message).toMatch(message);
});

test("keys come from the environment or from a file", () => {
  expect([...parseOptions(raw(), KEYS).keys.keys()]).toEqual(["a"]);
  const text = "# since spring\nb:ffffffffffffffffffffffffffffffff\n";
  expect([...parseOptions(raw({ keysFile: "keys" }), keys(undefined, text)).keys.keys()]).toEqual(["b"]);
  const wrong = (texts: Partial<Record<SettingName, string>>, sources: KeySources): string =>
    wrongIn(() => parseOptions(raw(texts), sources)).message;
  expect(wrong({}, keys(undefined))).toMatch(/^RADICAL_KEYS: there is no key/);
  expect(wrong({ keysFile: "keys" }, keys(undefined))).toMatch(/^the file of keys "keys": can't be read: no such file/);
  expect(wrong({ keysFile: "keys" }, keys(undefined, "a"))).toMatch(/^the file of keys "keys": .*not hexadecimal/);
  expect(wrong({ keysFile: "keys" }, keys(KEY, KEY))).toMatch(/give one of them/);
});

test("all that is wrong is told at once, by the name that it was given under, and marked in the configuration", () => {
  const settings = raw({ leaseMs: "soon", workers: "many" }, "environment");
  const { message, wrong } = wrongIn(() => parseOptions(settings, keys("")));
  expect(message).toMatch(/^RADICAL_WORKERS "many" .*\nRADICAL_LEASE_MS "soon" .*\nRADICAL_KEYS: there is no key/);
  const table = describeConfiguration(settings, "", wrong);
  expect(table.split("\n").length).toBe(SETTING_NAMES.length + 1);
  expect(table.split("\n").filter((line) => line.endsWith("<-- wrong"))).toEqual([
    expect.stringMatching(/--workers +many +RADICAL_WORKERS/),
    expect.stringMatching(/--lease-ms +soon +RADICAL_LEASE_MS/),
    expect.stringContaining("RADICAL_KEYS"),
  ]);
  expect(table).toMatch(/--port +8788 +default/);
});

test("nothing that is told shows a secret", () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const variable = `a:${secret}`;
  expect(wrongIn(() => parseOptions(raw(), keys(`${variable}x`))).message).not.toContain(secret);
  const settings = raw({ storage: "dynamodb:app?endpoint=http://user:hunter2@127.0.0.1:8000" });
  const fields = configurationFields(settings, parseOptions(settings, keys(variable)).keys);
  expect(fields).toMatchObject({ keys: "a", port: "8788" });
  const said = JSON.stringify(fields) + describeConfiguration(settings, variable, new Map());
  expect(said).not.toContain(secret);
  expect(said).not.toContain("hunter2");
});

test("each option has its twin in the environment, and both their row in the documentation", async () => {
  const page = await readFile(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(--[a-z-]+)` \| `(RADICAL_\w+)` \| (.*?) \|/gm)];
  expect(rows.map(([, flag, variable]) => [flag, variable])).toEqual(
    SETTING_NAMES.map((name) => [flagOf(name), variableOf(name)]),
  );
  const defaults = SETTING_NAMES.map((name) => SETTINGS[name].default);
  for (const [index, fallback] of defaults.entries())
    if (fallback !== null) expect(rows[index]![3]).toBe(`\`${fallback}\``);
});
