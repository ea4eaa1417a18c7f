/**
 * The schema of a storage: the form in which it is written, as a number. Two numbers stand in the storage:
 *
 *   written        the schema that servers write
 *   readable from  the oldest schema whose servers can serve this storage
 *
 * Servers that know less refuse a storage. It keeps its schema until the server that leads is told to finish the upgrade.
 *
 * A new release serves the schema of the release before, and writes it. So each can take over from the other, until the upgrade is
 * finished. Only the server that leads changes a schema, in one step with a beat of its leadership. A candidate that has seen the
 * leadership before that step does not acquire it.
 */
import { type SchemaState, StorageError, type StorageSchema } from "./storage.ts";

export interface SchemaVersion {
  readonly schema: number;
  /** The oldest schema whose servers can serve a storage that is written in this one. */
  readonly readableFrom: number;
  /** The newest version of the ABI that modules in the storage may state: those servers can run it. */
  readonly abi: number;
}

/** The schemas of one kind of storage, as far as a program knows them. */
export interface KnownSchemas<Details = unknown> {
  /** An older one can't be upgraded. */
  readonly oldest: number;
  /** Schemas from here on are served as they are. Of an older one the leader makes this one at once. */
  readonly servedFrom: number;
  /** From `servedFrom` on, in order. */
  readonly versions: readonly (SchemaVersion & Details)[];
}

/** The storage is of a release that this program can't serve. */
export class WrongSchemaError extends StorageError {
  constructor(message: string) {
    super("none", message);
  }
}

export function newestOf<Details>({ versions }: KnownSchemas<Details>): SchemaVersion & Details {
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error("a release knows a schema at least");
  return newest;
}

/** Whether a server of this program serves the storage as it is, without a move to another schema. */
export function isServed({ written, readableFrom }: StorageSchema, known: KnownSchemas): boolean {
  return written >= known.servedFrom && readableFrom <= newestOf(known).schema;
}

/** Throws a WrongSchemaError that says what to do. `place`: the file or the table, for people. */
export function checkSchema(place: string, { written, readableFrom }: StorageSchema, known: KnownSchemas): void {
  const newest = newestOf(known).schema;
  if (readableFrom > newest)
    throw new WrongSchemaError(
      `${place} has schema ${written}, which servers read that know schema ${readableFrom}, and this one knows up to ${newest}. A later release has finished its upgrade here: start that release, or a later one.`,
    );
  if (written < known.oldest)
    throw new WrongSchemaError(
      `${place} has schema ${written}, and this release upgrades none before ${known.oldest}. Start the release before this one first, or choose another place.`,
    );
}

/** The schemas through which the leader moves the storage, in order. `isFinished`: to the newest; else as far as this program serves. */
export function schemasAhead<Details>(
  { written }: StorageSchema,
  known: KnownSchemas<Details>,
  isFinished: boolean,
): readonly (SchemaVersion & Details)[] {
  const to = isFinished ? newestOf(known).schema : known.servedFrom;
  return known.versions.filter(({ schema }) => schema > written && schema <= to);
}

/** A later release may have written a schema that this program does not know, and that it can serve. */
export function stateOf(kept: StorageSchema, known: KnownSchemas): SchemaState {
  const { schema: newest } = newestOf(known);
  const { abi } = known.versions.findLast(({ schema }) => schema <= kept.written) ?? known.versions[0]!;
  return { ...kept, newest, abi };
}
