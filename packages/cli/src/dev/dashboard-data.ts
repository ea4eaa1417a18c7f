/** Stored items, as the dashboard's page shows and changes them. */
import { join } from "node:path";
import { openItems } from "@radical/lvi-server";
import {
  type CommitId,
  type DataChange,
  type DataChanged,
  type DataPage,
  type DataQuestion,
  isHiddenTable,
  type Manifest,
  splitUnit,
} from "@radical/protocol";
import { CommandError, messageOf } from "@radical/app/command-error";
import type { DataServer } from "../data/data-server.ts";
import { editItem } from "../data/edit-item.ts";
import { ItemProblem, itemOf, itemToJson, parseJson } from "@radical/app";
import { valueOf } from "../data/data-work.ts";

const PAGE = 100;

interface Stored {
  readonly value: Uint8Array | null;
  readonly commit: CommitId | null;
}

export interface DashboardDataPorts {
  readonly stateFolder: string;
  readonly server: () => DataServer;
  /** The program that writes. */
  readonly program: () => Promise<Uint8Array>;
}

export class DashboardData {
  readonly #ports: DashboardDataPorts;

  constructor(ports: DashboardDataPorts) {
    this.#ports = ports;
  }

  /** As stored: what an execution has promised and not applied yet is not among it. */
  async page(question: DataQuestion, { tables }: Pick<Manifest, "tables">): Promise<DataPage> {
    const reader = await openItems({ kind: "sqlite", file: join(this.#ports.stateFolder, "data.sqlite") });
    try {
      if (question.kind === "tables") {
        const counts = new Map(Object.keys(tables).map((name) => [name, 0]));
        for await (const { unit } of reader.items(null)) {
          const { table } = splitUnit(unit);
          if (!isHiddenTable(table)) counts.set(table, (counts.get(table) ?? 0) + 1);
        }
        return { kind: "tables", tables: Array.from(counts, ([name, items]) => ({ name, items })) };
      }
      const { table, prefix, after } = question;
      const items: { key: string; value: string; commit: CommitId }[] = [];
      for await (const { unit, value, commitId } of reader.items(table)) {
        const { key } = splitUnit(unit);
        if (!key.startsWith(prefix) || (after !== null && Buffer.compare(Buffer.from(key), Buffer.from(after)) <= 0))
          continue;
        if (items.length === PAGE) return { kind: "page", items, isMore: true };
        items.push({ key, value: valueOf(itemToJson({ table, key, value })), commit: commitId });
      }
      return { kind: "page", items, isMore: false };
    } finally {
      await reader.close();
    }
  }

  /** By an execution, so that all caches hear of it. It compares the item with the version that the person has seen. */
  async write({ table, key, value, expects }: DataChange, { tables, records }: Manifest): Promise<DataChanged> {
    let bytes: Uint8Array | null;
    try {
      bytes = value === null ? null : itemOf(table, key, parseJson(value), { tables, records }).value;
    } catch (error) {
      if (error instanceof SyntaxError)
        throw new CommandError(
          "invalid_json",
          `The value is not JSON: ${error.message}`,
          "Correct it: nothing was written.",
        );
      if (error instanceof ItemProblem)
        throw new CommandError("invalid_items", `The item ${messageOf(error)}`, "Correct it: nothing was written.");
      throw error;
    }
    const seen = await this.#stored(table, key);
    if (seen.commit !== expects) return conflict(table, key, seen);
    const edit = { table, key, expected: seen.value, value: bytes };
    if (await editItem(this.#ports.server(), await this.#ports.program(), edit)) return { kind: "written" };
    return conflict(table, key, await this.#stored(table, key));
  }

  async #stored(table: string, key: string): Promise<Stored> {
    const reader = await openItems({ kind: "sqlite", file: join(this.#ports.stateFolder, "data.sqlite") });
    try {
      const item = await reader.item(table, key);
      return { value: item?.value ?? null, commit: item?.commitId ?? null };
    } finally {
      await reader.close();
    }
  }
}

function conflict(table: string, key: string, { value, commit }: Stored): DataChanged {
  const text = value === null ? null : valueOf(itemToJson({ table, key, value }));
  return { kind: "conflict", value: text, commit };
}
