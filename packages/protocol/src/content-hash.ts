/**
 * The 64-bit content hash of a value: MurmurHash3 x86 128 (Austin Appleby, public domain), first 64 bits, seed 0.
 * It detects corruption and divergence, not malice; 32-bit arithmetic makes it fast without BigInt.
 */

declare const brand: unique symbol;

/** 16 lowercase hex characters. */
export type ContentHash = string & { readonly [brand]: "ContentHash" };

const CONTENT_HASH = /^[0-9a-f]{16}$/;

export function isContentHash(text: string): text is ContentHash {
  return CONTENT_HASH.test(text);
}

const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function finalize(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** The last, incomplete word of a block: bytes `from` up to `end`, little endian, zero filled. */
function tailWord(bytes: Uint8Array, from: number, end: number): number {
  let k = 0;
  for (let i = Math.min(end, from + 4) - 1; i >= from; i--) k = (k << 8) | bytes[i]!;
  return k;
}

export function contentHash(bytes: Uint8Array): ContentHash {
  const [high, low] = contentHashWords(bytes);
  return hashText(high, low);
}

/** The content hash as its two halves of 32 bits, with sign. */
export function contentHashWords(bytes: Uint8Array): readonly [high: number, low: number] {
  const length = bytes.length;
  const blocksEnd = length & ~15;
  let h1 = 0;
  let h2 = 0;
  let h3 = 0;
  let h4 = 0;
  for (let i = 0; i < blocksEnd; i += 16) {
    h1 ^= Math.imul(rotate(Math.imul(word(bytes, i), C1), 15), C2);
    h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotate(Math.imul(word(bytes, i + 4), C2), 16), C3);
    h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotate(Math.imul(word(bytes, i + 8), C3), 17), C4);
    h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotate(Math.imul(word(bytes, i + 12), C4), 18), C1);
    h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  if (length > blocksEnd + 12) {
    h4 ^= Math.imul(rotate(Math.imul(tailWord(bytes, blocksEnd + 12, length), C4), 18), C1);
  }
  if (length > blocksEnd + 8) {
    h3 ^= Math.imul(rotate(Math.imul(tailWord(bytes, blocksEnd + 8, length), C3), 17), C4);
  }
  if (length > blocksEnd + 4) {
    h2 ^= Math.imul(rotate(Math.imul(tailWord(bytes, blocksEnd + 4, length), C2), 16), C3);
  }
  if (length > blocksEnd) {
    h1 ^= Math.imul(rotate(Math.imul(tailWord(bytes, blocksEnd, length), C1), 15), C2);
  }
  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = finalize(h1);
  h2 = finalize(h2);
  h3 = finalize(h3);
  h4 = finalize(h4);
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  return [h1, h2];
}

/** The hash of these two halves of 32 bits. */
export function hashText(high: number, low: number): ContentHash {
  return `${hex(high)}${hex(low)}` as ContentHash;
}

/** The two halves of a hash, of 32 bits without sign. */
export function hashWords(hash: ContentHash): readonly [high: number, low: number] {
  return [Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8), 16)];
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hex(value: number): string {
  return HEX[value >>> 24]! + HEX[(value >>> 16) & 0xff]! + HEX[(value >>> 8) & 0xff]! + HEX[value & 0xff]!;
}
