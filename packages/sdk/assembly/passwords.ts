/**
 * Hashes of passwords, and of texts, which the host computes. A password is hashed by scrypt. N = 2^14, r = 8 and p = 5 are the
 * parameters that OWASP recommends for 16 MiB of memory. A stored hash is a PHC string that names its parameters, so it stays valid
 * when the parameters of new ones change.
 */
import { uuidAt } from "./draws";
import * as host from "./host";

const LOG_COST = 14;
const BLOCK_SIZE = 8;
const PARALLELIZATION = 5;
const HASH_BYTES = 32;
const SALT_BYTES = 16;

/** The draws of salts: a read/write-set function never computes a hash, so all calls share one site. */
const SALT_SITE = "hashPassword";

/**
 * The hash of a password, to be stored: `$scrypt$ln=14,r=8,p=5$<salt>$<hash>`. Its salt is drawn, so two hashes of one password
 * differ, and a re-execution gives the same hash. It takes 0.1 to 0.2 seconds, beside the request to the primary.
 *
 *     account.passwordHash = hashPassword(password);
 */
export function hashPassword(password: string): string {
  const salt = drawnSalt();
  const hash = scrypt(password, salt, LOG_COST, PARALLELIZATION);
  return `$scrypt$${parametersOf(LOG_COST, PARALLELIZATION)}$${base64(salt)}$${base64(hash)}`;
}

/**
 * Whether `stored`, which `hashPassword` gave, is a hash of the password. Without a hash (null) the answer is false, and takes the same
 * time: so nobody learns from the time whether there is an account.
 *
 *     const account = accounts.get(name);
 *     if (!verifyPassword(password, account == null ? null : account.passwordHash)) abort(401, "wrong_password", "…");
 *
 * A stored text that is not such a hash ends the execution with an error.
 */
export function verifyPassword(password: string, stored: string | null): bool {
  if (stored == null) {
    scrypt(password, new StaticArray<u8>(SALT_BYTES), LOG_COST, PARALLELIZATION);
    return false;
  }
  const parts = PasswordHash.parse(stored);
  const hash = scrypt(password, parts.salt, parts.logCost, parts.parallelization);
  // Each byte is looked at, wherever the first difference is.
  let difference: i32 = 0;
  for (let i = 0; i < HASH_BYTES; i++) difference |= <i32>(hash[i] ^ parts.hash[i]);
  return difference == 0;
}

/**
 * Whether `hashPassword` would use other parameters today than those of `stored`. After a login the password is at hand to hash it
 * anew:
 *
 *     if (needsRehash(account.passwordHash)) account.passwordHash = hashPassword(password);
 */
export function needsRehash(stored: string): bool {
  const parts = PasswordHash.parse(stored);
  return parts.logCost != LOG_COST || parts.parallelization != PARALLELIZATION;
}

/**
 * The SHA-256 of a text as UTF-8, in 64 hexadecimal digits. Store a random token under it, so that the table does not tell the
 * token. It is not for passwords, which can be guessed: `hashPassword` is.
 *
 *     sessions.put(sha256(token), session);
 */
export function sha256(text: string): string {
  const bytes = utf8(text);
  const hash = new StaticArray<u8>(HASH_BYTES);
  host.sha256(changetype<usize>(hash), changetype<usize>(bytes), bytes.byteLength);
  const digits = new StaticArray<u8>(2 * HASH_BYTES);
  for (let i = 0; i < HASH_BYTES; i++) {
    digits[2 * i] = digitOf(hash[i] >> 4);
    digits[2 * i + 1] = digitOf(hash[i] & 15);
  }
  return String.UTF8.decodeUnsafe(changetype<usize>(digits), digits.length);
}

function digitOf(value: u8): u8 {
  return value < 10 ? 48 + value : 87 + value;
}

function scrypt(password: string, salt: StaticArray<u8>, logCost: i32, parallelization: i32): StaticArray<u8> {
  const bytes = utf8(password);
  const hash = new StaticArray<u8>(HASH_BYTES);
  host.scrypt(
    changetype<usize>(hash),
    changetype<usize>(bytes),
    bytes.byteLength,
    changetype<usize>(salt),
    salt.length,
    logCost,
    parallelization << logCost,
  );
  return hash;
}

function utf8(text: string): ArrayBuffer {
  return String.UTF8.encode(text);
}

/** The bytes of a drawn UUID: 122 of their 128 bits are drawn. */
function drawnSalt(): StaticArray<u8> {
  const digits = uuidAt(SALT_SITE).replaceAll("-", "");
  const salt = new StaticArray<u8>(SALT_BYTES);
  for (let i = 0; i < SALT_BYTES; i++) salt[i] = <u8>U32.parseInt(digits.substr(2 * i, 2), 16);
  return salt;
}

function parametersOf(logCost: i32, parallelization: i32): string {
  return `ln=${logCost},r=${BLOCK_SIZE},p=${parallelization}`;
}

/** A stored hash, taken apart. */
class PasswordHash {
  logCost: i32 = 0;
  parallelization: i32 = 0;
  salt: StaticArray<u8> = [];
  hash: StaticArray<u8> = [];

  /** Ends the execution if the text is not a hash that `verifyPassword` can compute. */
  static parse(text: string): PasswordHash {
    const parts = text.split("$");
    assert(parts.length == 5 && parts[0] == "" && parts[1] == "scrypt", NO_HASH);
    const fields = parts[2].split(",");
    assert(fields.length == 3, NO_HASH);
    const parsed = new PasswordHash();
    parsed.logCost = numberOf(fields[0], "ln=");
    parsed.parallelization = numberOf(fields[2], "p=");
    parsed.salt = bytesOf(parts[3]);
    parsed.hash = bytesOf(parts[4]);
    // One form only: a number as it is printed.
    assert(parametersOf(parsed.logCost, parsed.parallelization) == parts[2], NO_HASH);
    assert(parsed.logCost >= 1 && parsed.logCost <= 15, TOO_DEAR);
    assert(parsed.parallelization >= 1 && parsed.parallelization <= 64, TOO_DEAR);
    assert(parsed.hash.length == HASH_BYTES, NO_HASH);
    return parsed;
  }
}

const NO_HASH = "the stored text is not a hash of hashPassword: it must be like $scrypt$ln=14,r=8,p=5$<salt>$<hash>";
const TOO_DEAR = "the stored hash has parameters that no host computes: ln may be 1 to 15, and p 1 to 64";

function numberOf(field: string, name: string): i32 {
  return field.startsWith(name) ? I32.parseInt(field.substr(name.length)) : 0;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Base 64 without padding, as PHC strings have it. */
function base64(bytes: StaticArray<u8>): string {
  let text = "";
  let bits: u32 = 0;
  let count = 0;
  for (let i = 0; i < bytes.length; i++) {
    bits = (bits << 8) | bytes[i];
    for (count += 8; count >= 6; count -= 6) text += DIGITS.charAt((bits >> (count - 6)) & 63);
  }
  return count == 0 ? text : text + DIGITS.charAt((bits << (6 - count)) & 63);
}

function bytesOf(text: string): StaticArray<u8> {
  const bytes = new StaticArray<u8>((text.length * 6) >> 3);
  let bits: u32 = 0;
  let count = 0;
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = DIGITS.indexOf(text.charAt(i));
    assert(digit >= 0, NO_HASH);
    bits = (bits << 6) | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes[at++] = <u8>(bits >> count);
  }
  // The bits that are left over are zero: one text only for some bytes.
  assert(count < 6 && (bits & ((1 << count) - 1)) == 0, NO_HASH);
  return bytes;
}
