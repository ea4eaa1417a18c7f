/**
 * SHA-256 (FIPS 180-4) on 32-bit words, and HMAC-SHA-256 (RFC 2104) with a prepared key.
 */

const K: StaticArray<u32> = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
];

const BLOCK_BYTES = 64;
const DIGEST_WORDS = 8;
const SCHEDULE_WORDS = 64;

/** The state of a hash before its first block. */
function initialState(): StaticArray<u32> {
  return [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
}

/** Takes one block into `state`: its 16 words are the first of `schedule`, whose other 48 are scratch space. */
function compress(state: StaticArray<u32>, schedule: StaticArray<u32>): void {
  for (let i = 16; i < SCHEDULE_WORDS; i++) {
    const x = schedule[i - 15];
    const y = schedule[i - 2];
    const s0 = rotr<u32>(x, 7) ^ rotr<u32>(x, 18) ^ (x >>> 3);
    const s1 = rotr<u32>(y, 17) ^ rotr<u32>(y, 19) ^ (y >>> 10);
    schedule[i] = schedule[i - 16] + s0 + schedule[i - 7] + s1;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < SCHEDULE_WORDS; i++) {
    const s1 = rotr<u32>(e, 6) ^ rotr<u32>(e, 11) ^ rotr<u32>(e, 25);
    const t1 = h + s1 + ((e & f) ^ (~e & g)) + K[i] + schedule[i];
    const s0 = rotr<u32>(a, 2) ^ rotr<u32>(a, 13) ^ rotr<u32>(a, 22);
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/** Takes `bytes` and the padding into `state`, which has taken `before` bytes (whole blocks). */
function finish(state: StaticArray<u32>, bytes: Uint8Array, before: i32): void {
  const schedule = new StaticArray<u32>(SCHEDULE_WORDS);
  const blocks = (bytes.length + 9 + BLOCK_BYTES - 1) / BLOCK_BYTES;
  const bits: u64 = <u64>(before + bytes.length) * 8;
  for (let block = 0; block < blocks; block++) {
    for (let word = 0; word < 16; word++) {
      let value: u32 = 0;
      for (let i = 0; i < 4; i++) {
        const at = block * BLOCK_BYTES + word * 4 + i;
        let byte: u32 = 0;
        if (at < bytes.length) byte = bytes[at];
        else if (at == bytes.length) byte = 0x80;
        value = (value << 8) | byte;
      }
      schedule[word] = value;
    }
    if (block == blocks - 1) {
      schedule[14] = <u32>(bits >> 32);
      schedule[15] = <u32>bits;
    }
    compress(state, schedule);
  }
}

/** HMAC-SHA-256 of one key: the states of its inner and outer hash once the padded key is in. */
export class HmacKey {
  private inner: StaticArray<u32> = initialState();
  private outer: StaticArray<u32> = initialState();
  private schedule: StaticArray<u32> = new StaticArray<u32>(SCHEDULE_WORDS);

  constructor(key: Uint8Array) {
    const words = new StaticArray<u32>(16);
    if (key.length > BLOCK_BYTES) {
      const hashed = initialState();
      finish(hashed, key, 0);
      for (let i = 0; i < DIGEST_WORDS; i++) words[i] = hashed[i];
    } else {
      for (let i = 0; i < key.length; i++) {
        const shift: u32 = 24 - 8 * (i % 4);
        words[i / 4] = words[i / 4] | ((<u32>key[i]) << shift);
      }
    }
    for (let i = 0; i < 16; i++) this.schedule[i] = words[i] ^ 0x36363636;
    compress(this.inner, this.schedule);
    for (let i = 0; i < 16; i++) this.schedule[i] = words[i] ^ 0x5c5c5c5c;
    compress(this.outer, this.schedule);
  }

  /** The code of `message`, as 8 words in `digest`. */
  sign(message: Uint8Array, digest: StaticArray<u32>): void {
    for (let i = 0; i < DIGEST_WORDS; i++) digest[i] = this.inner[i];
    finish(digest, message, BLOCK_BYTES);
    this.finishOuter(digest);
  }

  /** Replaces the 8 words of `digest` by their code. */
  signDigest(digest: StaticArray<u32>): void {
    this.fillDigestBlock(digest);
    for (let i = 0; i < DIGEST_WORDS; i++) digest[i] = this.inner[i];
    compress(digest, this.schedule);
    this.finishOuter(digest);
  }

  private finishOuter(digest: StaticArray<u32>): void {
    this.fillDigestBlock(digest);
    for (let i = 0; i < DIGEST_WORDS; i++) digest[i] = this.outer[i];
    compress(digest, this.schedule);
  }

  /** A last block that holds 8 words, after one block of key. */
  private fillDigestBlock(digest: StaticArray<u32>): void {
    for (let i = 0; i < DIGEST_WORDS; i++) this.schedule[i] = digest[i];
    this.schedule[8] = 0x80000000;
    for (let i = 9; i < 15; i++) this.schedule[i] = 0;
    this.schedule[15] = (BLOCK_BYTES + 32) * 8;
  }
}
