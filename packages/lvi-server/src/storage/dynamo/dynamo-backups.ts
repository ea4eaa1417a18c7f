/**
 * The way back for the tables of a deployment. DynamoDB restores a table beside itself, as it was at a second of its past. This takes
 * all tables at one second that lies in a quiet time (`quiet-times.ts`).
 *
 * `restoreTo` makes tables beside, of other names. It copies the keys, since their table has no past. `check` looks at every item and
 * every intent. `takeOver` closes the present tables to every server, and then opens the restored ones.
 *
 * Each of them can be called again after a failure, and goes on. Nothing is deleted.
 */
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceNotFoundException,
  RestoreTableToPointInTimeCommand,
  type TransactWriteItem,
} from "@aws-sdk/client-dynamodb";
import { type CommitId, isHiddenTable, tableOf } from "@radical/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { type Leadership, setBackLeadership } from "../../core/leadership.ts";
import type { BackupContent } from "../backup-content.ts";
import type { QuietTime } from "../quiet-times.ts";
import type { StorageAddress } from "../storage-address.ts";
import { StorageError } from "../storage.ts";
import { text } from "./attributes.ts";
import { Dynamo } from "./dynamo.ts";
import { FENCES } from "./fences.ts";
import { fenceKey, leadershipAttributes, leadershipOf } from "./leadership-item.ts";
import { quietTimesIn } from "./quiet-items.ts";
import { PARTLY_APPLIED, PENDING, TASK, WORKFLOW } from "./records.ts";
import { Requests, type RequestOptions } from "./requests.ts";
import { storedUnit } from "./stored-unit.ts";
import {
  closing,
  ensureTables,
  firstPrefixOf,
  isClosed,
  Layout,
  LAYOUT,
  LEADERSHIP,
  opening,
  type Tables,
  tablesOf,
} from "./tables.ts";

/** How far back the tables can be restored. */
export interface RestorableWindow {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface BackupsOptions {
  /** Makes a table as another one was at a time. Left out: DynamoDB does, which DynamoDB Local can't. */
  readonly restoreTable?: (from: string, to: string, atMs: number) => Promise<void>;
  /** Between two looks at tables that are being made. */
  readonly pollMs?: number;
}

const PATIENT: RequestOptions = { attemptMs: 10_000, deadlineMs: 60_000, pauseMs: 100, maxPauseMs: 5_000, width: 16 };
const POLL_MS = 5_000;

export class DynamoBackups {
  readonly #client: DynamoDBClient;
  readonly #requests = new Requests(PATIENT);
  readonly #dynamo: Dynamo;
  readonly #prefix: string;
  readonly #tables: Tables;
  readonly #restoreTable: NonNullable<BackupsOptions["restoreTable"]>;
  readonly #pollMs: number;

