/** Writes items as executions of the data module, a batch each. */
import { CborReader, CborWriter } from "@radical/protocol";
import { batchesOf, DataModule, MAX_BATCH } from "./data-module.ts";
import type { DataServer } from "./data-server.ts";

export interface ItemWrite {
  readonly table: string;
  readonly key: string;
  /** Null deletes the item. */
  readonly value: Uint8Array | null;
}

/**
 * Resolves when all are stored, with how many those are: what is not there is not deleted. Throws a CommandError that
 * says how many were, if not all: each batch is, or is not.
 * `program`: that of the data module. `onBatch` gets the number of items of each batch, once that is stored.
 */
export async function writeItems(
  server: DataServer,
  program: Uint8Array,
  writes: readonly ItemWrite[],
  onBatch: (items: number) => void = () => undefined,
): Promise<number> {
  let done = 0;
  const state = (): string => `${done} items were written before`;
  const module = await DataModule.register({ server, program, handlers: ["write"], state });
  for (const batch of batchesOf(writes, ({ value }) => value?.length ?? 0)) {
    const args = new CborWriter().array(batch.length);
    for (const { table, key, value } of batch) {
      args.array(3).text(table).text(key);
      if (value === null) args.null();
      else args.bytes(value);
    }
    const ended = await module.execute("write", args.finish());
    if (ended.kind !== "result")
      throw module.failed(`The LVI server could not write: ${ended.message}`, "Nothing of this batch was written.");
    done += new CborReader(ended.value).integerIn(0, MAX_BATCH);
    onBatch(batch.length);
  }
  return done;
}
