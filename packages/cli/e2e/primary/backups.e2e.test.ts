/** The calls of a restore, by the real SDK against moto, which restores a table to its present state. */
import { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { AwsPrimary, DEFAULT_PRIMARY_SETTINGS } from "@radical/deploy/testing";
import { openBackups, openTables } from "@radical/lvi-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lookAtCopies } from "../../src/operate/doctor/copy-checks.ts";
import { makeQuietTime } from "../../src/data/quiet-time.ts";
import { type Finished, radical } from "../radical-process.ts";
import { CREDENTIALS, hasPython, type Moto, startMoto } from "./moto.ts";

const TIMEOUT_MS = 300_000;
const PREFIX = "radical-shop-production";
const REGION = CREDENTIALS.AWS_REGION;
const before = { ...process.env };
const runs = hasPython();
let moto: Moto;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  if (!runs) return;
  moto = await startMoto();
  environment = { ...CREDENTIALS, AWS_ENDPOINT_URL: moto.endpoint };
  Object.assign(process.env, environment);
}, TIMEOUT_MS);
afterAll(async () => {
  process.env = { ...before };
  await moto?.stop();
});

const command = (...args: readonly string[]): Promise<Finished> =>
  radical([...args, "--storage", `dynamodb:${PREFIX}?region=${REGION}`, "--json"], { env: environment });

