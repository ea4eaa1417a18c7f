/** An application with ranges, indexes and a counter is sliced, and a page is one version in the request of its location. */
import {
  type AccessedUnit,
  commitId,
  contentHash,
  countHash,
  encodeLviRequest,
  type ExecutionId,
  type LviRequest,
  splitUnit,
  type UnitId,
} from "@radical/protocol";
import { deriveAccessSet } from "@radical/wasm-host";
import { expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { call, invocation, type Items, moduleOf, snapshotOf } from "../testing/run.ts";

const MODEL = `import { Table, Index, Unique, Counter, ascending, abort, caller, now, uuid } from "@radical/sdk";
export class Post { author: string = ""; text: string = ""; at: i64 = 0; }
export class User { email: string = ""; name: string = ""; }
export class Page { texts: string[] = []; next: string | null = null; total: i32 = 0; }
export class Timeline { keys: string[] = []; }

const posts = new Table<Post>("posts");
const byAuthor = new Index<Post>(posts, "author, at");
const users = new Table<User>("users");
const byEmail = new Unique<User>(users, "email");
const seats = new Counter("seats");
const timelines = new Table<Timeline>("timelines");

export function post(room: string, text: string): string {
  const me = caller();
  const post = new Post();
  post.author = me == null ? "" : me; post.text = text; post.at = now();
  const key = \`\${room}/\${ascending(post.at)}-\${uuid()}\`;
  posts.put(key, post);
  return key;
}

export function timeline(room: string, before: string | null, most: i32 = 20): Page {
  let range = posts.prefix(room + "/");
  if (before != null) range = range.before(before);
  const rows = range.last(most);
  const page = new Page();
  for (let i = 0; i < rows.length; i++) page.texts.push(rows[i].value.text);
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  page.total = posts.prefix(room + "/").count();
  return page;
}

export function mine(author: string): i32 { return byAuthor.equal(author).last(10).length; }
export function whoIs(email: string): string { const user = byEmail.find(email); return user == null ? "" : user.name; }

export function takeSeat(night: string): void {
  if (!seats.atLeast(night, 1)) abort(409, "full", "There is no seat left.");
  seats.add(night, -1);
}

/** A page of a range, and the same of a list of keys. */
export function newest(room: string, most: i32): string[] {
  return posts.prefix(room + "/").last(most).map<string>((row) => row.value.text);
}
export function listed(room: string): string[] {
  const timeline = timelines.get(room);
  const texts: string[] = [];
  if (timeline == null) return texts;
  for (let i = 0; i < timeline.keys.length; i++) {
    const post = posts.get(timeline.keys[i]);
    if (post != null) texts.push(post.text);
  }
  return texts;
}
export function append(room: string, text: string): void {
  const found = timelines.get(room);
  const timeline = found == null ? new Timeline() : found;
  timeline.keys.push(post(room, text));
  timelines.put(room, timeline);
}
`;

const build: BuildResult = buildWith({ ...buildInput({ "handlers/h.ts": MODEL }), optimize: false }, slicer);

test("all of its handlers are sliced", () => {
  expect(build.diagnostics).toEqual([]);
  expect(build.handlers.filter(({ plan }) => plan.kind !== "sliced").map(({ name }) => name)).toEqual([]);
});

const POSTS = 50;

/** The set of a handler, and the bytes of the request that names it. */
function requested(items: Items, handler: string, json: unknown): { readonly units: number; readonly bytes: number } {
  const snapshot = snapshotOf(items);
  const invoked = invocation(build, handler, json);
  const derived = deriveAccessSet(moduleOf(build), invoked, snapshot);
  if (derived.kind !== "derived") throw new Error(derived.reason);
  expect([derived.missing, derived.missingQueries]).toEqual([[], []]);
  const units = Array.from(derived.set.reads, (unit): AccessedUnit => ({
    unit,
    mode: "read",
    version: isItem(unit) ? snapshot(unit).version : { commitId: commitId(1, 1), hash: hashLike(unit) },
  }));
  const request: LviRequest = {
    executionId: "0123456789abcdef0123456789abcdef" as ExecutionId,
    module: moduleOf(build).hash,
    handler,
    args: invoked.args,
    environment: invoked.environment,
    location: "fra",
    units,
    retained: false,
    mustNotWrite: false,
    mayEffect: false,
    lanes: [],
    session: null,
    deadlineMs: 10_000,
    attempt: 1,
    seen: null,
  };
  return { units: units.length, bytes: encodeLviRequest(request).length };
}

function isItem(unit: UnitId): boolean {
  return !splitUnit(unit).table.includes(":");
}

/** As long as the one of a span. */
function hashLike(unit: UnitId): ReturnType<typeof contentHash> {
  return unit.includes(":n") ? countHash(POSTS) : contentHash(new TextEncoder().encode(unit));
}

test("a page of fifty posts is one version in its request, which has at most a fifth of the bytes of fifty items", () => {
  const items: Items = new Map();
  for (let n = 0; n < POSTS; n++) call(build, items, "append", { room: "garden", text: `post ${n}` }, n + 1);
  const page = requested(items, "newest", { room: "garden", most: POSTS });
  const list = requested(items, "listed", { room: "garden" });
  expect([page.units, list.units]).toEqual([1, POSTS + 1]);
  expect(page.bytes * 5).toBeLessThanOrEqual(list.bytes);
  // The number of all posts is another.
  expect(requested(items, "timeline", { room: "garden", before: null, most: POSTS }).units).toBe(2);
  expect(call(build, items, "newest", { room: "garden", most: POSTS }).result).toHaveLength(POSTS);
});
