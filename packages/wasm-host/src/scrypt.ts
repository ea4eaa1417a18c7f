/**
 * scrypt (RFC 7914), for hashes of passwords. Node and workerd have it as a native function, which takes half the time. A Worker
 * with an old compatibility date lacks that function, and computes the same bytes in JavaScript.
 */
import { scrypt } from "@noble/hashes/scrypt.js";

/** The block size that is recommended for it, and the length of its hash. */
const BLOCK_SIZE = 8;
const HASH_BYTES = 32;

export interface ScryptCost {
  /** N, a power of two. The memory of a hash is 1 KiB for each. */
  readonly cost: number;
  readonly parallelization: number;
}

/** 32 bytes. */
export function scryptHash(password: Uint8Array, salt: Uint8Array, cost: ScryptCost): Uint8Array {
  return (nativeScrypt() ?? portableScrypt)(password, salt, cost);
}

type Scrypt = typeof scryptHash;

export const portableScrypt: Scrypt = (password, salt, { cost: N, parallelization: p }) =>
  scrypt(password, salt, { N, r: BLOCK_SIZE, p, dkLen: HASH_BYTES });

/** The part of `node:crypto` that is used. */
interface NodeCrypto {
  scryptSync(
    password: Uint8Array,
    salt: Uint8Array,
    length: number,
    options: {
      readonly N: number;
      readonly r: number;
      readonly p: number;
      readonly maxmem: number;
    },
  ): Uint8Array;
}

interface BuiltinModules {
  readonly process?: { getBuiltinModule?(name: "node:crypto"): NodeCrypto | undefined };
}

/** Null: this host lacks it. */
export function nativeScrypt(): Scrypt | null {
  const crypto = (globalThis as BuiltinModules).process?.getBuiltinModule?.("node:crypto");
  if (typeof crypto?.scryptSync !== "function") return null;
  return (password, salt, { cost: N, parallelization: p }) => {
    // OpenSSL asks for a little more than the hash takes.
    const maxmem = 2 * 128 * BLOCK_SIZE * (N + p);
    return Uint8Array.from(crypto.scryptSync(password, salt, HASH_BYTES, { N, r: BLOCK_SIZE, p, maxmem }));
  };
}
