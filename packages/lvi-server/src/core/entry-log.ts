/**
 * Entries of units in little more memory than their bytes: records in a log of segments, and a hash table of their places.
 * Nothing in it is an object to the garbage collector, however many units there are.
 *
 * Records are appended to the newest segment. A record that is replaced by one of another size is *dead*. It stays where it
 * is until its segment is recycled. Recycling moves the records to keep to the newest segment, and frees the rest. When
 * most of the log is dead, the segment with the least alive is recycled, and all that is alive is kept. When the log
 * exceeds its bound, the segment with the least *used* is recycled, and only that is kept. An entry is used if it was
 * looked at since the hand of a clock has passed its segment. The hand moves on with each segment that is recycled.
 */
import { type CommitId, commitId, type Entry, hashText, type UnitId, type Version } from "@radical/protocol";

/** A record is so many 32-bit words, the characters of its unit and the bytes of its value, up to a whole word. */
const HEADER = 8;
const HASH = 0;
/** How many characters the unit has, and what else there is to say. */
const UNIT = 1;
const VALUE_BYTES = 2;
/** Of the commit id: the server's epoch, and the two parts of the sequence. */
const EPOCH = 3;
const SEQUENCE_HIGH = 4;
const SEQUENCE_LOW = 5;
/** Of the value. */
const CONTENT_HIGH = 6;
const CONTENT_LOW = 7;

const UNIT_LENGTH = 0xffff;
/** Its characters take two bytes each. */
const WIDE = 0x1_0000;
const ABSENT = 0x2_0000;
const USED = 0x4_0000;

const MAX_SEGMENT_WORDS = 2 ** 18;
const MIN_SEGMENT_WORDS = 2 ** 5;
/** A bounded log is made of so many segments or more: what is forgotten at once is a small part of it. */
const SEGMENTS = 64;
const MIN_SLOTS = 16;
/** Most versions that are known to be held without a look. */
const MAX_CONFIRMED = 4_096;

interface Segment {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** In words: so far written, and of that not dead, and of that used. */
  length: number;
  live: number;
  used: number;
}

export class EntryLog {
  readonly #maxBytes: number;
  readonly #seed: number;
  /** Words of a segment are a power of two; a larger record has a segment of its own. */
  readonly #segmentBits: number;
  readonly #offsetMask: number;
  /** By number; numbers are used again. */
  readonly #segments: (Segment | null)[] = [];
  readonly #freeNumbers: number[] = [];
  /** The one that is appended to. */
  #newest: number | null = null;
  /** The number that the hand of the clock is at. */
  #hand = 0;
  /** Two words for each slot: the hash of a unit, and one more than the place of its record; 0: free. */
  #slots = new Uint32Array(2 * MIN_SLOTS);
  /**
   * Versions that were found to be held, and still are. A version that comes again as the same object, as those of hot
   * units do, is not compared again.
   */
  readonly #confirmed = new Map<UnitId, Version>();
  #size = 0;
  #segmentBytes = 0;
  #liveWords = 0;
  #deadWords = 0;

  /** `seed`: what makes hashes differ from those that somebody who chooses keys can compute. */
  constructor(maxBytes: number, seed: number) {
    this.#maxBytes = maxBytes;
    this.#seed = seed;
    const words = Math.min(MAX_SEGMENT_WORDS, Math.max(MIN_SEGMENT_WORDS, maxBytes / 4 / SEGMENTS));
    this.#segmentBits = Math.floor(Math.log2(words));
    this.#offsetMask = 2 ** this.#segmentBits - 1;
  }

  /** How many units it holds. */
  get size(): number {
    return this.#size;
  }

  /** Memory taken. */
  get bytes(): number {
    return this.#segmentBytes + this.#slots.byteLength;
  }

  has(unit: UnitId): boolean {
    return this.#placeOf(unit) !== null;
  }

  /** Undefined: it does not hold the unit. */
  get(unit: UnitId): Entry | undefined {
    const place = this.#placeOf(unit);
    if (place === null) return undefined;
    const { words, bytes } = this.#segmentOf(place);
    const at = this.#offsetOf(place);
    this.#use(place);
    const commit: CommitId = commitId(
      words[at + EPOCH]!,
      words[at + SEQUENCE_HIGH]! * 2 ** 32 + words[at + SEQUENCE_LOW]!,
    );
    if ((words[at + UNIT]! & ABSENT) !== 0) return { version: { commitId: commit, hash: null }, value: null };
    const from = valueAt(words, at);
    // A copy: the record may be overwritten, or move.
    const value = bytes.slice(from, from + words[at + VALUE_BYTES]!);
    const hash = hashText(words[at + CONTENT_HIGH]!, words[at + CONTENT_LOW]!);
    return { version: { commitId: commit, hash }, value };
  }