  constructor(
    { prefix, region, endpoint }: StorageAddress & { kind: "dynamodb" },
    { restoreTable, pollMs = POLL_MS }: BackupsOptions = {},
  ) {
    this.#client = new DynamoDBClient({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      maxAttempts: 1,
    });
    this.#dynamo = new Dynamo(this.#client, this.#requests);
    this.#prefix = prefix;
    this.#tables = tablesOf(prefix);
    this.#restoreTable = restoreTable ?? ((from, to, atMs) => this.#restoreByDynamo(from, to, atMs));
    this.#pollMs = pollMs;
  }

  close(): void {
    this.#client.destroy();
  }

  /** Of all tables; null: one of them has no recovery. */
  async window(): Promise<RestorableWindow | null> {
    const windows = await Promise.all(this.#copied.map(([name]) => this.#windowOf(name)));
    if (windows.includes(null)) return null;
    const all = windows.filter((window) => window !== null);
    return {
      fromMs: Math.max(...all.map(({ fromMs }) => fromMs)),
      untilMs: Math.min(...all.map(({ untilMs }) => untilMs)),
    };
  }

  quietTimes(): Promise<readonly QuietTime[]> {
    return quietTimesIn(this.#dynamo, this.#tables);
  }

  /** The prefix of the tables that are restored to a second. */
  prefixAt(atMs: number): string {
    const stamp = new Date(atMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
    return `${firstPrefixOf(this.#prefix)}-at-${stamp}Z`;
  }

  /**
   * Makes the tables as they were at a second of a quiet time, and waits until they are there. `progress`: the tables that are not.
   * Throws a StorageError if tables of their names are there that are not of that second any more.
   */
  async restoreTo(atMs: number, progress: (left: readonly string[]) => void): Promise<string> {
    const prefix = this.prefixAt(atMs);
    const tables = tablesOf(prefix);
    if (await this.#haveTakenOver(prefix)) return prefix;
    for (const [name, of] of this.#copied)
      if ((await this.#statusOf(tables[of])) === null) await this.#restoreTable(name, tables[of], atMs);
    for (;;) {
      const left: string[] = [];
      for (const [, of] of this.#copied) if ((await this.#statusOf(tables[of])) !== "ACTIVE") left.push(tables[of]);
      progress(left);
      if (left.length === 0) break;
      await sleep(this.#pollMs);
    }
    // Nobody serves them before they are taken over. Tables that were restored themselves name those that they come from.
    const layout = await this.#dynamo.get(tables.meta, LAYOUT);
    if (layout !== null && layout["restored_from"]?.S !== this.#prefix)
      await this.#dynamo.update(closing(tables, layout, { restored_from: { S: this.#prefix } }));
    // A restored table lacks its expiry, and the table of keys has no past.
    await ensureTables(this.#client, this.#requests, tables);
    for await (const key of this.#dynamo.scan(this.#tables.keys, null))
      await this.#dynamo.put({
        TableName: tables.keys,
        Item: key,
        ConditionExpression: "attribute_not_exists(id)",
      });
    return prefix;
  }

  /** Looks at every item and every record. Throws a StorageError that says what is wrong. */
  async check(prefix: string, progress: (items: number) => void): Promise<BackupContent> {
    const tables = tablesOf(prefix);
    if (!Layout.isUsable(await this.#dynamo.get(tables.meta, LAYOUT)))
      throw new StorageError("none", `The tables ${prefix}-* have no layout of this version: they can't be served.`);
    const pending = new Map<CommitId, string>();
    let [tasks, workflows] = [0, 0];
    for await (const record of this.#dynamo.scan(tables.executions, null)) {
      const status = text(record, "status");
      if (status === TASK) tasks++;
      else if (status === WORKFLOW && record["state"]?.S !== "ended") workflows++;
      else if (status === PENDING || status === PARTLY_APPLIED)
        pending.set(text(record, "commit_id") as CommitId, text(record, "id"));
    }
    let items = 0;
    for await (const item of this.#dynamo.scan(tables.items, null)) {
      // It compares the value with its hash.
      const { unit, commitId } = storedUnit(item);
      const half = pending.get(commitId);
      if (half !== undefined)
        throw new StorageError(
          "none",
          `The execution ${half} is there in part: ${unit} is written, and the intent says that it is not. Choose another time.`,
        );
      if (!isHiddenTable(tableOf(unit)) && ++items % 1_000 === 0) progress(items);
    }
    return { items, pendingIntents: pending.size, tasks, workflows };
  }

  /**
   * Ends every server of the present tables, for good, and then lets a server lead the restored ones. That one has an epoch that none
   * had, and waits for the terms and read leases of those before.
   */
  async takeOver(prefix: string, nowMs: number): Promise<Leadership> {
    const restored = tablesOf(prefix);
    const before = await this.#leadershipIn(restored);
    const layout = await this.#dynamo.get(restored.meta, LAYOUT);
    if (layout === null) throw new StorageError("none", `The table ${restored.meta} has no layout.`);
    const ended = await this.#replace(prefix, nowMs);
    // An earlier run of the command has got so far. Tables that are closed again were left by a way back that was broken off.
    if (!isClosed(layout) && before.setBackEpoch !== undefined && before.setBackEpoch > ended.epoch) return before;
    const leadership = setBackLeadership(before, ended, nowMs);
    const item = { ...LEADERSHIP, ...leadershipAttributes(leadership) };
    await this.#dynamo.transact([
      { Put: { TableName: restored.meta, Item: item } },
      { Update: opening(restored, layout) },
    ]);
    return leadership;
  }

  /**
   * Whether the tables of this prefix have replaced the present ones, which the command is asked for once more. Throws a StorageError if
   * they are there and don't wait for their takeover: they have served, or are a copy of other tables.
   */
  async #haveTakenOver(prefix: string): Promise<boolean> {
    const { meta } = tablesOf(prefix);
    const status = await this.#statusOf(meta);
    if (status === null || status === "CREATING") return false;
    const [copy, present] = [await this.#dynamo.get(meta, LAYOUT), await this.#dynamo.get(this.#tables.meta, LAYOUT)];
    if (copy === null) return false;
    const from = copy["restored_from"]?.S;
    if (prefix !== this.#prefix && copy["replaced_by"] === undefined) {
      if (isClosed(copy) && from === this.#prefix) return false;
      if (isClosed(copy))
        throw new StorageError(
          "none",
          `The tables ${prefix}-* are a copy of ${from}-*, not of ${this.#prefix}-*. Choose another time, or delete them at AWS.`,
        );
      if (from === this.#prefix && present?.["replaced_by"]?.S === prefix) return true;
      // A copy has the layout of its source until it is closed, and an earlier run of the command has not got so far.
      if (from === present?.["restored_from"]?.S) return false;
    }
    throw new StorageError(
      "none",
      `The tables ${prefix}-* have been served since they were restored to that second, so they may have later writes. ` +
        `Choose another time${prefix === this.#prefix ? "" : `, or name them as they are: --from ${prefix}`}.`,
    );
  }

  /** The leadership of before, as the next server of the restored tables has to wait it out. */
  async #replace(by: string, nowMs: number): Promise<Leadership> {
    const { meta } = this.#tables;
    for (;;) {
      const layout = await this.#dynamo.get(meta, LAYOUT);
      const seen = await this.#leadershipIn(this.#tables);
      if (layout === null) throw new StorageError("none", `The table ${meta} has no layout: no server has served it.`);
      if (layout["replaced_by"]?.S === by) return seen;
      const { epoch } = setBackLeadership(seen, seen, nowMs);
      // A server that leads finds out at its next renewal, and changes nothing until then. Perhaps none has ever led.
      const taken: TransactWriteItem = {
        Update: {
          TableName: meta,
          Key: LEADERSHIP,
          UpdateExpression: "SET epoch = :next, beat = :zero, term_ms = if_not_exists(term_ms, :zero)",
          ConditionExpression: "attribute_not_exists(epoch) OR epoch = :epoch",
          ExpressionAttributeValues: {
            ":next": { N: String(epoch) },
            ":zero": { N: "0" },
            ":epoch": { N: String(seen.epoch) },
          },
        },
      };
      const fences = FENCES.map((name): TransactWriteItem => ({
        Put: { TableName: meta, Item: { ...fenceKey(name), epoch: { N: String(epoch) } } },
      }));
      const closed = { Update: closing(this.#tables, layout, { replaced_by: { S: by } }) };
      if ((await this.#dynamo.transact([taken, closed, ...fences])) === null) return { ...seen, epoch };
    }
  }

  async #leadershipIn({ meta }: Tables): Promise<Leadership> {
    return leadershipOf(await this.#dynamo.get(meta, LEADERSHIP));
  }

  /** The tables that have a past, with their names among {@link Tables}. */
  get #copied(): readonly (readonly [string, keyof Tables])[] {
    return (["items", "executions", "parts", "overflow", "meta"] as const).map((of) => [this.#tables[of], of]);
  }

  async #restoreByDynamo(from: string, to: string, atMs: number): Promise<void> {
    const command = new RestoreTableToPointInTimeCommand({
      SourceTableName: from,
      TargetTableName: to,
      RestoreDateTime: new Date(atMs),
    });
    await this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal }));
  }

  /** Null: there is no such table. */
  #statusOf(name: string): Promise<string | null> {
    return this.#requests.read(async (abortSignal) => {
      try {
        const { Table } = await this.#client.send(new DescribeTableCommand({ TableName: name }), { abortSignal });
        return Table?.TableStatus ?? "";
      } catch (error) {
        if (error instanceof ResourceNotFoundException) return null;
        throw error;
      }
    });
  }

  async #windowOf(name: string): Promise<RestorableWindow | null> {
    const command = new DescribeContinuousBackupsCommand({ TableName: name });
    const { ContinuousBackupsDescription } = await this.#requests.read((abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
    const recovery = ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
    const [from, until] = [recovery?.EarliestRestorableDateTime, recovery?.LatestRestorableDateTime];
    if (recovery?.PointInTimeRecoveryStatus !== "ENABLED" || from === undefined || until === undefined) return null;
    return { fromMs: from.getTime(), untilMs: until.getTime() };
  }
}
