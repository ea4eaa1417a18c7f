/**
 * Which blobs there are. Three hidden tables say it (`blob.ts` of `@radical/protocol`). Internal: generated code and the program
 * of `radical data` use it.
 *
 * An upload *begins*, its bytes go to the store, and then it is *stored*: from here on executions may name it. A hash that
 * nobody has named for long *goes*: from here on no execution may name it. The collector removes its bytes, and it is gone.
 * Between two steps of one a whole life of another may pass. So an upload has a token, and one that has begun anew has another.
 */
import { Reader, Writer, readArguments, respond } from "./codec";
import { uuidAt } from "./draws";
import * as host from "./host";

const BLOBS = ".blobs";
const UPLOADS = ".blob-uploads";
const NAMES = ".blob-names";

// ── Hashes in encoded values ─────────────────────────────────────────────────────────────────────────────────────────

/** The first bytes of each encoded Blob: a map of three, the key `hash`, a text of 64 bytes. */
const MARK: u64 = 0x40786873616864a3;
const MARK_BYTES: usize = 8;
const HASH_BYTES: usize = 64;

/** Where the next Blob in `[at, stop)` has its hash; 0: there is none. */
function nextHash(at: usize, stop: usize): usize {
  for (; at + MARK_BYTES + HASH_BYTES <= stop; at++) {
    if (load<u64>(at) == MARK && isHash(at + MARK_BYTES)) return at + MARK_BYTES;
  }
  return 0;
}

function isHash(at: usize): bool {
  for (let i: usize = 0; i < HASH_BYTES; i++) {
    const c = load<u8>(at + i);
    if (!((c >= 0x30 && c <= 0x39) || (c >= 0x61 && c <= 0x66))) return false;
  }
  return true;
}

function hashesIn(start: usize, length: i32): string[] {
  const hashes: string[] = [];
  const stop = start + length;
  for (let at = nextHash(start, stop); at != 0; at = nextHash(at, stop)) {
    const hash = String.UTF8.decodeUnsafe(at, HASH_BYTES);
    if (!hashes.includes(hash)) hashes.push(hash);
  }
  return hashes;
}

/** Ends the execution unless the bytes of all Blobs in an encoded value are there. */
export function checkBlobsIn(start: usize, length: i32): void {
  const hashes = hashesIn(start, length);
  for (let i = 0; i < hashes.length; i++) {
    if (host.has(BLOBS, hashes[i]) == 0)
      host.abort(
        409,
        "blob_missing",
        `There are no bytes with the SHA-256 ${hashes[i]}. Put them again, and send the Blob that is answered.`,
      );
  }
}

/** Before a handler reads its arguments: ends the execution unless the bytes of all Blobs in them are there. */
export function checkBlobs(): void {
  const length = host.args_size();
  const bytes = new ArrayBuffer(length);
  host.args_read(changetype<usize>(bytes));
  checkBlobsIn(changetype<usize>(bytes), length);
}

/** The same in a read/write-set function. */
export function touchBlobs(): void {
  const length = host.args_size();
  const bytes = new ArrayBuffer(length);
  host.args_read(changetype<usize>(bytes));
  const hashes = hashesIn(changetype<usize>(bytes), length);
  for (let i = 0; i < hashes.length; i++) host.touch(BLOBS, hashes[i]);
}

// ── The life of a hash ───────────────────────────────────────────────────────────────────────────────────────────────

const ARRIVING = "arriving";
const STORED = "stored";
const GOING = "going";

/** A removal of bytes happens within this time, or never: a later sweep may try again then. */
const REMOVAL_MS: i64 = 3_600_000;

class Upload {
  constructor(
    public state: string,
    /** Of the upload by which the hash came; of one that goes: of the sweep that has its bytes removed. */
    public token: string,
    /** Since when nobody has named it, as far as a sweep knows; 0: somebody names it. Of one that goes: since when it goes. */
    public since: i64,
  ) {}

  static read(reader: Reader): Upload {
    reader.tuple(3);
    const state = reader.text();
    const token = reader.text();
    return new Upload(state, token, reader.signed(0, i64.MAX_VALUE));
  }

  static get(hash: string): Upload | null {
    const length = host.get(UPLOADS, hash);
    if (length < 0) return null;
    const reader = new Reader();
    host.take(reader.expect(length));
    return Upload.read(reader);
  }

  put(hash: string): void {
    const writer = new Writer();
    writer.array(3);
    writer.text(this.state);
    writer.text(this.token);
    writer.signed(this.since);
    host.put(UPLOADS, hash, writer.start, writer.length);
  }
}

/**
 * `[hash]` → `[state, token]`. The bytes of a hash that is `stored` are there already. Those of one that is `arriving` may be put
 * now. One that is `going` may not be put before it is gone.
 */
