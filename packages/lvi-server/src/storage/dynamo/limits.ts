/** The limits of DynamoDB that decide how something is stored, and what counts against them. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

export type Item = Readonly<Record<string, AttributeValue>>;

/** Most actions of one TransactWriteItems. */
export const MAX_ACTIONS = 100;
/** Of the 4 MB of one TransactWriteItems; the sizes below are estimates. */
export const MAX_TRANSACTION_BYTES = 3_600_000;
/** Of the 400 KB of one item, all names and keys counted. */
export const MAX_ITEM_BYTES = 400_000;
/** What is larger is cut into parts of this size. */
export const PART_BYTES = 350_000;
/** Most keys of one BatchGetItem, and most requests of one BatchWriteItem. */
export const MAX_BATCH_GET = 100;
export const MAX_BATCH_WRITE = 25;

/** As DynamoDB counts (Developer Guide, "Item sizes and formats"), rounded up. */
export function sizeOfItem(item: Item): number {
  let size = 0;
  for (const [name, value] of Object.entries(item)) size += Buffer.byteLength(name) + sizeOfAttribute(value);
  return size;
}

export function sizeOfAttribute(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 2;
  if (value.B !== undefined) return value.B.length;
  if (value.L !== undefined) return value.L.reduce((size, element) => size + 1 + sizeOfAttribute(element), 3);
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + sizeOfItem(value.M);
  return 1;
}
