import { readFile } from "node:fs/promises";
import { flagOf } from "@radical/command-line";
import { afterEach, expect, test, vi } from "vitest";
import {
  configurationFields,
  describeConfiguration,
  type KeySources,
  type Options,
  readServerLine,
  type ServerLine,
  SETTING_NAMES,
  type SettingName,
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

type Texts = Partial<Record<SettingName, string>>;

function line(texts: Texts = {}, sources: KeySources = KEYS): ServerLine {
  const args = Object.entries(texts).flatMap(([name, text]) => [flagOf(name), text]);
  return readServerLine("1.2.3", args, sources);
}

function optionsOf(texts: Texts = {}, sources: KeySources = KEYS): Options {
  const read = line(texts, sources);
  if (read.kind !== "options") throw new Error(JSON.stringify(read));
  return read.options;
}

function wrongIn(read: ServerLine): Extract<ServerLine, { readonly kind: "wrong" }> {
  if (read.kind !== "wrong") throw new Error(`it is ${read.kind}`);
  return read;
}

function wordsOf(read: ServerLine): string {
  return [...wrongIn(read).wrong.values()].join("\n");
}

afterEach(() => {
  vi.unstubAllEnvs();
});

test("good options", () => {
  expect(optionsOf({ port: "0", workers: "2" })).toMatchObject({
    port: 0,
    workers: 2,
    followupTimeoutMs: 5_000,
    exitWithParent: false,
  });
  expect(optionsOf({ exitWithParent: "yes" })).toMatchObject({ workers: null, exitWithParent: true });
});

test("storage is a SQLite file or tables of DynamoDB", () => {
  const storageOf = (storage: string) => optionsOf({ storage }).storage;
  expect(storageOf("sqlite:C:\\data\\app.sqlite")).toEqual({ kind: "sqlite", file: "C:\\data\\app.sqlite" });
  expect(storageOf("dynamodb:app")).toEqual({ kind: "dynamodb", prefix: "app" });
  expect(storageOf("dynamodb:app?region=eu-central-1&endpoint=http://127.0.0.1:8000")).toEqual({
    kind: "dynamodb",
    prefix: "app",
    region: "eu-central-1",
    endpoint: "http://127.0.0.1:8000",
  });
});

const WRONG: readonly (readonly [Texts, RegExp])[] = [
  [{ port: "99999" }, /^--port must be an integer from 0 to 65535, and is "99999"\.$/],
  [{ port: "1e3" }, /--port must .* "1e3"/],
  [{ host: "exa mple" }, /^--host must be an IP address or localhost, and is "exa mple"\.$/],
  [{ storage: "" }, /--storage must .* "" .*sqlite:<file>.*dynamodb:/],
  [{ storage: "x.sqlite" }, /--storage must .* "x.sqlite" .*sqlite:<file>/],
  [{ storage: "sqlite:" }, /^--storage must be the address of a storage, and "sqlite:" names no file\.$/],
  [{ storage: "dynamodb:" }, /table prefix ""/],
  [{ storage: "dynamodb:my app" }, /table prefix "my app"/],
  [{ storage: "dynamodb:app?table=x" }, /parameter "table"/],
  [{ storage: "dynamodb:app?region=EU!" }, /region "EU!"/],
  [{ storage: "dynamodb:app?endpoint=localhost:8000" }, /endpoint "localhost:8000"/],
  [{ leaseMs: "1" }, /--lease-ms must .* "1"/],
  [{ advertise: "primary-1" }, /^--advertise must be an http or https URL without a password, and is "primary-1"/],
  [{ advertise: "https://user:hunter2@primary-1.example" }, /^--advertise must be an .* without a password/],
  [
    { tunnel: "http://127.0.0.1:2000/ready" },
    /^--tunnel needs --advertise .* machine's name, such as http:\/\/a\.primary/,
  ],
  [{ tunnel: "http://127.0.0.1:2000/ready", advertise: "http://10.0.0.1:8788" }, /^--tunnel needs --advertise/],
  [{ tunnel: "http://127.0.0.1:2000/ready", advertise: "http://[fd00::1]:8788" }, /^--tunnel needs --advertise/],
  [{ tunnel: "http://127.0.0.1:2000/ready", advertise: "http://a.internal", host: "fe80::1%lo" }, /without a zone/],
  [{ workers: "0" }, /--workers must .* "0"/],
  [{ followupTimeoutMs: "-1" }, /--followup-timeout-ms must .* "-1"/],
  [{ metricsNamespace: "AWS/EC2" }, /^--metrics-namespace must .* not begin with AWS\/, and is "AWS\/EC2"\.$/],
  [{ metricsNamespace: "my shop" }, /--metrics-namespace must .* "my shop"/],
  [{ memoryMb: "1" }, /--memory-mb must .* "1"/],
  [{ logLevel: "loud" }, /--log-level must be one of debug.* "loud"/],
  [{ exitWithParent: "maybe" }, /--exit-with-parent must be one of yes, no, and is "maybe"/],
];

test.each(WRONG)("%j is refused by name", (texts, message) => {
  expect(wordsOf(line(texts))).toMatch(message);
});

test("keys come from the environment or from a file", () => {
  expect([...optionsOf().keys.locations.keys()]).toEqual(["a"]);
  const text = "# since spring\nb:ffffffffffffffffffffffffffffffff\n";
  expect([...optionsOf({ keysFile: "keys" }, keys(undefined, text)).keys.locations.keys()]).toEqual(["b"]);
  const wrong = (texts: Texts, sources: KeySources): string => wordsOf(line(texts, sources));
  expect(wrong({}, keys(undefined))).toMatch(/^RADICAL_KEYS: There is no key/);
  expect(wrong({ keysFile: "keys" }, keys(undefined))).toMatch(/^The file of keys "keys": can't be read: no such file/);
  expect(wrong({ keysFile: "keys" }, keys(undefined, "a"))).toMatch(/^The file of keys "keys": .*Key 1 is neither/);
  expect(wrong({ keysFile: "keys" }, keys(KEY, KEY))).toMatch(/Give one of them/);
});

test("all that is wrong is told at once, by the name that it was given under, and marked in the configuration", () => {
  vi.stubEnv("RADICAL_LEASE_MS", "soon");
  vi.stubEnv("RADICAL_WORKERS", "many");
  const { wrong, given } = wrongIn(line({}, keys("")));
  expect([...wrong.values()]).toEqual([
    expect.stringMatching(/^RADICAL_WORKERS must .* "many"/),
    'RADICAL_LEASE_MS must be an integer from 100 to 600000, and is "soon".',
    expect.stringMatching(/^RADICAL_KEYS: There is no key/),
  ]);
  const table = describeConfiguration(given, "", wrong);
  expect(table.split("\n").length).toBe(SETTING_NAMES.length + 1);
  expect(table.split("\n").filter((row) => row.endsWith("<-- wrong"))).toEqual([
    expect.stringMatching(/--workers +many +RADICAL_WORKERS/),
    expect.stringMatching(/--lease-ms +soon +RADICAL_LEASE_MS/),
    expect.stringContaining("RADICAL_KEYS"),
  ]);
  expect(table).toMatch(/--port +8788 +default/);
});

test("nothing that is told shows a secret", () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const variable = `a:${secret}`;
  expect(wordsOf(line({}, keys(`${variable}x`)))).not.toContain(secret);
  const endpoint = "endpoint=http://user:hunter2@127.0.0.1:8000";
  expect(wordsOf(line({ storage: `dynamodb:app?x=y&${endpoint}` }))).not.toContain("hunter2");
  const read = line({ storage: `dynamodb:app?${endpoint}` }, keys(variable));
  if (read.kind !== "options") throw new Error(read.kind);
  const fields = configurationFields(read.given, read.options.keys);
  expect(fields).toMatchObject({ keys: "a", port: "8788" });
  const said = JSON.stringify(fields) + describeConfiguration(read.given, variable, new Map());
  expect(said).not.toContain(secret);
  expect(said).not.toContain("hunter2");
});

test("each option has its twin in the environment, and both their row in the documentation", async () => {
  const page = await readFile(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(--[a-z-]+)` \| `(RADICAL_\w+)` \| (.*?) \|/gm)];
  expect(rows.map(([, flag, variable]) => [flag, variable])).toEqual(
    SETTING_NAMES.map((name) => [flagOf(name), variableOf(name)]),
  );
  const read = line();
  if (read.kind !== "options") throw new Error(read.kind);
  for (const [index, name] of SETTING_NAMES.entries()) {
    const { text = null } = read.given[name] ?? {};
    if (text !== null) expect(rows[index]![3]).toBe(`\`${text}\``);
  }
});

test("help and version are answers; an argument that is not an option is not", () => {
  expect(readServerLine("1.2.3", ["--version"], KEYS)).toEqual({ kind: "answer", text: "1.2.3\n" });
  expect(readServerLine("1.2.3", ["here"], KEYS)).toMatchObject({
    kind: "misuse",
    message: expect.stringContaining("Too many arguments") as unknown,
  });
});
