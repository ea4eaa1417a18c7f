/** `pnpm crash`: kills servers and locations at failpoints, under load, and checks what is left. */
import { commandLine, wrongOption } from "@radical/command-line";
import { CREDENTIALS, type DynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { type Crash, crashAt, FREE_WITHIN_MS, failpointsOf } from "./crash-run.ts";
import { buildApplication } from "./deployment.ts";
import { Random } from "@radical/history";
import { dynamoDb, SQLITE } from "./storages.ts";

const COMMAND = { name: "pnpm crash" };
const {
  failpoint: only,
  rounds,
  storage,
  seed,
} = commandLine({
  ...COMMAND,
  words:
    "Kill servers and locations with `kill -9` where they come to a failpoint, under load, start them again, and check\nthat nothing is lost, doubled or stale, and that all locks are free a second after the timer for followups\nand the time of read leases.",
  options: {
    failpoint: { kind: "text", placeholder: "name", words: "only this one (default: all that the storage has)" },
    storage: { kind: "choice", of: ["sqlite", "dynamodb"], words: "the primary's, DynamoDB being DynamoDB Local" },
    rounds: { kind: "number", default: 1, least: 1, words: "how often" },
    seed: { kind: "seed", words: "of what the clients do" },
  },
  exitCodes: ["all is as it was told", "something is not", "wrong options"],
  examples: [
    ["pnpm crash", "every failpoint once, on SQLite"],
    ["pnpm crash --storage dynamodb --rounds 5", "every failpoint five times, on DynamoDB Local"],
    ["pnpm crash --failpoint storage.intent-stored --rounds 50", "one of them for long"],
  ],
});

const all = failpointsOf(storage);
if (only !== null && !all.includes(only))
  wrongOption(COMMAND, `--failpoint is one of ${all.join(", ")}, not '${only}'`);
const names = only === null ? all : [only];

console.log(`seed ${seed}`);
const random = new Random(seed);
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

const wrong = crashes.filter(({ problems }) => problems.length > 0);
const freed = Math.max(...crashes.map(({ freedMs }) => freedMs));
console.log(
  `${crashes.length} kills at ${new Set(crashes.map(({ failpoint }) => failpoint.name)).size} failpoints, ` +
    `${crashes.reduce((total, { calls }) => total + calls, 0)} calls, ` +
    `${crashes.reduce((total, { leased }) => total + leased, 0)} answers by read leases; all free after at most ${freed.toFixed(0)} ms ` +
    `(${FREE_WITHIN_MS} are allowed); ${wrong.length} wrong`,
);
process.exitCode = wrong.length > 0 ? 1 : 0;

function tell({ failpoint, starts, calls, leased, freedMs, problems }: Crash): void {
  const words = `${failpoint.name}:${failpoint.time}`.padEnd(36);
  console.log(`${words} starts ${starts}, calls ${calls}, leased ${leased}, free after ${freedMs.toFixed(0)} ms`);
  for (const problem of problems) console.log(`  WRONG: ${problem}`);
}