export function begin(): void {
  const reader = readArguments();
  reader.tuple(1);
  const hash = reader.text();
  reader.end();
  let upload = Upload.get(hash);
  if (upload == null) upload = new Upload(ARRIVING, uuidAt("blobs"), 0);
  if (upload.state != GOING) {
    upload.since = host.now();
    upload.put(hash);
  }
  answer(upload.state, upload.token);
}

/** `[hash, token]` → `[state, token]`: its bytes are there. It is `stored`, unless another upload has begun since. */
export function stored(): void {
  const reader = readArguments();
  reader.tuple(2);
  const hash = reader.text();
  const token = reader.text();
  reader.end();
  const upload = Upload.get(hash);
  if (upload == null || upload.token != token) return answer("lost", token);
  upload.state = STORED;
  upload.since = host.now();
  upload.put(hash);
  const writer = new Writer();
  writer.null();
  host.put(BLOBS, hash, writer.start, writer.length);
  answer(STORED, token);
}

function answer(state: string, token: string): void {
  const writer = new Writer();
  writer.array(2);
  writer.text(state);
  writer.text(token);
  respond(writer);
}

/**
 * `[from, count, keepMs]` → `[last, token, hash, …]`: goes over the first hashes from `from` on. The bytes of those that it answers
 * are to be removed, within minutes. `last` is the last hash that it has seen, and an empty text if there are no more.
 */
export function sweep(): void {
  const reader = readArguments();
  reader.tuple(3);
  const from = reader.text();
  const count = reader.signed(1, i32.MAX_VALUE) as i32;
  const keepMs = reader.signed(0, i64.MAX_VALUE);
  reader.end();
  const rows = new Reader();
  host.take(rows.expect(host.scan(UPLOADS, from, "", count, 0)));
  const found = rows.array();
  const token = uuidAt("blobs");
  const going: string[] = [];
  let last = "";
  for (let left = found; left > 0; left -= 2) {
    last = rows.text();
    const value = rows.bytes();
    const upload = new Reader();
    memory.copy(upload.expect(value.byteLength), changetype<usize>(value), value.byteLength);
    if (goes(last, Upload.read(upload), keepMs, token)) going.push(last);
  }
  const writer = new Writer();
  writer.array(going.length + 2);
  writer.text(found < count << 1 ? "" : last);
  writer.text(token);
  for (let i = 0; i < going.length; i++) writer.text(going[i]);
  respond(writer);
}

/** Whether the bytes of a hash are to be removed by who asks. */
function goes(hash: string, upload: Upload, keepMs: i64, token: string): bool {
  const now = host.now();
  if (upload.state == GOING) {
    // Somebody else may be removing them still.
    if (now - upload.since < REMOVAL_MS) return false;
  } else {
    const since = isNamed(hash) ? 0 : upload.since == 0 ? now : upload.since;
    if (since == 0 || now - since < keepMs) {
      if (since == upload.since) return false;
      upload.since = since;
      upload.put(hash);
      return false;
    }
    upload.state = GOING;
    // From here on nobody can name it.
    host.remove(BLOBS, hash);
  }
  upload.since = now;
  upload.token = token;
  upload.put(hash);
  return true;
}

/** Most entries of a hash that one sweep looks at. */
const MOST_ENTRIES = 8;

/** Whether an item names the hash. Entries of items that do not are removed. */
function isNamed(hash: string): bool {
  const rows = new Reader();
  // "0" is the character behind "/".
  host.take(rows.expect(host.scan(NAMES, hash + "/", hash + "0", MOST_ENTRIES, 0)));
  const found = rows.array();
  for (let left = found; left > 0; left -= 2) {
    const entry = rows.text();
    rows.skip();
    const table = entry.indexOf("/") + 1;
    const key = entry.indexOf("/", table) + 1;
    if (names(entry.substring(table, key - 1), entry.substring(key), hash)) return true;
    host.remove(NAMES, entry);
  }
  // There may be more.
  return found == MOST_ENTRIES << 1;
}

function names(table: string, key: string, hash: string): bool {
  const length = host.get(table, key);
  if (length < 0) return false;
  const bytes = new ArrayBuffer(length);
  host.take(changetype<usize>(bytes));
  return hashesIn(changetype<usize>(bytes), length).includes(hash);
}

/** `[token, hash, …]` → null: the bytes are removed. A hash that a later sweep has taken up is left to that one. */
export function swept(): void {
  const reader = readArguments();
  let left = reader.array();
  const token = reader.text();
  while (--left > 0) {
    const hash = reader.text();
    const upload = Upload.get(hash);
    if (upload != null && upload.state == GOING && upload.token == token) host.remove(UPLOADS, hash);
  }
  reader.end();
  const writer = new Writer();
  writer.null();
  respond(writer);
}
