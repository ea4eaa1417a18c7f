/** A server that starts on pending intents: until it serves, and until each was re-executed. */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CREDENTIALS, hasDynamoDbLocal, startDynamoDbLocal } from "../dynamodb/dynamodb-local.ts";
import { ABSENT, incrementUnits } from "../test-client.ts";
import { type Effort, type Figure, figure, type Progress } from "./figure.ts";
import { metricsOf, startServerProcess, withFolder } from "./processes.ts";

const SENDERS = 32;
const LIMIT = { atMost: 60 };

export async function benchRecovery(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const figures = await withFolder((folder) =>
    recover("SQLite", `sqlite:${path.join(folder, "primary.sqlite")}`, effort, progress),
  );
  if (!effort.dynamodb || !hasDynamoDbLocal()) return figures;
  Object.assign(process.env, CREDENTIALS);
  const local = await startDynamoDbLocal();
  try {
    return [
      ...figures,
      ...(await recover("DynamoDB Local", `dynamodb:bench?endpoint=${local.endpoint}`, effort, progress)),
    ];
  } finally {
    await local.stop();
  }
}

async function recover(
  name: string,
  storage: string,
  { intents }: Effort,
  progress: Progress,
): Promise<readonly Figure[]> {
  const args = ["--storage", storage, "--location-executions", String(intents + SENDERS)];
  // Nothing is re-executed before the end of the first one.
  const first = await startServerProcess([...args, "--followup-timeout-ms", "600000"]);
  let made = 0;
  const send = async (): Promise<void> => {
    for (let index = made++; index < intents; index = made++) {
      if (index % 1_000 === 0) progress(`${name}: ${index} intents made`);
      const key = `pending-${index}`;
      const reply = await first.client.lvi(first.client.requestOf("increment", key, incrementUnits(key, ABSENT)));
      if (reply.kind !== "valid") throw new Error(`not valid: ${JSON.stringify(reply)}`);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
  await first.process.kill("SIGKILL");

  progress(`${name}: recovering`);
  const startedAtMs = performance.now();
  const second = await startServerProcess(args);
  const servingMs = performance.now() - startedAtMs;
  for (let left = intents; left > 0; left = (await metricsOf(second.url)).get("radical_intents_pending")!)
    await sleep(100);
  const doneMs = performance.now() - startedAtMs;
  await second.process.kill("SIGTERM");
  return [
    figure(`${name}: ${intents} pending intents, until it serves`, servingMs / 1_000, "s", LIMIT),
    figure(`${name}: until all were re-executed`, doneMs / 1_000, "s", LIMIT),
  ];
}
