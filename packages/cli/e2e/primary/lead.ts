/** The leadership of a deployment, as its server writes it. */
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { primaryNames } from "@radical/deploy";
import { advertisedBy } from "@radical/deploy/testing";
import type { NodeName } from "@radical/protocol";

/** Writes the record of a server of this machine that has just taken the leadership. */
export async function lead(of: Parameters<typeof primaryNames>[0], node: NodeName): Promise<void> {
  const client = new DynamoDBClient();
  await client.send(
    new PutItemCommand({
      TableName: `${primaryNames(of).tablePrefix}-meta`,
      Item: {
        kind: { S: "leadership" },
        name: { S: "current" },
        epoch: { N: "1" },
        beat: { N: "0" },
        term_ms: { N: "5000" },
        leader: { S: advertisedBy(node) },
      },
    }),
  );
  client.destroy();
}
