/** The limits of DynamoDB that decide how something is stored, and what counts against them. */
import type { AttributeValue, TransactWriteItem } from "@aws-sdk/client-dynamodb";

export type Item = Readonly<Record<string, AttributeValue>>;

/** Most actions of one TransactWriteItems. */
const MAX_ACTIONS = 100;
/** Of the 4 MB of one TransactWriteItems; the sizes below are estimates. */
const MAX_TRANSACTION_BYTES = 3_600_000;
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

/** How much of one TransactWriteItems something takes. */
export interface Weight {
  readonly actions: number;
  readonly bytes: number;
}

export function weightOf(actions: readonly TransactWriteItem[]): Weight {
  let bytes = 0;
  for (const { Put, Delete, Update, ConditionCheck } of actions)
    bytes += sizeOfItem(Put?.Item ?? (Delete ?? Update ?? ConditionCheck)?.Key ?? {});
  return { actions: actions.length, bytes };
}

export function together(a: Weight, b: Weight): Weight {
  return { actions: a.actions + b.actions, bytes: a.bytes + b.bytes };
}

export function fitsTransaction({ actions, bytes }: Weight): boolean {
  return actions <= MAX_ACTIONS && bytes <= MAX_TRANSACTION_BYTES;
}

/** Cuts what is to be done, in its order, into as few transactions as take it; `beside`: what each of them has besides. */
export function inTransactions<T>(
  all: readonly T[],
  weigh: (one: T) => Weight,
  beside: Weight = { actions: 0, bytes: 0 },
): readonly (readonly T[])[] {
  const transactions: T[][] = [];
  let last: T[] = [];
  let weight = beside;
  for (const one of all) {
    weight = together(weight, weigh(one));
    if (last.length === 0 || !fitsTransaction(weight)) {
      transactions.push((last = []));
      weight = together(beside, weigh(one));
    }
    last.push(one);
  }
  return transactions;
}