  /** Whether it holds the unit in a version that is the same: see `sameVersion`. */
  holds(unit: UnitId, version: Version): boolean {
    if (this.#confirmed.get(unit) === version) return true;
    if (!this.#isHeld(unit, version)) return false;
    if (this.#confirmed.size >= MAX_CONFIRMED) this.#confirmed.clear();
    this.#confirmed.set(unit, version);
    return true;
  }

  #isHeld(unit: UnitId, { commitId: commit, hash }: Version): boolean {
    const place = this.#placeOf(unit);
    if (place === null) return false;
    const { words } = this.#segmentOf(place);
    const at = this.#offsetOf(place);
    this.#use(place);
    const isAbsent = (words[at + UNIT]! & ABSENT) !== 0;
    // variant: absence-compared
    if (hash === null || isAbsent) return hash === null && isAbsent;
    // variant: version-compared
    return (
      words[at + CONTENT_LOW] === hexWord(hash, 8, 16) &&
      words[at + CONTENT_HIGH] === hexWord(hash, 0, 8) &&
      words[at + SEQUENCE_LOW] === hexWord(commit, 13, 21) &&
      words[at + SEQUENCE_HIGH] === hexWord(commit, 9, 13) &&
      words[at + EPOCH] === hexWord(commit, 0, 8)
    );
  }

  put(unit: UnitId, { version, value }: Entry): void {
    this.#confirmed.delete(unit);
    const hash = hashOf(unit, this.#seed);
    const valueBytes = value?.length ?? 0;
    let slot = this.#slotOf(unit, hash);
    let place: number;
    const old = this.#slots[2 * slot + 1]!;
    if (old !== 0 && this.#segmentOf(old - 1).words[this.#offsetOf(old - 1) + VALUE_BYTES] === valueBytes) {
      place = old - 1;
    } else {
      if (old === 0) {
        if (4 * (this.#size + 1) > 3 * (this.#slots.length / 2)) {
          this.#growSlots();
          slot = this.#slotOf(unit, hash);
        }
        this.#size++;
      } else this.#bury(old - 1);
      place = this.#append(recordWords(unit.length, isWide(unit), valueBytes));
      this.#slots[2 * slot] = hash;
      this.#slots[2 * slot + 1] = place + 1;
      const { words, bytes } = this.#segmentOf(place);
      const at = this.#offsetOf(place);
      words[at + HASH] = hash;
      words[at + UNIT] = unit.length | (isWide(unit) ? WIDE : 0);
      words[at + VALUE_BYTES] = valueBytes;
      writeUnit(bytes, (at + HEADER) * 4, unit);
    }
    const { words, bytes } = this.#segmentOf(place);
    const at = this.#offsetOf(place);
    words[at + EPOCH] = hexWord(version.commitId, 0, 8);
    words[at + SEQUENCE_HIGH] = hexWord(version.commitId, 9, 13);
    words[at + SEQUENCE_LOW] = hexWord(version.commitId, 13, 21);
    if (value === null || version.hash === null) {
      words[at + UNIT]! |= ABSENT;
    } else {
      words[at + UNIT]! &= ~ABSENT;
      words[at + CONTENT_HIGH] = hexWord(version.hash, 0, 8);
      words[at + CONTENT_LOW] = hexWord(version.hash, 8, 16);
      bytes.set(value, valueAt(words, at));
    }
  }

  /** Until the log is within its bound, of which others take a part. Entries that were put or used since the last time may go too. */
  shrink(othersBytes = 0): void {
    // One at a time, so that no call takes long.
    if (this.#deadWords > this.#liveWords + this.#offsetMask)
      this.#recycle(
        this.#leastBy(({ live }) => live),
        Number.POSITIVE_INFINITY,
      );
    while (this.bytes + othersBytes > this.#maxBytes && this.#newest !== null) {
      const number = this.#leastBy(({ used }) => used);
      // At least half of it goes, so that this ends soon even if everything was used.
      this.#recycle(number, this.#segments[number]!.length / 2);
      // Only then: what it passes has until the next time to be used again.
      this.#moveHand();
    }
  }

  // ── The log ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A place is the number of a segment and an offset in it. */
  #segmentOf(place: number): Segment {
    return this.#segments[place >>> this.#segmentBits]!;
  }

  #offsetOf(place: number): number {
    return place & this.#offsetMask;
  }

  #placeIn(number: number, at: number): number {
    return ((number << this.#segmentBits) | at) >>> 0;
  }

  /** Where a record of so many words can be written. */
  #append(count: number): number {
    this.#liveWords += count;
    const newest = this.#newest === null ? null : this.#segments[this.#newest]!;
    if (this.#newest !== null && newest !== null && newest.length + count <= newest.words.length) {
      const at = newest.length;
      newest.length += count;
      newest.live += count;
      return this.#placeIn(this.#newest, at);
    }
    const buffer = new ArrayBuffer(4 * Math.max(2 ** this.#segmentBits, count));
    const number = this.#freeNumbers.pop() ?? this.#segments.length;
    const [words, bytes] = [new Uint32Array(buffer), new Uint8Array(buffer)];
    this.#segments[number] = { words, bytes, length: count, live: count, used: 0 };
    this.#newest = number;
    this.#segmentBytes += buffer.byteLength;
    return this.#placeIn(number, 0);
  }

  #use(place: number): void {
    const segment = this.#segmentOf(place);
    const at = this.#offsetOf(place);
    if ((segment.words[at + UNIT]! & USED) !== 0) return;
    segment.words[at + UNIT]! |= USED;
    segment.used += wordsOf(segment.words, at);
  }

  #bury(place: number): void {
    const segment = this.#segmentOf(place);
    const at = this.#offsetOf(place);
    const count = wordsOf(segment.words, at);
    segment.live -= count;
    if ((segment.words[at + UNIT]! & USED) !== 0) segment.used -= count;
    this.#liveWords -= count;
    this.#deadWords += count;
  }

  /** The number of the segment that has the least of something; of the newest one only if there is no other. */
  #leastBy(amount: (segment: Segment) => number): number {
    let least = this.#newest!;
    let leastAmount = Number.POSITIVE_INFINITY;
    for (const [number, segment] of this.#segments.entries()) {
      if (segment === null || number === this.#newest || amount(segment) >= leastAmount) continue;
      least = number;
      leastAmount = amount(segment);
    }
    return least;
  }

  /** From the segment that it is at: nothing in it counts as used any more. */
  #moveHand(): void {
    // An entry that is looked at again is to count as used again.
    this.#confirmed.clear();
    const segment = this.#segments[this.#hand];
    this.#hand = (this.#hand + 1) % this.#segments.length;
    if (segment === null || segment === undefined || segment.used === 0) return;
    const { words, length } = segment;
    for (let at = 0; at < length; at += wordsOf(words, at)) words[at + UNIT]! &= ~USED;
    segment.used = 0;
  }

  /** Frees a segment. Its used records are kept, up to so many words; without a bound all that are alive. */
  #recycle(number: number, keptWords: number): void {
    this.#confirmed.clear();
    const { words, length } = this.#segments[number]!;
    if (number === this.#newest) this.#newest = null;
    let left = keptWords;
    for (let at = 0, count = 0; at < length; at += count) {
      count = wordsOf(words, at);
      const slot = this.#slotAt(words[at + HASH]!, this.#placeIn(number, at));
      if (slot === null) {
        this.#deadWords -= count;
        continue;
      }
      this.#liveWords -= count;
      if (count > left || (keptWords !== Number.POSITIVE_INFINITY && (words[at + UNIT]! & USED) === 0)) {
        this.#freeSlot(slot);
        this.#size--;
        continue;
      }
      left -= count;
      words[at + UNIT]! &= ~USED;
      const place = this.#append(count);
      this.#segmentOf(place).words.set(words.subarray(at, at + count), this.#offsetOf(place));
      this.#slots[2 * slot + 1] = place + 1;
    }
    this.#segments[number] = null;
    this.#freeNumbers.push(number);
    this.#segmentBytes -= words.byteLength;
  }

  // ── The hash table: open addressing, linear probing ────────────────────────────────────────────────────────────────

  get #slotMask(): number {
    return this.#slots.length / 2 - 1;
  }

