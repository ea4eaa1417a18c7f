/** The storages that crash tests run on. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { KeyRing, openStorage } from "@radical/lvi-server";
import { CREDENTIALS } from "@radical/lvi-server/e2e/dynamodb-local";
import type { StorageChoice } from "./deployment.ts";

/** A killed holder of its leadership is known to be dead at once. */
export const SQLITE: StorageChoice = {
  kind: "sqlite",
  address: (folder) => `sqlite:${join(folder, "data.sqlite")}`,
  leaseMs: 4_000,
  environment: {},
  endLease: () => Promise.resolve(),
};

/** The prefix of the tables that servers are started with, which may change between two starts. */
interface Tables {
  prefix: string;
}

/** Tables that nobody else has. */
export function newTables(): Tables {
  return { prefix: randomBytes(8).toString("hex") };
}

/**
 * The leadership is long, so that nobody loses it on a machine that stands still; that a successor waits it out is tried where a server
 * is killed beside its standby.
 */
export function dynamoDb(endpoint: string, tables: Tables = newTables()): StorageChoice {
  return {
    kind: "dynamodb",
    address: () => `dynamodb:${tables.prefix}?endpoint=${endpoint}`,
    leaseMs: 10_000,
    environment: CREDENTIALS,
    endLease: async () => {
      const storage = await openStorage(
        { kind: "dynamodb", prefix: tables.prefix, endpoint },
        {
          retentionMs: 0,
          hasher: new KeyRing({ locations: new Map([["crash", randomBytes(32)]]), administration: new Map() })
            .callHashes,
        },
      );
      try {
        // One that takes over early, and dies: read leases of the server that was killed are to be waited for all the same.
        for (let taken = null; taken === null;) {
          const seen = await storage.readLeadership();
          taken = await storage.acquireLeadership(seen, 0, seen.readLeaseMs);
        }
      } finally {
        await storage.close();
      }
    },
  };
}
