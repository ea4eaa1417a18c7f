/**
 * Every failpoint of server and location, reached under load and killed there with `kill -9`: nothing is lost, nothing
 * doubled, no lock held. On SQLite all, on DynamoDB a third of them. `pnpm crash` does more of it.
 */
import { DatabaseSync } from "node:sqlite";
import {
  CREDENTIALS,
  type DynamoDbLocal,
  hasDynamoDbLocal,
  startDynamoDbLocal,
} from "@radical/lvi-server/e2e/dynamodb-local";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ALL_FAILPOINTS, type Crash, crashAt, type CrashHooks, failpointsOf } from "./crash-run.ts";
import { type Application, buildApplication, FOLLOWUP_TIMEOUT_MS, type StorageChoice } from "./deployment.ts";
import { generator } from "./random.ts";
import { dynamoDb, SQLITE } from "./storages.ts";

/** What is killed on DynamoDB too: where its storage is in the middle of something, and where a successor begins. */
const ON_DYNAMODB: readonly string[] = failpointsOf("dynamodb").filter((name) =>
  /^(?:dynamo\.|start\.|storage\.(?:intent|complet|execution|lease)|run\.re-executed|http\.replied|edge\.(?:answered|followup-unsent))/.test(
    name,
  ),
);

/** Deployments that are killed at the same time; on DynamoDB a start waits for the lease of the one before. */
const LANES = { sqlite: 2, dynamodb: 3 } as const;
/** On a machine that does other things too: the timer is what matters, and that it is not for ever. */
const FREE_MARGIN_MS = 10_000;
const TIMEOUT_MS = 900_000;

const seed = Math.trunc(Math.random() * 2 ** 31);
let application: Application;

beforeAll(async () => {
  application = await buildApplication();
});
afterAll(() => application?.remove());

/** Crashes by failpoint. */
async function crashes(
  names: readonly string[],
  count: number,
  storage: () => StorageChoice,
): Promise<ReadonlyMap<string, Crash>> {
  const lanes = Array.from({ length: count }, (_, lane) =>
    crashAt(
      application,
      storage(),
      names.filter((_name, index) => index % count === lane),
      generator(seed + lane),
    ),
  );
  return new Map((await Promise.all(lanes)).flat().map((crash) => [crash.failpoint.name, crash]));
}

function expectSurvived(crash: Crash | undefined): void {
  expect(crash, `seed ${seed}`).toMatchObject({ killed: true, problems: [] });
  expect(crash?.freedMs).toBeLessThan(FOLLOWUP_TIMEOUT_MS + FREE_MARGIN_MS);
}

test("each failpoint is killed on one of the storages", () => {
  const killed = new Set([...failpointsOf("sqlite"), ...ON_DYNAMODB]);
  expect([...killed].toSorted()).toEqual(ALL_FAILPOINTS.toSorted());
  expect(ON_DYNAMODB.length).toBeGreaterThan(ALL_FAILPOINTS.length / 3);
});

describe("on SQLite", () => {
  let found: ReadonlyMap<string, Crash>;
  beforeAll(async () => {
    found = await crashes(failpointsOf("sqlite"), LANES.sqlite, () => SQLITE);
  }, TIMEOUT_MS);

  test.each(failpointsOf("sqlite"))("%s", (name) => {
    expectSurvived(found.get(name));
  });
});

describe.skipIf(!hasDynamoDbLocal())("on DynamoDB", () => {
  let local: DynamoDbLocal;
  let found: ReadonlyMap<string, Crash>;
  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
    found = await crashes(ON_DYNAMODB, LANES.dynamodb, () => dynamoDb(local.endpoint));
  }, TIMEOUT_MS);
  afterAll(() => local?.stop());

  test.each(ON_DYNAMODB)("%s", (name) => {
    expectSurvived(found.get(name));
  });
});

describe.concurrent("a storage that is tampered with between the kill and the next start is found out", () => {
  /** Of the first round in which there are any. */
  const problemsOf = async (name: string, rounds: number, sql: string): Promise<string> => {
    const onKilled: CrashHooks["onKilled"] = ({ file }) => {
      const database = new DatabaseSync(file);
      database.exec(sql);
      database.close();
    };
    const names = Array.from({ length: rounds }, () => name);
    const found = await crashAt(application, SQLITE, names, generator(seed), { onKilled });
    return found.flatMap(({ problems }) => problems).join("\n");
  };

  test(
    "a write that was told is lost",
    async () => {
      expect(await problemsOf("sqlite.begun", 1, "DELETE FROM items WHERE \"table\" = 'counters'")).toMatch(
        /counters: .* were told/,
      );
    },
    TIMEOUT_MS,
  );

  // Some executions leave nothing that shows twice: then the next round.
  test(
    "an execution that nobody was told of is forgotten, and done again",
    async () => {
      expect(await problemsOf("storage.execution-stored", 16, "DELETE FROM intents WHERE state = 'done'")).toMatch(
        /were told/,
      );
    },
    TIMEOUT_MS,
  );
});
