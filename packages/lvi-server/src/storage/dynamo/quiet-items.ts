/** Quiet times in the table `meta`: the seconds that the tables can be restored to lie in them. */
import type { QuietTime } from "../quiet-times.ts";
import { number } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import type { Item } from "./limits.ts";
import type { Tables } from "./tables.ts";

const KIND = "quiet";
/** DynamoDB restores no older state than of 35 days. */
const KEPT_MS = 36 * 86_400_000;

/** Times in ISO 8601 sort as text does. */
export function quietItem({ fromMs, untilMs }: QuietTime): Item {
  return {
    kind: { S: KIND },
    name: { S: new Date(fromMs).toISOString() },
    from_ms: { N: String(fromMs) },
    until_ms: { N: String(untilMs) },
  };
}

/** In their order. */
export async function quietTimesIn(dynamo: Dynamo, { meta }: Pick<Tables, "meta">): Promise<readonly QuietTime[]> {
  const items = await dynamo.query({
    TableName: meta,
    KeyConditionExpression: "kind = :kind",
    ExpressionAttributeValues: { ":kind": { S: KIND } },
  });
  return items.map((item) => ({ fromMs: number(item, "from_ms"), untilMs: number(item, "until_ms") }));
}

/** The keys of those that are of no use any more. */
export async function oldQuietTimes(
  dynamo: Dynamo,
  { meta }: Pick<Tables, "meta">,
  nowMs: number,
): Promise<readonly Item[]> {
  const items = await dynamo.query({
    TableName: meta,
    KeyConditionExpression: "kind = :kind AND #name < :old",
    ExpressionAttributeNames: { "#name": "name" },
    ExpressionAttributeValues: { ":kind": { S: KIND }, ":old": { S: new Date(nowMs - KEPT_MS).toISOString() } },
  });
  return items.map(({ kind, name }) => ({ kind: kind!, name: name! }));
}
