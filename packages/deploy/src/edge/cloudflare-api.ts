/**
 * Cloudflare's HTTP API as far as deploying reads it, and changes what wrangler has no command for that a program can
 * use. Workers themselves are uploaded by wrangler.
 */
import { CommandError, messageOf } from "@radical/app/command-error";

const DEFAULT_BASE_URL = "https://api.cloudflare.com/client/v4";
/** wrangler follows the same variable. */
const BASE_URL_VARIABLE = "CLOUDFLARE_API_BASE_URL";
const REQUEST_MS = 30_000;
/** Of a request that changes nothing. */
const ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 300;
const PAGE_ITEMS = 50;

export interface CloudflareApi {
  /** Null: there is no such thing. */
  find<T>(path: string): Promise<T | null>;
  get<T>(path: string): Promise<T>;
  /** All pages of a list. */
  list<T>(path: string, query?: Readonly<Record<string, string>>): Promise<readonly T[]>;
  post<T>(path: string, body: unknown): Promise<T>;
  put<T>(path: string, body: unknown): Promise<T>;
  /** Nothing happens if it is gone already. */
  remove(path: string): Promise<void>;
}

interface Envelope {
  readonly success?: boolean;
  readonly errors?: readonly { readonly code?: number; readonly message?: string }[];
  readonly result?: unknown;
  readonly result_info?: { readonly total_pages?: number };
}

/** An answer that is no success. `status` 0: there was none. */
export class CloudflareError extends CommandError {
  readonly status: number;
  /** Cloudflare's own, of the first error. */
  readonly reason: number | null;

  constructor(status: number, reason: number | null, message: string, hint: string, cause?: unknown) {
    super("cloudflare_failed", message, hint, cause === undefined ? {} : { cause });
    this.status = status;
    this.reason = reason;
  }
}

export interface CloudflareOptions {
  /** Header names and values that say who asks. */
  readonly authorization: Readonly<Record<string, string>>;
  readonly environment?: NodeJS.ProcessEnv;
  /** Between attempts. */
  readonly wait?: (ms: number) => Promise<void>;
}

export function createCloudflareApi(options: CloudflareOptions): CloudflareApi {
  const base = ((options.environment ?? process.env)[BASE_URL_VARIABLE] ?? DEFAULT_BASE_URL).replace(/\/+$/, "");
  const wait = options.wait ?? ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms)));

  const once = async (method: string, path: string, body?: unknown): Promise<Envelope> => {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${base}${path}`, {
        method,
        headers: {
          ...options.authorization,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      text = await response.text();
    } catch (error) {
      const message = `Cloudflare's API was not reached (${method} ${path}): ${reasonOf(error)}`;
      throw new CloudflareError(0, null, message, "Check this machine's connection, then run the same command again.");
    }
    const envelope = parse(text);
    if (response.ok && envelope?.success === true) return envelope;
    throw failureOf(method, path, response.status, envelope, text);
  };

  /** What only reads is asked again. */
  const read = async (path: string): Promise<Envelope> => {
    for (let attempt = 1, backoffMs = FIRST_BACKOFF_MS; ; attempt++, backoffMs *= 2) {
      try {
        return await once("GET", path);
      } catch (error) {
        if (attempt === ATTEMPTS || !(error instanceof CloudflareError) || !isPassing(error.status)) throw error;
        await wait(backoffMs);
      }
    }
  };

  return {
    find: async <T>(path: string) => {
      try {
        return (await read(path)).result as T;
      } catch (error) {
        if (error instanceof CloudflareError && error.status === 404) return null;
        throw error;
      }
    },
    get: async <T>(path: string) => (await read(path)).result as T,
    list: async <T>(path: string, query: Readonly<Record<string, string>> = {}) => {
      const items: T[] = [];
      for (let page = 1; ; page++) {
        const search = new URLSearchParams({ ...query, page: String(page), per_page: String(PAGE_ITEMS) });
        const { result, result_info: info } = await read(`${path}?${search.toString()}`);
        items.push(...(result as readonly T[]));
        if (page >= (info?.total_pages ?? 1)) return items;
      }
    },
    post: async <T>(path: string, body: unknown) => (await once("POST", path, body)).result as T,
    put: async <T>(path: string, body: unknown) => (await once("PUT", path, body)).result as T,
    remove: async (path) => {
      try {
        await once("DELETE", path);
      } catch (error) {
        if (!(error instanceof CloudflareError && error.status === 404)) throw error;
      }
    },
  };
}

function isPassing(status: number): boolean {
  return status === 0 || status === 429 || status >= 500;
}

function failureOf(
  method: string,
  path: string,
  status: number,
  envelope: Envelope | null,
  text: string,
): CloudflareError {
  const errors = envelope?.errors ?? [];
  const words =
    errors.length > 0
      ? errors.map(({ code, message }) => `${message ?? ""} [code: ${code ?? "none"}]`).join("; ")
      : text.slice(0, 200);
  return new CloudflareError(
    status,
    errors[0]?.code ?? null,
    `Cloudflare refused ${method} ${path}: status ${status} ${words}`.trimEnd(),
    hintOf(status),
  );
}

function hintOf(status: number): string {
  if (status === 401 || status === 403)
    return "log in with `wrangler login`, or give CLOUDFLARE_API_TOKEN the permissions that docs/deploy.md lists";
  if (status === 429) return "Cloudflare asks for a pause: run the same command again in some minutes";
  if (status >= 500) return "this is a fault at Cloudflare (www.cloudflarestatus.com): run the same command again";
  return "see Cloudflare's words above";
}

function parse(text: string): Envelope | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`;
}
