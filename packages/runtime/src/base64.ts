/** Base 64, as far as the platform has it: of text. */

const CHUNK = 8_192;

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    // An array-like as it is: to spread it takes ten times as long.
    binary += Reflect.apply(String.fromCharCode, null, bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}

/** Null: it is none. */
export function fromBase64(text: string): Uint8Array | null {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return null;
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
