/** Pools: images in an order, each once. Everybody who is logged in may change them. */
import { Row, abort, uuid } from "@radical/sdk";
import { authenticate } from "./lib/accounts";
import { findImage, findPool } from "./lib/find";
import { between } from "./lib/order";
import {
  MAX_POOL,
  Member,
  Pool,
  PoolList,
  PoolPage,
  imageKey,
  images,
  pooled,
  pools,
  poolsByName,
} from "./lib/records";

/** Makes an empty pool. Gives its id. */
export function createPool(name: string): string {
  const me = authenticate();
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
export function addToPool(pool: string, image: i32, at: i32 = -1): i32[] {
  authenticate();
  findPool(pool);
  findImage(image);
  const others: Row<Member>[] = [];
  for (const row of rowsOf(pool)) {
    if (row.value.image == image) pooled.delete(row.key);
    else others.push(row);
  }
  if (others.length == MAX_POOL) {
    abort(409, "pool_full", `A pool has at most ${MAX_POOL} images.`);
  }
  const place = at < 0 ? others.length : min(at, others.length);
  const before = place == 0 ? "" : positionOf(others[place - 1]);
  const after = place == others.length ? "" : positionOf(others[place]);
  const member = new Member();
  member.image = image;
  pooled.put(pool + "/" + between(before, after), member);
  return orderOf(pool);
}

/** Takes an image out of a pool. Gives the new order. */
export function removeFromPool(pool: string, image: i32): i32[] {
  authenticate();
  findPool(pool);
  for (const row of rowsOf(pool)) if (row.value.image == image) pooled.delete(row.key);
  return orderOf(pool);
}

/** A pool with its images, in order. */
export function pool(id: string): PoolPage {
  const found = findPool(id);
  const page = new PoolPage();
  page.id = found.id;
  page.name = found.name;
  page.creator = found.creator;
  for (const row of rowsOf(id)) {
    const image = images.get(imageKey(row.value.image));
    if (image != null) page.images.push(image);
  }
  return page;
}

/** All pools, in the order of their names; `after`: those behind a page. */
export function listPools(after: string | null = null, limit: i32 = 20): PoolList {
  const most = max(1, min(limit, 50));
  const all = poolsByName.all();
  const rows = after == null ? all.first(most) : all.after(after).first(most);
  const list = new PoolList();
  for (const row of rows) list.pools.push(row.value);
  if (rows.length == most) list.next = rows[rows.length - 1].cursor;
  return list;
}

function rowsOf(pool: string): Row<Member>[] {
  return pooled.prefix(pool + "/").first(MAX_POOL);
}

function orderOf(pool: string): i32[] {
  const order: i32[] = [];
  for (const row of rowsOf(pool)) order.push(row.value.image);
  return order;
}

function positionOf(row: Row<Member>): string {
  return row.key.substring(row.key.indexOf("/") + 1);
}
