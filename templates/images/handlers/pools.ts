/** Pools: images in an order, each once. Everybody who is logged in may change them. */
import { abort, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { findImage, findPool } from "./lib/find";
import { MAX_POOL, Pool, PoolPage, images, pools } from "./lib/records";
import { insert } from "./lib/sets";

/** Makes an empty pool. Gives its id. */
export function createPool(token: string, name: string): string {
  const me = authenticate(token);
  if (name.trim().length == 0 || name.length > 100) {
    abort(400, "bad_name", "The name of a pool has 1 to 100 characters.");
  }
  const made = new Pool();
  made.id = uuid();
  made.name = name;
  made.creator = me;
  pools.put(made.id, made);
  return made.id;
}

/** Puts an image at a place of a pool, counted from 0, or at the end; moves it if it is there. Gives the new order. */
export function addToPool(token: string, pool: string, image: i32, at: i32 = -1): i32[] {
  authenticate(token);
  const changed = findPool(pool);
  findImage(image);
  const before = changed.images.indexOf(image);
  if (before >= 0) changed.images.splice(before, 1);
  if (changed.images.length == MAX_POOL) {
    abort(409, "pool_full", `A pool has at most ${MAX_POOL} images.`);
  }
  insert(changed.images, at < 0 ? changed.images.length : min(at, changed.images.length), image);
  pools.put(pool, changed);
  return changed.images;
}

/** Takes an image out of a pool. Gives the new order. */
export function removeFromPool(token: string, pool: string, image: i32): i32[] {
  authenticate(token);
  const changed = findPool(pool);
  const at = changed.images.indexOf(image);
  if (at >= 0) {
    changed.images.splice(at, 1);
    pools.put(pool, changed);
  }
  return changed.images;
}

/** A pool with its images, in order. */
export function pool(id: string): PoolPage {
  const found = findPool(id);
  const page = new PoolPage();
  page.id = found.id;
  page.name = found.name;
  page.creator = found.creator;
  for (let i = 0; i < found.images.length; i++) {
    const image = images.get(found.images[i].toString());
    if (image != null) page.images.push(image);
  }
  return page;
}
