/**
 * What storage keeps of executions, under way and ended: their arguments and outcomes are searched for in all of its bytes, while
 * the server runs and after it has stopped. What a handler writes into items is the application's own.
 */
import { DynamoDBClient, ListTablesCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type CommitId, entryOf, type LviReply, unitId } from "@radical/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb/dynamodb-local.ts";
import { dynamoStorage, sqliteStorage } from "./storage-under-test.ts";
import { ABSENT, incrementUnits, TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { type ServerProcess, startProcess } from "./test-process.ts";

const SOON = { timeout: 100_000 };
const COLLECTING = ["--workers", "1", "--collect-interval-ms", "100"];
/** Promises wait for their followup, however slow the machine is. */
const PATIENT = [...COLLECTING, "--followup-timeout-ms", "600000"];
/** Nothing waits for a followup, and outcomes that only a location asks for go at the next collection. */
const PROMPT = [...COLLECTING, "--followup-timeout-ms", "1", "--outcome-retention-ms", "0"];

/** All bytes of a storage, in pieces. */
type Bytes = () => Promise<readonly Buffer[]>;

describe("on SQLite", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "radical-secrets-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  keepsNoSecrets(() => ({
    args: sqliteStorage(path.join(folder, "data.sqlite")).args,
    bytes: async () => {
      const names = await readdir(folder);
      // One may be gone since.
      return (await Promise.all(names.map((name) => readFile(path.join(folder, name)).catch(() => null)))).filter(
        (bytes) => bytes !== null,
      );
    },
  }));
});

describe.skipIf(!hasDynamoDbLocal())("on DynamoDB", () => {
  let local: DynamoDbLocal;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });
  afterAll(() => local.stop());

  keepsNoSecrets(() => ({ args: dynamoStorage(local).args, bytes: () => attributesOf(local) }));
});

function keepsNoSecrets(open: () => { readonly args: readonly string[]; readonly bytes: Bytes }): void {
  test("passwords and tokens of executions are nowhere, however they ended, and while they are promises", async () => {
    const { args, bytes } = open();
    const found = async (words: readonly string[]): Promise<readonly string[]> => {
      const all = await bytes();
      return words.filter((word) => formsOf(word).some((form) => all.some((piece) => piece.includes(form))));
    };
    let server: ServerProcess = await startProcess([...args, ...PATIENT]);
    try {
      const module = await testModule();
      let client = new TestClient(server.url, module);
      await client.register();
      await client.read("nothing");
      const passwords: string[] = [];
      const secretOf = (how: string): string => {
        const password = `Sup3rSecret${how}W0rd`;
        passwords.push(password);
        return `${how}:${password}`;
      };
      const tokens = (): readonly string[] =>
        passwords.map((password) => `t0ken-of-${password.split("").toReversed().join("")}`);

      // The usual path: valid, and the followup of its location.
      const usual = client.requestOf("signIn", secretOf("usual"), incrementUnits("usual", ABSENT));
      const outcome = { kind: "result", value: Buffer.from(tokens()[0]!) } as const;
      const followup = {
        executionId: usual.executionId,
        commitId: commitOf(await client.lvi(usual)),
        outcome,
        writes: [{ unit: unitId("counters", "usual"), value: Uint8Array.of(1) }],
        effects: [],
      };
      // It is a promise, and sealed.
      expect(await found(passwords)).toEqual([]);
      expect(await client.followup(followup)).toBe("applied");

      // Near storage: asked for, stale, and read-only under a key of the client.
      const near = client.requestOf("signInNearStorage", secretOf("near"), null);
      expect(await client.lvi(near)).toMatchObject({ kind: "executed" });
      const wrong = entryOf(followup.commitId, Uint8Array.of(9));
      const stale = client.requestOf("signIn", secretOf("stale"), incrementUnits("stale", wrong));
      expect(await client.lvi(stale)).toMatchObject({ kind: "executed", cause: "stale" });

      // A server that is killed with a promise, which the next one keeps.
      const killed = client.requestOf("signIn", secretOf("killed"), incrementUnits("killed", ABSENT));
      commitOf(await client.lvi(killed));
      await server.kill("SIGKILL");
      expect(await found(passwords)).toEqual([]);
      server = await startProcess([...args, ...PROMPT]);
      client = new TestClient(server.url, module);
      await client.register();
      await expect.poll(() => client.read("killed"), SOON).toBe(1);

      // A followup that is lost.
      commitOf(await client.lvi(client.requestOf("signIn", secretOf("lost"), incrementUnits("lost", ABSENT))));
      await expect.poll(() => client.read("lost"), SOON).toBe(1);

      // The answer under a key that the client chose is kept, sealed; the arguments are not.
      const kept = client.requestOf("signInNearStorage", secretOf("kept"), null, { retained: true });
      expect(await client.lvi(kept)).toMatchObject({ kind: "executed" });

      expect(await found([...passwords, ...tokens()])).toEqual([]);
      // The search finds what is there: what a handler writes into an item is the application's own.
      const plain = client.requestOf("signInNearStorage", "leaked:nothing", null);
      expect(await client.lvi(plain)).toMatchObject({ kind: "executed" });
      expect(await found(["leaked"])).toEqual(["leaked"]);
      // What is known of them is enough: no repeat is carried out again, and the client's is answered.
      expect(await client.lvi({ ...near, attempt: 2 })).toMatchObject({ kind: "refused", code: "answer_not_kept" });
      const again = { ...kept, attempt: 2 };
      expect(await client.lvi(again)).toMatchObject({ kind: "executed", cause: "stored" });
      const other = { ...again, args: Buffer.from("kept:other") };
      expect(await client.lvi(other)).toMatchObject({ kind: "refused", code: "idempotency_key_reused" });
      expect([await client.read("near"), await client.read("kept")]).toEqual([1, 1]);
      expect(await found([...passwords, ...tokens()])).toEqual([]);
    } finally {
      await server.kill("SIGTERM");
    }
    expect((await bytes()).some((piece) => piece.includes("Sup3rSecret"))).toBe(false);
  });
}

function commitOf(reply: LviReply): CommitId {
  if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
  return reply.commitId;
}

/** UTF-8, which is that of CBOR too; base 64, at each of the three places where it may begin; hexadecimal. */
function formsOf(word: string): readonly Buffer[] {
  const plain = Buffer.from(word);
  const shifted = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), plain]).toString("base64");
    // What the neighbours have a part in is left out.
    return Buffer.from(text.slice(shift === 0 ? 0 : 4, Math.floor(((shift + plain.length) * 4) / 3 / 4) * 4 - 4));
  });
  return [plain, ...shifted, Buffer.from(plain.toString("hex"))];
}

/** Names and values of all attributes of all tables, as bytes. */
async function attributesOf({ endpoint }: DynamoDbLocal): Promise<readonly Buffer[]> {
  const client = new DynamoDBClient({ endpoint });
  const pieces: Buffer[] = [];
  const add = (value: unknown): void => {
    if (value instanceof Uint8Array) pieces.push(Buffer.from(value));
    else if (typeof value === "object" && value !== null) {
      for (const [name, each] of Object.entries(value)) {
        pieces.push(Buffer.from(name));
        add(each);
      }
    } else pieces.push(Buffer.from(String(value)));
  };
  try {
    const { TableNames: tables = [] } = await client.send(new ListTablesCommand({}));
    for (const TableName of tables) add((await client.send(new ScanCommand({ TableName }))).Items);
  } finally {
    client.destroy();
  }
  return pieces;
}