test.skipIf(!runs)(
  "tables are restored to a second of a quiet time, and to no other",
  async () => {
    const tables = await openTables({ prefix: PREFIX, region: REGION, protect: true });
    await tables.provision();
    tables.close();
    const client = new DynamoDBClient({ region: REGION });
    const put = async (item: PutItemCommand["input"]["Item"]): Promise<void> => {
      await client.send(new PutItemCommand({ TableName: `${PREFIX}-meta`, Item: item }));
    };
    const current = { S: "current" };
    await put({
      kind: { S: "layout" },
      name: current,
      schema: { N: "3" },
      item_buckets: { N: "16" },
      execution_buckets: { N: "64" },
    });
    const epoch = { epoch: { N: "7" }, beat: { N: "1" }, term_ms: { N: "5000" }, read_lease_ms: { N: "3000" } };
    await put({ kind: { S: "leadership" }, name: current, ...epoch });

    const at = { servers: [], storage: `dynamodb:radical-shop-staging?region=${REGION}` };
    const unprotected = await openTables({ prefix: "radical-shop-staging", region: REGION, protect: false });
    await unprotected.provision();
    unprotected.close();
    // The tables are too young for a warning.
    expect(await lookAtCopies(PREFIX, REGION, "production")).toEqual([]);
    // No server is asked to have writes wait for nothing.
    await expect(makeQuietTime(at, "staging", { json: true, yes: true })).rejects.toMatchObject({
      code: "not_recoverable",
    });

    const backups = await openBackups({ kind: "dynamodb", prefix: PREFIX, region: REGION }, { pollMs: 5 });
    const window = await backups.window();
    if (window === null) throw new Error("the tables have no recovery");
    const until = new Date(window.untilMs).toISOString();

    const refused = await command("restore", "--to", until, "--yes");
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: "no_whole_second" } });

    const fromMs = window.fromMs;
    await put({
      kind: { S: "quiet" },
      name: { S: new Date(fromMs).toISOString() },
      from_ms: { N: String(fromMs) },
      until_ms: { N: String(window.untilMs + 60_000) },
    });
    expect(JSON.parse((await command("backup", "list")).stdout)).toMatchObject({ quiet: [{}] });
    // Nobody has to wait until a quiet time is three seconds old.
    const early = await command("restore", "--to", new Date(fromMs + 2_999).toISOString(), "--yes");
    expect(JSON.parse(early.stdout)).toMatchObject({ error: { code: "no_whole_second" } });

    // For moto the past of a table is one instant, and hardly a whole second.
    const restored = await backups.restoreTo(Date.UTC(2026, 10, 27, 14), () => undefined);
    backups.close();
    const done = await command("restore", "--from", restored, "--yes");
    expect({ code: done.code, told: done.stdout }).toMatchObject({ code: 0 });
    expect(JSON.parse(done.stdout)).toMatchObject({ tables: "radical-shop-production-at-20261127T140000Z", items: 0 });
    const meta = async (prefix: string, kind: string): Promise<unknown> => {
      const key = { kind: { S: kind }, name: current };
      return (await client.send(new GetItemCommand({ TableName: `${prefix}-meta`, Key: key }))).Item;
    };
    expect(await meta(PREFIX, "layout")).toMatchObject({ schema: { N: "0" }, replaced_by: { S: restored } });
    expect(await meta(restored, "layout")).toMatchObject({ schema: { N: "3" }, restored_from: { S: PREFIX } });
    expect(await meta(restored, "leadership")).toMatchObject({ term_ms: { N: "5000" }, read_lease_ms: { N: "3000" } });

    // The deployment takes them, protects them, and makes none.
    const settings = { ...DEFAULT_PRIMARY_SETTINGS, application: "shop", environment: "production" };
    const withPrimary = async <T>(prefix: string | null, run: (primary: AwsPrimary) => Promise<T>): Promise<T> => {
      const artefact = { tar: Buffer.from("server"), sha256: "5e".repeat(32) };
      const options = { pollMs: 5, artefact: () => Promise.resolve(artefact) };
      const primary = new AwsPrimary({ ...settings, tables: prefix }, options);
      try {
        return await run(primary);
      } finally {
        primary.close();
      }
    };
    const planOf = (prefix: string): ReturnType<AwsPrimary["plan"]> => withPrimary(prefix, (primary) => primary.plan());
    const plan = await planOf(restored);
    expect(plan.changes).toContainEqual({
      kind: "repair",
      what: `table ${restored}-items`,
      detail: "protected against deletion, with recovery to any moment of 35 days",
    });
    const words = JSON.stringify(plan.template);
    expect(words).toContain(`table/${restored}-items`);
    expect(words).not.toContain(`table/${PREFIX}-items`);
    await expect(planOf("mistyped")).rejects.toMatchObject({ code: "no_such_tables" });

    // Those that they have replaced are never removed silently, with or without the restored ones.
    const names = ["items", "executions", "parts", "overflow", "keys", "meta"];
    const replaced = names.map(
      (name) =>
        `table ${PREFIX}-${name}: restored tables have replaced it; it keeps its data, and costs, until you delete it at AWS`,
    );
    const removalOf = (prefix: string | null, keepTables: boolean): ReturnType<AwsPrimary["planDestroy"]> =>
      withPrimary(prefix, (primary) => primary.planDestroy({ keepTables }));
    const removal = await removalOf(restored, false);
    expect(removal.stays).toEqual(replaced);
    const removed = removal.removes.map(({ what }) => what);
    expect(removed).toEqual(expect.arrayContaining(names.map((name) => `table ${restored}-${name}`)));
    expect(removed).not.toContain(`table ${PREFIX}-items`);
    expect((await removalOf(restored, true)).stays).toEqual([
      ...names.map((name) => `table ${restored}-${name}`),
      ...replaced,
    ]);

    // Nor are restored ones that are not in use, of any restore. Of all tables of the account AWS tells a hundred at a time.
    const others = [
      ...Array.from({ length: 120 }, (_, index) => `others-${index}`),
      // That of the application "shop-production-at" in the environment "x".
      `${PREFIX}-at-x-items`,
      `${restored}-itemsofothers`,
    ];
    for (const name of others) await makeTable(client, name);
    const again = await openBackups({ kind: "dynamodb", prefix: restored, region: REGION }, { pollMs: 5 });
    const second = await again.restoreTo(Date.UTC(2026, 10, 27, 15), () => undefined);
    again.close();
    expect(second).toBe(`${PREFIX}-at-20261127T150000Z`);
    const unused = (prefix: string): readonly string[] =>
      names
        .map((name) => `${prefix}-${name}`)
        .toSorted()
        .map(
          (name) =>
            `table ${name}: it was restored, and is not in use; it keeps its data, and costs, until you delete it at AWS`,
        );
    expect((await removalOf(restored, false)).stays).toEqual([...replaced, ...unused(second)]);
    expect((await removalOf(second, false)).stays).toEqual([...replaced, ...unused(restored)]);
    expect((await removalOf(null, false)).stays).toEqual([...unused(restored), ...unused(second)]);
    client.destroy();
  },
  TIMEOUT_MS,
);

async function makeTable(client: DynamoDBClient, name: string): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: name,
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
}
