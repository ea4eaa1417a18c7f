/** Changes one item by an execution, if nobody has written it since a person has seen it. */
import { CborReader, CborWriter } from "@radical/protocol";
import { DataModule } from "./data-module.ts";
import type { DataServer } from "./data-server.ts";

export interface ItemEdit {
  readonly table: string;
  readonly key: string;
  /** The bytes that were seen; null: the item was absent. */
  readonly expected: Uint8Array | null;
  /** Null deletes the item. */
  readonly value: Uint8Array | null;
}

/**
 * Resolves once it is stored; false: the item is another one, and nothing was written. Throws a CommandError if the server does not
 * carry it out. `program`: that of the data module.
 */
export async function editItem(server: DataServer, program: Uint8Array, edit: ItemEdit): Promise<boolean> {
  const { table, key, expected, value } = edit;
  const state = (): string => "nothing was written before";
  const module = await DataModule.register({ server, program, handlers: ["edit"], state });
  const args = new CborWriter().array(4).text(table).text(key);
  for (const bytes of [expected, value]) {
    if (bytes === null) args.null();
    else args.bytes(bytes);
  }
  const ended = await module.execute("edit", args.finish());
  if (ended.kind !== "result")
    throw module.failed(`The LVI server could not write: ${ended.message}`, "Nothing was written.");
  return new CborReader(ended.value).integerIn(0, 1) === 1;
}