  #placeOf(unit: UnitId): number | null {
    const place = this.#slots[2 * this.#slotOf(unit, hashOf(unit, this.#seed)) + 1]!;
    return place === 0 ? null : place - 1;
  }

  /** The unit's slot, or the free one where it would be. */
  #slotOf(unit: UnitId, hash: number): number {
    const mask = this.#slotMask;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = this.#slots[2 * slot + 1]!;
      if (place === 0) return slot;
      if (this.#slots[2 * slot] !== hash) continue;
      const { words, bytes } = this.#segmentOf(place - 1);
      if (isUnitAt(words, bytes, this.#offsetOf(place - 1), unit)) return slot;
    }
  }

  /** The slot of the record at a place; null: the record is dead. */
  #slotAt(hash: number, place: number): number | null {
    const mask = this.#slotMask;
    for (let slot = hash & mask; this.#slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      if (this.#slots[2 * slot + 1] === place + 1) return slot;
    }
    return null;
  }

  /** Later ones that were put off from it move up, so that a search never stops too early. */
  #freeSlot(freed: number): void {
    const mask = this.#slotMask;
    let hole = freed;
    for (let slot = (hole + 1) & mask; this.#slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const first = this.#slots[2 * slot]! & mask;
      if (((slot - first) & mask) < ((slot - hole) & mask)) continue;
      this.#slots[2 * hole] = this.#slots[2 * slot]!;
      this.#slots[2 * hole + 1] = this.#slots[2 * slot + 1]!;
      hole = slot;
    }
    this.#slots[2 * hole + 1] = 0;
  }

  #growSlots(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(2 * old.length);
    const mask = this.#slotMask;
    for (let from = 0; from < old.length; from += 2) {
      if (old[from + 1] === 0) continue;
      let slot = old[from]! & mask;
      while (this.#slots[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
      this.#slots[2 * slot] = old[from]!;
      this.#slots[2 * slot + 1] = old[from + 1]!;
    }
  }
}

