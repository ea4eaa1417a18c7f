/**
 * UTF-8 both ways. The Encoding Standard's two classes are pure functions that every platform of ours has. They are
 * declared here because the pure packages see the ECMAScript library only.
 */
declare const TextEncoder: new () => { encode(text: string): Uint8Array };
declare const TextDecoder: new (
  label: "utf-8",
  options: { fatal: true; ignoreBOM: true },
) => { decode(bytes: Uint8Array): string };

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Lone surrogates become U+FFFD; callers that must not lose them check `isWellFormed` first. */
export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Throws a TypeError for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
