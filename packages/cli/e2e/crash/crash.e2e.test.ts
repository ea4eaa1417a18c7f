/**
 * Every failpoint of server and location, reached under load and killed there with `kill -9`: nothing is lost, nothing
 * doubled, no lock held. On SQLite all that it has, on DynamoDB those inside of it, those of effects, and a few more.
 * `pnpm crash --storage dynamodb` has all.
 * The short tier draws one failpoint of one storage.
 */
import { DatabaseSync } from "node:sqlite";
import {
  CREDENTIALS,
  type DynamoDbLocal,
  hasDynamoDbLocal,
  startDynamoDbLocal,
} from "@radical/lvi-server/e2e/dynamodb-local";
import { drawn } from "@radical/command-line/short-tier";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Crash, crashAt, type CrashOptions, failpointsOf, REACHED_FAILPOINTS } from "./crash-run.ts";
import { type Application, buildApplication, type StorageChoice } from "./deployment.ts";
import { Random } from "@radical/history";
import { dynamoDb, SQLITE } from "./storages.ts";

/** Those on DynamoDB where its storage is in the middle of something, where a successor begins, and around a reply. */
const INSIDE_DYNAMODB = /^(?:dynamo\.|start\.recovered|storage\.intent-stored|run\.re-executed|http\.replied)/;
/** Those of tasks, schedules and services. */
const OF_EFFECTS =
  /^(?:storage\.(?:enqueue|cancel|settle|next-attempt|death|due-tasks|lane|task|schedule|mark)|service\.|run\.(?:enqueuing|task))/;
/** What is killed on DynamoDB. */
const ON_DYNAMODB: readonly string[] = failpointsOf("dynamodb").filter(
  (name) => INSIDE_DYNAMODB.test(name) || OF_EFFECTS.test(name),
);

const hasDynamoDb = hasDynamoDbLocal();
const STORAGES = drawn("failpoints", hasDynamoDb ? ["sqlite", "dynamodb"] : ["sqlite"], 1);
const KILLED_ON_SQLITE = STORAGES.includes("sqlite") ? drawn("failpoints", failpointsOf("sqlite"), 1) : [];
const KILLED_ON_DYNAMODB = STORAGES.includes("dynamodb") ? drawn("failpoints", ON_DYNAMODB, 1) : [];
const TAMPERINGS = drawn("failpoints", ["a write is lost", "an execution is forgotten"], 0);

const TIMEOUT_MS = 1_800_000;
/** All that a deployment has done is checked at each of its kills, so that few kills each are faster than many. */
const DEPLOYMENTS = 3;
/** Eight deployments and other tests share the processors: that locks are free within a second of the timer, `pnpm crash` shows. */
const FREE_WITHIN_MS = 15_000;

/** No server is free so soon. */
const TOO_SOON_MS = -1;

const seed = Math.trunc(Math.random() * 2 ** 31);

/** All that is killed, and what came of it. */
interface Found {
  readonly sqlite: ReadonlyMap<string, Crash>;
  readonly dynamodb: ReadonlyMap<string, Crash>;
  /** Also found: that locks were not free sooner than at once. */
  readonly lostWrite: string;
  readonly forgottenExecution: string;
}

let application: Application;
let local: DynamoDbLocal | null = null;
let found: Found;

beforeAll(async () => {
  application = await buildApplication();
  if (KILLED_ON_DYNAMODB.length > 0) {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  }
  const endpoint = local?.endpoint;
  const [sqlite, dynamodb, lostWrite, forgottenExecution] = await Promise.all([
    crashes(KILLED_ON_SQLITE, () => SQLITE),
    endpoint === undefined ? new Map() : crashes(KILLED_ON_DYNAMODB, () => dynamoDb(endpoint)),
    problemsAfter(
      "a write is lost",
      "sqlite.begun",
      1,
      "DELETE FROM items WHERE \"table\" IN ('counters', 'guests')",
      TOO_SOON_MS,
    ),
    // Some executions leave nothing that shows twice: then the next round.
    problemsAfter(
      "an execution is forgotten",
      "storage.execution-stored",
      16,
      "DELETE FROM done_intents; DELETE FROM outcomes; DELETE FROM brief_outcomes",
    ),
  ]);
  found = { sqlite, dynamodb, lostWrite, forgottenExecution };
}, TIMEOUT_MS);

afterAll(async () => {
  await local?.stop();
  await application?.remove();
});

/** Crashes by failpoint, of some deployments. They go on beside each other, since each waits for timers. */
async function crashes(names: readonly string[], storage: () => StorageChoice): Promise<ReadonlyMap<string, Crash>> {
  const parts = Array.from({ length: Math.min(DEPLOYMENTS, names.length) }, (_, part) =>
    names.filter((_name, index) => index % DEPLOYMENTS === part),
  );
  const all = await Promise.all(
    parts.map((part) => crashAt(application, storage(), part, new Random(seed), { freeWithinMs: FREE_WITHIN_MS })),
  );
  return new Map(all.flat().map((crash) => [crash.failpoint.name, crash]));
}

/** What is found in the first round in which anything is, if the storage is tampered with between the kill and the next start. */
async function problemsAfter(
  tampering: string,
  name: string,
  rounds: number,
  sql: string,
  freeWithinMs = FREE_WITHIN_MS,
): Promise<string> {
  if (!TAMPERINGS.includes(tampering)) return "";
  const onKilled: CrashOptions["onKilled"] = ({ file }) => {
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
  };
  const names = Array.from({ length: rounds }, () => name);
  const tampered = await crashAt(application, SQLITE, names, new Random(seed), { freeWithinMs, onKilled });
  return tampered.flatMap(({ problems }) => problems).join("\n");
}

function expectSurvived(crash: Crash | undefined): void {
  expect(crash, `seed ${seed}`).toMatchObject({ killed: true, problems: [] });
}

test("each failpoint is killed on one of the storages", () => {
  const killed = new Set([...failpointsOf("sqlite"), ...ON_DYNAMODB]);
  expect([...killed].toSorted()).toEqual(REACHED_FAILPOINTS.toSorted());
});

describe.skipIf(KILLED_ON_SQLITE.length === 0)("on SQLite", () => {
  test.each(KILLED_ON_SQLITE)("%s", (name) => expectSurvived(found.sqlite.get(name)));
});

describe.skipIf(KILLED_ON_DYNAMODB.length === 0)("on DynamoDB", () => {
  test.each(KILLED_ON_DYNAMODB)("%s", (name) => expectSurvived(found.dynamodb.get(name)));
});

describe("a storage that is tampered with between the kill and the next start is found out", () => {
  const of = (tampering: string): { readonly skip: boolean } => ({ skip: !TAMPERINGS.includes(tampering) });

  test("a write that was told is lost", of("a write is lost"), () => {
    expect(found.lostWrite).toMatch(/counters: .* were told/);
  });

  test("so is a row that readings of its range have no more", of("a write is lost"), () => {
    expect(found.lostWrite).toMatch(/no order is possible: .*roll \d+/);
  });

  test("so are locks that are held for longer than they may be", of("a write is lost"), () => {
    expect(found.lostWrite).toMatch(/free only after \d+ ms, not within -1/);
  });

  test("an execution that nobody was told of is forgotten, and done again", of("an execution is forgotten"), () => {
    expect(found.forgottenExecution).toMatch(/were told/);
  });
});
