/**
 * The rest of a commit that is larger than one transaction: its changes but that of the record which decides it, as bytes that
 * stand in parts until they are applied.
 */
import { toBase64 } from "../../base64.ts";
import type { Item } from "./limits.ts";

/** What becomes of one item of a table. */
export type Change =
  | { readonly kind: "put"; readonly table: "items" | "executions"; readonly item: Item }
  | { readonly kind: "delete"; readonly table: "items" | "executions"; readonly key: Item };

/** In JSON only the bytes of an attribute (`B`) need a form of their own: base 64. */
export function encodeRest(changes: readonly Change[]): Uint8Array {
  const text = JSON.stringify(changes, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    // As it was: a `Buffer` has made an object of itself in `value`.
    const bytes = this[name];
    return bytes instanceof Uint8Array ? toBase64(bytes) : value;
  });
  return Buffer.from(text);
}

export function decodeRest(bytes: Uint8Array): readonly Change[] {
  return JSON.parse(Buffer.from(bytes).toString(), (name, value: unknown) =>
    name === "B" && typeof value === "string" ? new Uint8Array(Buffer.from(value, "base64")) : value,
  ) as readonly Change[];
}
