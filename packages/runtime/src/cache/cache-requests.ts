/**
 * `POST /api/-/caches`: the primary orders caches to be emptied, as an operator has asked it. Nobody else can: the order is signed
 * with the deployment's key. One Worker reaches the caches of all locations, wherever it runs.
 */
import {
  type CacheAnswer,
  type CacheOrder,
  type Manifest,
  RadicalError,
  readCacheOrder,
  WORKER_CACHES_PATH,
} from "@radical/protocol";
import { replyOfError, toResponse } from "../http/reply.ts";
import { readBounded } from "../http/body.ts";
import { MethodNotAllowed } from "../http/call.ts";
import { claimOf, verifyClaim } from "../lvi/signed-requests.ts";
import { type Env, readSettings } from "../settings.ts";
import { beginningOf, purgeMarkOf, takesKey } from "./kv-keys.ts";
import { cacheObjects, kvNamespace } from "./open-cache.ts";
import { PURGE_MARK } from "./purge-mark.ts";

const ONLY_PRIMARY = "only the primary orders caches to be emptied";
const MAX_ORDER_BYTES = 64 * 1024;
/** A request has 1,000 operations. */
const KEYS_OF_ORDER = 500;
/** The place to go on at in a Durable Object: what is gone is gone, so there is but one. */
const REST = "rest";

type Purge = Extract<CacheOrder, { readonly kind: "purge" }>;

/** Null: the request is another one. */
export function answerCaches(request: Request, env: Env, manifest: Manifest): Promise<Response> | null {
  // First what is cheap: this is looked at before every request.
  if (!request.url.includes(WORKER_CACHES_PATH)) return null;
  return new URL(request.url).pathname === WORKER_CACHES_PATH ? answer(request, env, manifest) : null;
}

async function answer(request: Request, env: Env, manifest: Manifest): Promise<Response> {
  try {
    if (request.method !== "POST") throw new MethodNotAllowed("orders are sent with POST", ONLY_PRIMARY, "POST");
    const { key, location } = readSettings(env);
    const claim = claimOf(request, key, Date.now(), ONLY_PRIMARY);
    const body = await readBounded(request, MAX_ORDER_BYTES, tooLarge);
    await verifyClaim(claim, key, { method: "POST", path: WORKER_CACHES_PATH, body }, ONLY_PRIMARY);
    const order = orderIn(body);
    const done = order.kind === "look" ? await look(env, manifest, location) : await purge(order, env, manifest);
    return Response.json(done, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    return toResponse(replyOfError(error), {});
  }
}

function tooLarge(): RadicalError {
  return new RadicalError("request_too_large", `The order has more than ${MAX_ORDER_BYTES} bytes.`, "Send less.");
}

function orderIn(body: Uint8Array): CacheOrder {
  try {
    return readCacheOrder(JSON.parse(new TextDecoder().decode(body)));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new RadicalError("malformed_message", message, "Give the primary and its Worker the same release.", error);
  }
}

/** `location`: the one that this Worker serves; null: it serves all of them. */
async function look(env: Env, { application, cache }: Manifest, location: string | null): Promise<CacheAnswer> {
  const looked = { kind: "looked", cache: cache.kind } as const;
  switch (cache.kind) {
    case "memory":
      return { ...looked, locations: [] };
    case "kv":
      return { ...looked, locations: null };
    case "durable-object":
      return {
        ...looked,
        locations: location === null ? await cacheObjects(cache, application, env).list.locations() : [location],
      };
  }
}

async function purge(order: Purge, env: Env, { application, cache }: Manifest): Promise<CacheAnswer> {
  const { location, table, key, after } = order;
  const part = table === null ? null : { table, key };
  switch (cache.kind) {
    case "memory":
      return { kind: "purged", entries: 0, next: null };
    case "durable-object": {
      if (location === null)
        throw new RadicalError("malformed_message", "The order names no location.", "Name a location.");
      const object = cacheObjects(cache, application, env).of(location);
      const { entries, purgedAtMs, hasMore } = await object.purge(application, part);
      PURGE_MARK.hear(purgedAtMs);
      return { kind: "purged", entries, next: hasMore ? REST : null };
    }
    case "kv": {
      const namespace = kvNamespace(env);
      const atMs = Date.now();
      // First: what isolates have in memory is not to come back behind the last page.
      if (after === null) await namespace.put(purgeMarkOf(application), String(atMs));
      PURGE_MARK.hear(atMs);
      const prefix = beginningOf(application, location);
      const page = await namespace.list({ prefix, limit: KEYS_OF_ORDER, cursor: after });
      const gone = page.keys.filter(({ name }) => takesKey(application, part, name));
      await Promise.all(gone.map(({ name }) => namespace.delete(name)));
      return { kind: "purged", entries: gone.length, next: page.list_complete ? null : page.cursor };
    }
  }
}
