/**
 * The schemas that this release knows of each storage. A change of what is stored adds a line here: the one place that a release
 * differs in from the release before. `schema.ts` has the rules.
 */
import { ABI_VERSION } from "@radical/protocol";
import type { KnownSchemas } from "./schema.ts";

export interface SqliteSchema {
  /** The statements that make it of the schema before. It has none if only new rows and fields tell them apart. */
  readonly change: string;
}

/** Files up to schema 7 come from before the first release. The server that leads makes schema 8 of them at once. */
export const SQLITE_SCHEMAS: KnownSchemas<SqliteSchema> = {
  oldest: 1,
  servedFrom: 8,
  versions: [{ schema: 8, readableFrom: 8, abi: ABI_VERSION, change: "" }],
};

/** Schemas 1 and 2 come from before the first release, and nothing upgrades them. */
export const DYNAMO_SCHEMAS: KnownSchemas = {
  oldest: 3,
  servedFrom: 3,
  versions: [{ schema: 3, readableFrom: 3, abi: ABI_VERSION }],
};
