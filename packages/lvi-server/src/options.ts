/** The options of the command line and their twins in the environment. */
import { isIP } from "node:net";
import type { Keys } from "./http/authentication.ts";
import { LOG_LEVELS, type LogLevel } from "./log.ts";
import { parseStorageAddress, type StorageAddress } from "./storage/storage-address.ts";

/** A wrong option or environment variable; its message names the value. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** As commander hands them over. */
export interface RawOptions {
  readonly port: string;
  readonly host: string;
  readonly storage: string;
  readonly keys?: string;
  readonly workers?: string;
  readonly followupTimeoutMs: string;
  readonly executionLimitMs: string;
  readonly leaseMs: string;
  readonly drainMs: string;
  readonly logLevel: string;
  readonly exitWithParent?: true;
}

export interface Options {
  readonly port: number;
  readonly host: string;
  readonly storage: StorageAddress;
  readonly keys: Keys;
  readonly workers: number | null;
  readonly followupTimeoutMs: number;
  readonly executionLimitMs: number;
  readonly leaseMs: number;
  readonly drainMs: number;
  readonly logLevel: LogLevel;
  readonly exitWithParent: boolean;
}

/** Shortest secret, in bytes. */
const MIN_KEY_BYTES = 16;

/** Throws a ConfigurationError. */
export function parseOptions(raw: RawOptions): Options {
  const logLevel = LOG_LEVELS.find((level) => level === raw.logLevel);
  if (logLevel === undefined)
    throw new ConfigurationError(`--log-level "${raw.logLevel}" is none of ${LOG_LEVELS.join(", ")}`);
  if (isIP(raw.host) === 0 && raw.host !== "localhost") {
    throw new ConfigurationError(`--host "${raw.host}" is no IP address, and not localhost`);
  }
  const storage = parseStorageAddress(raw.storage);
  if (typeof storage === "string") throw new ConfigurationError(`--storage "${raw.storage}" ${storage}`);
  return {
    port: integer("--port", raw.port, 0, 65_535),
    host: raw.host,
    storage,
    keys: parseKeys(raw.keys),
    workers: raw.workers === undefined ? null : integer("--workers", raw.workers, 1, 1_024),
    followupTimeoutMs: integer("--followup-timeout-ms", raw.followupTimeoutMs, 1, 3_600_000),
    executionLimitMs: integer("--execution-limit-ms", raw.executionLimitMs, 1, 3_600_000),
    leaseMs: integer("--lease-ms", raw.leaseMs, 100, 600_000),
    drainMs: integer("--drain-ms", raw.drainMs, 0, 3_600_000),
    logLevel,
    exitWithParent: raw.exitWithParent ?? false,
  };
}

/** `id:hex,id:hex`. Secrets are never shown in messages. */
export function parseKeys(text: string | undefined): Keys {
  const hint = 'set RADICAL_KEYS="<id>:<hex>", for example with: openssl rand -hex 32';
  if (text === undefined || text === "")
    throw new ConfigurationError(`there is no key, so no location could sign; ${hint}`);
  const keys = new Map<string, Uint8Array>();
  for (const part of text.split(",")) {
    const [id = "", hex = "", ...rest] = part.split(":");
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(id) || rest.length > 0)
      throw new ConfigurationError(`RADICAL_KEYS has a part that is not id:hex; ${hint}`);
    if (!/^(?:[0-9a-fA-F]{2})+$/.test(hex))
      throw new ConfigurationError(`the key "${id}" in RADICAL_KEYS is not hexadecimal; ${hint}`);
    if (hex.length < 2 * MIN_KEY_BYTES)
      throw new ConfigurationError(`the key "${id}" in RADICAL_KEYS is shorter than ${MIN_KEY_BYTES} bytes; ${hint}`);
    if (keys.has(id)) throw new ConfigurationError(`RADICAL_KEYS has the key "${id}" twice`);
    keys.set(id, Buffer.from(hex, "hex"));
  }
  return keys;
}

function integer(option: string, text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw new ConfigurationError(`${option} "${text}" is no whole number from ${min} to ${max}`);
  return value;
}
