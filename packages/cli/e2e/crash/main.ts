/**
 * `pnpm crash`: kills servers and locations at failpoints, under load, and checks what is left.
 *
 *     pnpm crash                                      every failpoint once, on SQLite
 *     pnpm crash --storage dynamodb --rounds 5        five times, on DynamoDB Local
 *     pnpm crash --failpoint storage.intent-stored --rounds 50
 */
import { parseArgs } from "node:util";
import { CREDENTIALS, type DynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { ALL_FAILPOINTS, type Crash, crashAt, failpointsOf } from "./crash-run.ts";
import { buildApplication, FOLLOWUP_TIMEOUT_MS } from "./deployment.ts";
import { generator } from "./random.ts";
import { dynamoDb, SQLITE } from "./storages.ts";

const { values } = parseArgs({
  options: {
    failpoint: { type: "string" },
    rounds: { type: "string", default: "1" },
    storage: { type: "string", default: "sqlite" },
    seed: { type: "string", default: String(Math.trunc(Math.random() * 2 ** 31)) },
  },
});

/** Within which all locks are to be free: the followup timer, and this. */
const FREE_MARGIN_MS = 1_000;

const { storage } = values;
if (storage !== "sqlite" && storage !== "dynamodb") fail(`--storage ${storage} is neither sqlite nor dynamodb`);
const names = values.failpoint === undefined ? failpointsOf(storage) : [values.failpoint];
for (const name of names) {
  if (!failpointsOf(storage).includes(name))
    fail(`--failpoint ${name} is none of ${storage}'s: ${ALL_FAILPOINTS.join(", ")}`);
}
const rounds = Number(values.rounds);
if (!Number.isSafeInteger(rounds) || rounds < 1) fail(`--rounds ${values.rounds} is no whole number`);

console.log(`seed ${values.seed}`);
const random = generator(Number(values.seed));
const application = await buildApplication();
let local: DynamoDbLocal | null = null;
const crashes: Crash[] = [];
try {
  if (storage === "dynamodb") {
    local = await startDynamoDbLocal();
    Object.assign(process.env, CREDENTIALS);
  }
  for (let round = 0; round < rounds; round++) {
    const choice = local === null ? SQLITE : dynamoDb(local.endpoint);
    crashes.push(...(await crashAt(application, choice, names, random, { onCrash: tell })));
    if (crashes.some(({ problems }) => problems.length > 0)) break;
  }
} finally {
  await local?.stop();
  await application.remove();
}

const slow = crashes.filter(({ freedMs }) => freedMs > FOLLOWUP_TIMEOUT_MS + FREE_MARGIN_MS);
const wrong = crashes.filter(({ problems }) => problems.length > 0);
const freed = Math.max(...crashes.map(({ freedMs }) => freedMs));
console.log(
  `${crashes.length} kills at ${new Set(crashes.map(({ failpoint }) => failpoint.name)).size} failpoints, ` +
    `${crashes.reduce((total, { calls }) => total + calls, 0)} calls; all free after at most ${freed.toFixed(0)} ms; ` +
    `${wrong.length} wrong, ${slow.length} slower than the timer and ${FREE_MARGIN_MS} ms`,
);
process.exitCode = wrong.length > 0 ? 1 : 0;

function tell({ failpoint, starts, calls, freedMs, problems }: Crash): void {
  const words = `${failpoint.name}:${failpoint.time}`.padEnd(36);
  console.log(`${words} starts ${starts}, calls ${calls}, free after ${freedMs.toFixed(0)} ms`);
  for (const problem of problems) console.log(`  WRONG: ${problem}`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