function recordWords(unitLength: number, wide: boolean, valueBytes: number): number {
  return HEADER + ((unitLength * (wide ? 2 : 1) + valueBytes + 3) >>> 2);
}

/** Of the record that begins there. */
function wordsOf(words: Uint32Array, at: number): number {
  const unit = words[at + UNIT]!;
  return recordWords(unit & UNIT_LENGTH, (unit & WIDE) !== 0, words[at + VALUE_BYTES]!);
}

/** In bytes of the segment. */
function valueAt(words: Uint32Array, at: number): number {
  const unit = words[at + UNIT]!;
  return (at + HEADER) * 4 + (unit & UNIT_LENGTH) * ((unit & WIDE) === 0 ? 1 : 2);
}

function isWide(unit: UnitId): boolean {
  for (let i = 0; i < unit.length; i++) if (unit.charCodeAt(i) > 0xff) return true;
  return false;
}

function writeUnit(bytes: Uint8Array, from: number, unit: UnitId): void {
  const wide = isWide(unit);
  for (let i = 0, at = from; i < unit.length; i++) {
    const character = unit.charCodeAt(i);
    bytes[at++] = character;
    if (wide) bytes[at++] = character >>> 8;
  }
}

function isUnitAt(words: Uint32Array, bytes: Uint8Array, at: number, unit: UnitId): boolean {
  const described = words[at + UNIT]!;
  if ((described & UNIT_LENGTH) !== unit.length) return false;
  const from = (at + HEADER) * 4;
  if ((described & WIDE) === 0) {
    for (let i = 0; i < unit.length; i++) if (bytes[from + i] !== unit.charCodeAt(i)) return false;
    return true;
  }
  for (let i = 0; i < unit.length; i++)
    if ((bytes[from + 2 * i]! | (bytes[from + 2 * i + 1]! << 8)) !== unit.charCodeAt(i)) return false;
  return true;
}

function hashOf(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The number that at most 8 lowercase hex characters stand for. */
function hexWord(text: string, from: number, to: number): number {
  let word = 0;
  for (let i = from; i < to; i++) {
    const character = text.charCodeAt(i);
    // Letters are nine more than their lowest bits say.
    word = (word << 4) | ((character & 15) + 9 * (character >>> 6));
  }
  return word >>> 0;
}
