/** The items of one table of the application in the order of their keys: its buckets, each of which has that order, merged. */
import type { QueryCommandInput } from "@aws-sdk/client-dynamodb";
import { compareKeys, type Key } from "@radical/protocol";
import type { KeyRange } from "../storage.ts";
import { text } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import type { Item } from "./limits.ts";
import type { Layout, Tables } from "./tables.ts";

/** What is left of one bucket, from the item that comes next. */
interface Source {
  readonly items: AsyncIterator<Item>;
  readonly item: Item;
  readonly key: Key;
}

/** `most`: how many the caller takes at most, so that little more is read; null: all. */
export async function* orderedItems(
  dynamo: Dynamo,
  { items }: Tables,
  layout: Layout,
  range: KeyRange,
  most: number | null,
): AsyncIterable<Item> {
  const buckets = layout.bucketsOf(range.table);
  // As many as a bucket has of them, and some more because the buckets are not equal.
  const page = most === null ? {} : { Limit: Math.ceil((1.25 * most) / buckets.length) + 4 };
  const condition = conditionOf(range);
  if (condition === null) return;
  const sources = await Promise.all(
    buckets.map((bucket) => {
      const input = { TableName: items, ScanIndexForward: range.isReversed !== true, ...page, ...condition(bucket) };
      return nextOf(dynamo.pages(input)[Symbol.asyncIterator]());
    }),
  );
  const isAfter = range.isReversed === true ? -1 : 1;
  const left = sources.filter((source) => source !== null);
  while (left.length > 0) {
    let first = 0;
    for (let index = 1; index < left.length; index++) {
      if (isAfter * compareKeys(left[index]!.key, left[first]!.key) < 0) first = index;
    }
    const { item, key, items: rest } = left[first]!;
    // The end of a range is not in it; DynamoDB has no condition that says so beside a beginning.
    if (key !== range.to) yield item;
    const next = await nextOf(rest);
    if (next === null) left.splice(first, 1);
    else left[first] = next;
  }
}

async function nextOf(items: AsyncIterator<Item>): Promise<Source | null> {
  const next = await items.next();
  if (next.done === true) return null;
  return { items, item: next.value, key: text(next.value, "key") as Key };
}

/** Null: the range is empty, which DynamoDB refuses to be asked for. */
function conditionOf({ from, to }: KeyRange): ((bucket: string) => Partial<QueryCommandInput>) | null {
  if (from !== null && to !== null && compareKeys(from, to) >= 0) return null;
  const keys =
    from !== null && to !== null
      ? "#key BETWEEN :from AND :to"
      : from !== null
        ? "#key >= :from"
        : to !== null
          ? "#key < :to"
          : null;
  return (bucket) => ({
    KeyConditionExpression: `#bucket = :bucket${keys === null ? "" : ` AND ${keys}`}`,
    ExpressionAttributeNames: { "#bucket": "bucket", ...(keys === null ? {} : { "#key": "key" }) },
    ExpressionAttributeValues: {
      ":bucket": { S: bucket },
      ...(from === null ? {} : { ":from": { S: from } }),
      ...(to === null ? {} : { ":to": { S: to } }),
    },
  });
}
