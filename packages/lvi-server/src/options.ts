/**
 * The options of the process: one table from which the command line, the environment, the help and the echo of the
 * configuration are made. Secrets have no option, since a command line can be read by every user of a machine.
 */
import { isIP } from "node:net";
import { keyIdsOf, type Keys, KeysError, parseKeys } from "./http/keys.ts";
import { LOG_LEVELS } from "./log.ts";
import { parseStorageAddress, type StorageAddress } from "./storage/storage-address.ts";

/** Wrong options or environment variables; the message names each with its value. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  /** What is wrong, by option. */
  readonly wrong: ReadonlyMap<string, string>;

  constructor(wrong: ReadonlyMap<string, string>) {
    super([...wrong.values()].join("\n"));
    this.wrong = wrong;
  }
}

interface Setting<T> {
  /** As commander has it: `--port <number>`. */
  readonly flag: string;
  /** Null: it may be left out. */
  readonly default: string | null;
  readonly words: string;
  /** The value; or, thrown as a `Wrong`, the end of a sentence about the text. */
  readonly parse: (text: string) => T;
}

class Wrong extends Error {}

function setting<T>(flag: string, fallback: string, words: string, parse: (text: string) => T): Setting<T> {
  return { flag, default: fallback, words, parse };
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new Wrong(`is no whole number from ${min} to ${max}`);
  };
}

function oneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new Wrong(`is none of ${words.join(", ")}`);
    return word;
  };
}

export const KEYS_VARIABLE = "RADICAL_KEYS";

const MAX_URL_LENGTH = 1_024;

