/** Password hashes: PBKDF2 with HMAC-SHA-256 (RFC 8018, section 5.2), one block of 32 bytes. */
import { HmacKey } from "./sha256";

/**
 * Rounds of one password hash: some 50 ms. More make guessing dearer and a login slower; stored hashes are bound to
 * their number. OWASP advises 600,000 for accounts that matter.
 */
export const ITERATIONS = 10_000;

/** The derived key as 64 hexadecimal characters. */
export function pbkdf2(password: string, salt: string, iterations: i32): string {
  const key = new HmacKey(Uint8Array.wrap(String.UTF8.encode(password)));
  const u = new StaticArray<u32>(8);
  const derived = new StaticArray<u32>(8);
  // The salt is followed by the number of the block, which is always the first.
  key.sign(Uint8Array.wrap(String.UTF8.encode(salt + "\0\0\0\x01")), u);
  for (let i = 0; i < 8; i++) derived[i] = u[i];
  for (let round = 1; round < iterations; round++) {
    key.signDigest(u);
    for (let i = 0; i < 8; i++) derived[i] = derived[i] ^ u[i];
  }
  let hex = "";
  for (let i = 0; i < 8; i++) hex += derived[i].toString(16).padStart(8, "0");
  return hex;
}
