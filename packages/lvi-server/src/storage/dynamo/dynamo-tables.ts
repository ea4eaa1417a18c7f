/**
 * The tables of one deployment as a whole, for those who make and remove deployments. A server makes missing tables too, but only where it may: a
 * server of a deployment may not, since a table that is gone must not come back empty by itself.
 */
import {
  DeleteTableCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  ResourceNotFoundException,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "../storage.ts";
import { Requests, type RequestOptions } from "./requests.ts";
import { ensureTables, isRestoredFrom, LEADERSHIP, tablesOf } from "./tables.ts";

export interface TableState {
  readonly name: string;
  readonly exists: boolean;
  /**
   * It can't be deleted by a slip, and can be brought back to any moment of the last 35 days; or need not be. The table of keys can't
   * be brought back: a key that is destroyed must stay so.
   */
  readonly isProtected: boolean;
}

export interface DynamoTablesOptions {
  readonly prefix: string;
  readonly region: string;
  /** Whether they are to be protected: what they hold is somebody's. */
  readonly protect: boolean;
}

/** Nobody waits for an answer: better late than not. */
const PATIENT: RequestOptions = { attemptMs: 10_000, deadlineMs: 60_000, pauseMs: 100, maxPauseMs: 5_000, width: 16 };

const POLL_MS = 500;
const REMOVAL_MS = 300_000;

export class DynamoTables {
  readonly #client: DynamoDBClient;
  readonly #requests = new Requests(PATIENT);
  readonly #prefix: string;
  readonly #protects: boolean;

  constructor({ prefix, region, protect }: DynamoTablesOptions) {
    this.#prefix = prefix;
    this.#protects = protect;
    this.#client = new DynamoDBClient({ region, maxAttempts: 1 });
  }

  get names(): readonly string[] {
    const { items, executions, parts, overflow, keys, meta } = tablesOf(this.#prefix);
    return [items, executions, parts, overflow, keys, meta];
  }

  inspect(): Promise<readonly TableState[]> {
    return Promise.all(this.names.map((name) => this.#inspect(name)));
  }

  /** Names of the tables that were restored from these, or from restored ones. */
  async restored(): Promise<readonly string[]> {
    const names: string[] = [];
    let from: string | undefined;
    do {
      const command = new ListTablesCommand({ ExclusiveStartTableName: from });
      const page = await this.#requests.read((abortSignal) => this.#client.send(command, { abortSignal }));
      names.push(...(page.TableNames ?? []).filter((name) => isRestoredFrom(this.#prefix, name)));
      from = page.LastEvaluatedTableName;
    } while (from !== undefined);
    return names.toSorted();
  }

  /** Makes what is missing, and protects what is to be. Throws a StorageError that names the table. */
  async provision(): Promise<void> {
    await ensureTables(this.#client, this.#requests, tablesOf(this.#prefix));
    for (const { name, isProtected } of await this.inspect()) if (!isProtected) await this.#protect(name);
  }

  /** Deletes them with everything that they hold, and waits until they are gone. */
  async remove(): Promise<void> {
    for (const { name, exists } of await this.inspect()) {
      if (!exists) continue;
      if (this.#protects)
        await this.#update(new UpdateTableCommand({ TableName: name, DeletionProtectionEnabled: false }));
      const command = new DeleteTableCommand({ TableName: name });
      await this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal }));
    }
    const endsAtMs = performance.now() + REMOVAL_MS;
    for (;;) {
      const left = (await this.inspect()).filter(({ exists }) => exists);
      if (left.length === 0) return;
      if (performance.now() > endsAtMs) throw new StorageError("unknown", `The table ${left[0]!.name} is still there.`);
      await sleep(POLL_MS);
    }
  }

  /** What the server that leads advertises; null: nothing, or no server leads. */
  async leader(): Promise<string | null> {
    const item = await this.#requests.read(async (abortSignal) => {
      try {
        const command = new GetItemCommand({
          TableName: tablesOf(this.#prefix).meta,
          Key: LEADERSHIP,
          ConsistentRead: true,
        });
        return (await this.#client.send(command, { abortSignal })).Item ?? null;
      } catch (error) {
        if (error instanceof ResourceNotFoundException) return null;
        throw error;
      }
    });
    return item === null || item["term_ms"]?.N === "0" ? null : (item["leader"]?.S ?? null);
  }

  close(): void {
    this.#client.destroy();
  }

  async #inspect(name: string): Promise<TableState> {
    return this.#requests.read(async (abortSignal) => {
      try {
        const { Table } = await this.#client.send(new DescribeTableCommand({ TableName: name }), { abortSignal });
        if (!this.#protects) return { name, exists: true, isProtected: true };
        const backups = await this.#client.send(new DescribeContinuousBackupsCommand({ TableName: name }), {
          abortSignal,
        });
        const recovery = backups.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
        return {
          name,
          exists: true,
          isProtected:
            Table?.DeletionProtectionEnabled === true &&
            (recovery?.PointInTimeRecoveryStatus === "ENABLED") === this.#isRecoverable(name),
        };
      } catch (error) {
        if (error instanceof ResourceNotFoundException) return { name, exists: false, isProtected: false };
        throw error;
      }
    });
  }

  #isRecoverable(name: string): boolean {
    return name !== tablesOf(this.#prefix).keys;
  }

  async #protect(name: string): Promise<void> {
    await this.#update(new UpdateTableCommand({ TableName: name, DeletionProtectionEnabled: true }));
    const command = new UpdateContinuousBackupsCommand({
      TableName: name,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: this.#isRecoverable(name) },
    });
    await this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal }));
  }

  /** A table that is being updated takes no further change. */
  async #update(command: UpdateTableCommand): Promise<void> {
    await this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal }));
    const endsAtMs = performance.now() + PATIENT.deadlineMs;
    const { TableName } = command.input;
    for (;;) {
      const { Table } = await this.#requests.read((abortSignal) =>
        this.#client.send(new DescribeTableCommand({ TableName }), { abortSignal }),
      );
      if (Table?.TableStatus === "ACTIVE") return;
      if (performance.now() > endsAtMs) throw new StorageError("unknown", `The table ${TableName} is still updated.`);
      await sleep(POLL_MS);
    }
  }
}
