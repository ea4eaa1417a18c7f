/** Attributes of an item by name; they throw for what is not there or of another type. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "./limits.ts";
import { fromNative, toNative } from "./native-value.ts";

export function text(item: Item, name: string): string {
  const { S } = present(item, name);
  if (S === undefined) throw new Error(`The attribute ${name} is not a text`);
  return S;
}

export function number(item: Item, name: string): number {
  const { N } = present(item, name);
  if (N === undefined) throw new Error(`The attribute ${name} is not a number`);
  return Number(N);
}

export function flag(item: Item, name: string): boolean {
  const { BOOL } = present(item, name);
  if (BOOL === undefined) throw new Error(`The attribute ${name} is not a truth value`);
  return BOOL;
}

export function bytes(item: Item, name: string): Uint8Array {
  const { B } = present(item, name);
  if (B === undefined) throw new Error(`The attribute ${name} is not binary`);
  return B;
}

/** A value under a name, and its shape under `<name>_shape`. */
export function nativeAttributes(name: string, value: Uint8Array): Item {
  const native = toNative(value);
  return { [name]: native.value, ...(native.shape === null ? {} : { [`${name}_shape`]: { S: native.shape } }) };
}

export function nativeOf(item: Item, name: string): Uint8Array {
  return fromNative({ value: present(item, name), shape: item[`${name}_shape`]?.S ?? null });
}

function present(item: Item, name: string): AttributeValue {
  const value = item[name];
  if (value === undefined) throw new Error(`The attribute ${name} is missing`);
  return value;
}
