/** The schemas of a release to come: one more for each storage, with a version of the ABI that only its servers run. */
import {
  DYNAMO_SCHEMAS as DYNAMO,
  type SqliteSchema,
  SQLITE_SCHEMAS as SQLITE,
} from "../../../../lvi-server/src/storage/schemas.ts";
import type { KnownSchemas } from "../../../../lvi-server/src/storage/schema.ts";
import { ABI_VERSION } from "./wire-version.ts";

const [sqlite, dynamo] = [SQLITE.versions.at(-1)!, DYNAMO.versions.at(-1)!];
/** Of the release before. */
const earlier = { abi: ABI_VERSION - 1 };

export const SQLITE_SCHEMAS: KnownSchemas<SqliteSchema> = {
  ...SQLITE,
  versions: [
    { ...sqlite, ...earlier },
    {
      schema: sqlite.schema + 1,
      readableFrom: sqlite.schema + 1,
      abi: ABI_VERSION,
      change:
        "CREATE TABLE next_release (name TEXT PRIMARY KEY) STRICT; ALTER TABLE items ADD COLUMN next_release TEXT",
    },
  ],
};

export const DYNAMO_SCHEMAS: KnownSchemas = {
  ...DYNAMO,
  versions: [
    { ...dynamo, ...earlier },
    { schema: dynamo.schema + 1, readableFrom: dynamo.schema + 1, abi: ABI_VERSION },
  ],
};
