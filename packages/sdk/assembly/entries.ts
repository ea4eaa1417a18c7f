/**
 * TypeScript's `Record<string, T>`: a map of which `map[key]` is the value under the key, or null. Internal: the build calls
 * the functions.
 */
import { Boxed } from "./boxed";
import { Reader, Writer, decodeMap, encodeMap } from "./codec";

// @ts-ignore: decorator
@global
export class Record<K, V> extends Map<K, V> {
  __radicalEncode(writer: Writer): void {
    encodeMap<K, V>(writer, this);
  }

  /** Of an object whose fields have no values yet. */
  __radicalDecode(reader: Reader): void {
    this.clear();
    decodeMap<K, V>(reader, this);
  }

  __radicalInitialize(): void {
    this.clear();
  }
}

export function entryOf<K, V>(map: Record<K, V>, key: K): V | null {
  return map.has(key) ? map.get(key) : null;
}

/** The number or boolean under the key, or null. */
export function boxedEntryOf<K, V>(map: Record<K, V>, key: K): Boxed<V> | null {
  return map.has(key) ? new Boxed<V>(map.get(key)) : null;
}