export const SETTINGS = {
  port: setting("--port <number>", "8788", "port to listen on; 0 takes a free one", wholeNumber(0, 65_535)),
  host: setting("--host <address>", "127.0.0.1", "address to listen on", (text) => {
    if (isIP(text) === 0 && text !== "localhost") throw new Wrong("is no IP address, and not localhost");
    return text;
  }),
  storage: setting(
    "--storage <address>",
    "sqlite:radical.sqlite",
    "items and intents: sqlite:<file>, or dynamodb:<table prefix>?region=…&endpoint=… (tables are made if they are missing)",
    (text): StorageAddress => {
      const address = parseStorageAddress(text);
      if (typeof address === "string") throw new Wrong(address);
      return address;
    },
  ),
  keysFile: {
    flag: "--keys-file <file>",
    default: null,
    words: `keys that locations sign with, a line "<id>:<hex>" each; read again on SIGHUP and when it changes. Instead of ${KEYS_VARIABLE}`,
    parse: (text: string) => text,
  } satisfies Setting<string>,
  workers: {
    flag: "--workers <number>",
    default: null,
    words: "threads that run handlers (default: cores - 1, at least 2)",
    parse: wholeNumber(1, 1_024),
  } satisfies Setting<number>,
  followupTimeoutMs: setting(
    "--followup-timeout-ms <ms>",
    "5000",
    "after which a handler is re-executed in place of its followup",
    wholeNumber(1, 3_600_000),
  ),
  executionLimitMs: setting(
    "--execution-limit-ms <ms>",
    "10000",
    "longest run of a handler",
    wholeNumber(1, 3_600_000),
  ),
  crowdedLimitMs: setting(
    "--crowded-limit-ms <ms>",
    "500",
    "how long a handler may go on when others wait for a worker",
    wholeNumber(1, 3_600_000),
  ),
  leaseMs: setting(
    "--lease-ms <ms>",
    "5000",
    "after which another server on the same storage takes over from one that does not answer",
    wholeNumber(100, 600_000),
  ),
  advertise: {
    flag: "--advertise <url>",
    default: null,
    words: "where locations reach this server; servers that wait for its lease tell whoever asks them",
    parse: (text: string): string => {
      const url = text.length <= MAX_URL_LENGTH ? URL.parse(text) : null;
      if (url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === "") return text;
      throw new Wrong("is no http or https URL without a password");
    },
  } satisfies Setting<string>,
  retentionMs: setting(
    "--retention-ms <ms>",
    "86400000",
    "how long it is known that a request was carried out, and its outcome kept if the client chose the key",
    wholeNumber(900_000, 31_536_000_000),
  ),
  outcomeRetentionMs: setting(
    "--outcome-retention-ms <ms>",
    "900000",
    "how long other outcomes are kept; a location repeats a request for ten minutes at most, and is refused after this time",
    wholeNumber(0, 31_536_000_000),
  ),
  moduleRetentionMs: setting(
    "--module-retention-ms <ms>",
    "604800000",
    "how long a module is kept that no location asks for, while others are asked for",
    wholeNumber(3_600_000, 315_360_000_000),
  ),
  collectIntervalMs: setting(
    "--collect-interval-ms <ms>",
    "60000",
    "how often what was kept long enough is collected",
    wholeNumber(100, 86_400_000),
  ),
  drainMs: setting(
    "--drain-ms <ms>",
    "5000",
    "longest wait for running executions when stopping",
    wholeNumber(0, 3_600_000),
  ),
  locationExecutions: setting(
    "--location-executions <number>",
    "10000",
    "most executions of one location under way, pending intents included",
    wholeNumber(1, 10_000_000),
  ),
  locationUnits: setting(
    "--location-units <number>",
    "200000",
    "most units that one location's executions hold or ask for",
    wholeNumber(1, 100_000_000),
  ),
  locationBytes: setting(
    "--location-bytes <bytes>",
    "268435456",
    "most bytes that one location's requests under way keep in memory",
    wholeNumber(1_000_000, 1_000_000_000_000),
  ),
  locationWorkersPercent: setting(
    "--location-workers-percent <number>",
    "75",
    "share of the workers' time that one location's handlers may take in the long run; 100: no limit",
    wholeNumber(1, 100),
  ),
  logLevel: setting("--log-level <level>", "info", "debug, info, warn, error or silent", oneOf(LOG_LEVELS)),
  exitWithParent: setting(
    "--exit-with-parent [yes|no]",
    "no",
    "stop when standard input ends",
    (text) => oneOf(["yes", "no"])(text) === "yes",
  ),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type SettingName = keyof typeof SETTINGS;

/** Where a value comes from. */
export type Source = "default" | "environment" | "command line";

export type RawSettings = Readonly<Record<SettingName, { readonly text: string | undefined; readonly source: Source }>>;

export type Options = {
  readonly [Name in SettingName]:
    | ReturnType<(typeof SETTINGS)[Name]["parse"]>
    | ((typeof SETTINGS)[Name]["default"] extends null ? null : never);
} & { readonly keys: Keys };

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** `--lease-ms`. */
export function flagOf(name: SettingName): string {
  return SETTINGS[name].flag.split(" ")[0]!;
}

/** The variable that says the same as the option: RADICAL_LEASE_MS. */
export function variableOf(name: SettingName): string {
  return `RADICAL_${flagOf(name).slice(2).replaceAll("-", "_").toUpperCase()}`;
}

/** Where the keys come from. */
export interface KeySources {
  /** The variable of the environment. */
  readonly variable: string | undefined;
  /** The text of a file; throws if there is none. */
  readonly read: (file: string) => string;
}

/** Throws a ConfigurationError that names all that is wrong. */
export function parseOptions(raw: RawSettings, keySources: KeySources): Options {
  const wrong = new Map<string, string>();
  const values = new Map<string, unknown>();
  for (const name of SETTING_NAMES) {
    const { text, source } = raw[name];
    try {
      values.set(name, text === undefined ? null : SETTINGS[name].parse(text));
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      const named = source === "environment" ? variableOf(name) : flagOf(name);
      wrong.set(name, `${named} "${shown(name, text!)}" ${error.message}`);
    }
  }
  const file = raw.keysFile.text;
  const named = file === undefined ? KEYS_VARIABLE : `the file of keys "${file}"`;
  if (file !== undefined && (keySources.variable ?? "") !== "")
    wrong.set("keysFile", `there is a file of keys and ${KEYS_VARIABLE}: give one of them`);
  try {
    values.set("keys", parseKeys(keysTextOf(raw, keySources)));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const what = error instanceof KeysError ? error.message : `can't be read: ${error.message}`;
    wrong.set(file === undefined ? "keys" : "keysFile", `${named}: ${what}`);
  }
  if (wrong.size > 0) throw new ConfigurationError(wrong);
  return Object.fromEntries(values) as unknown as Options;
}

function keysTextOf(raw: RawSettings, { variable, read }: KeySources): string {
  const file = raw.keysFile.text;
  return file === undefined ? (variable ?? "") : read(file);
}

interface Row {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly from: string;
}

/** The configuration as a table, wrong values marked; secrets are left out, of keys only their ids are shown. */
export function describeConfiguration(
  raw: RawSettings,
  keysVariable: string | undefined,
  wrong: ReadonlyMap<string, string>,
): string {
  const rows = SETTING_NAMES.map((name): Row => {
    const { text, source } = raw[name];
    const from = source === "environment" ? variableOf(name) : source;
    return { name, label: flagOf(name), value: text === undefined ? "" : shown(name, text), from };
  });
  rows.push({
    name: "keys",
    label: KEYS_VARIABLE,
    value: keyIdsOf(keysVariable ?? "").join(", "),
    from: "environment",
  });
  const [labels, values] = [rows.map(({ label }) => label.length), rows.map(({ value }) => value.length)];
  return rows
    .map(({ name, label, value, from }) => {
      const mark = wrong.has(name) ? "  <-- wrong" : "";
      return `  ${label.padEnd(Math.max(...labels))}  ${value.padEnd(Math.max(...values))}  ${from}${mark}`;
    })
    .join("\n");
}

/** The same for a line of log. */
export function configurationFields(raw: RawSettings, keys: Keys): Readonly<Record<string, string>> {
  const fields = SETTING_NAMES.flatMap((name) => {
    const { text } = raw[name];
    return text === undefined ? [] : [[name, shown(name, text)]];
  });
  return { ...(Object.fromEntries(fields) as Record<string, string>), keys: [...keys.keys()].join(", ") };
}

/** A URL may hold a password. */
function shown(name: SettingName, text: string): string {
  return name === "storage" ? text.replace(/\/\/[^/@]*@/g, "//…@") : text;
}
