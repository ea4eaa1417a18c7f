/**
 * The LVI server that `radical data` goes through. It owns all writes to its storage, and what it holds in memory is what
 * locations are compared with: nobody else may write there. So a command asks the server that runs, and where none does it
 * starts one itself, for as long as it takes: that one takes the leadership with the next epoch, adopts what the last one had
 * promised, and gives the leadership up again.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createLog,
  keyPlacesOf,
  KeyRing,
  openStorage,
  parseKeys,
  type RunningServer,
  type SealingKeyStore,
  startServer,
  type Storage,
  type StorageAddress,
  StorageError,
} from "@radical/lvi-server";
import { type ServerStatus, STATUS_PATH, terminalText } from "@radical/protocol";
import { createTerminal } from "../terminal/terminal.ts";
import { CommandError, EXIT_USAGE, messageOf } from "@radical/app/command-error";
import {
  askPrimary,
  type DeploymentKeys,
  loadDeploymentKeys,
  newDeploymentKeys,
  type PrimaryAddress,
  serverKeysText,
} from "@radical/admin";
import { readRunning } from "@radical/local";

export type DataServer = PrimaryAddress;

/** What is worked on. */
export interface DataPlace {
  /** Of `radical dev`. */
  readonly stateFolder: string;
  /** Null: that of a deployment whose primary does not say. */
  readonly storage: StorageAddress | null;
  /** The server that was named, or that of a deployment; null: neither. */
  readonly server: DataServer | null;
  /** Whether the storage is that of `radical dev`. */
  readonly isDev: boolean;
}

/** Longest wait for what the server has promised: a lost followup is replaced after 5 s. */
const SETTLE_MS = 8_000;
const SETTLE_POLL_MS = 20;
/** Of a deployment, whose answers come from far. */
const FAR_POLL_MS = 500;
const RETENTION_MS = 24 * 3_600_000;

/** `restored`: it was set back, and nobody has led since. */
export type Standing = "free" | "served" | "restored";

/**
 * Runs `work` with the server of the storage. Throws a CommandError `storage_in_use` if there is one and nobody knows
 * where, unless `orElse` does without. `orElse` also spares the wait that is due before a restored storage is served.
 */
export async function withServer<T>(
  place: DataPlace,
  work: (server: DataServer) => Promise<T>,
  orElse?: (standing: Exclude<Standing, "free">) => Promise<T>,
): Promise<T> {
  const running = await runningServer(place);
  if (running !== null) return work(running);
  const address = storageOf(place);
  const own = place.isDev ? await loadDeploymentKeys(place.stateFolder) : dataKeys();
  const keys = new KeyRing(parseKeys(serverKeysText(own)));
  const storage = await opened(address, keys);
  const standing = await standingOf(storage, address);
  if (standing !== "free" && orElse !== undefined) {
    await storage.close();
    return orElse(standing);
  }
  if (standing === "served") {
    await storage.close();
    throw new CommandError(
      "storage_in_use",
      "An LVI server has this storage, and all writes must go through it.",
      place.isDev
        ? "Stop the program that runs it. Of radical dev the command finds the server by itself."
        : "Name its deployment with --env, or name it with --server <url> and give RADICAL_ADMIN_KEYS its administration key, or stop it.",
    );
  }
  const server = await startOwn(
    storage,
    keys,
    keyPlacesOf(address, storage, process.env["RADICAL_SEALING_KEYS"] ?? null)?.keys ?? null,
  );
  try {
    return await work({ url: server.url, key: own.administration });
  } finally {
    await server.close();
  }
}

/** Whether there can be anything to read: `radical dev` may not have run yet. Throws a CommandError for a file that was named. */
export function hasData({ storage, isDev }: DataPlace): boolean {
  if (storage?.kind !== "sqlite" || existsSync(storage.file)) return true;
  if (isDev) return false;
  throw new CommandError(
    "no_such_storage",
    `There is no database ${storage.file}.`,
    "Correct --storage. A server makes the file when it starts.",
    { exitCode: EXIT_USAGE },
  );
}

/** Throws a CommandError if it is not known. */
export function storageOf({ storage }: DataPlace): StorageAddress {
  if (storage !== null) return storage;
  throw new CommandError(
    "usage",
    "Items are read from the storage itself, and a primary of your own does not say where that is.",
    "Name it too: --storage dynamodb:<prefix>?region=<region>, or sqlite:<file> on its machine.",
    { exitCode: EXIT_USAGE },
  );
}

/**
 * Waits until all that the server has promised so far is applied: what was answered before is then in storage. False: it
 * took too long.
 */
export async function settled(server: DataServer): Promise<boolean> {
  const untilMs = performance.now() + SETTLE_MS;
  const pollMs = server.deployment === undefined ? SETTLE_POLL_MS : FAR_POLL_MS;
  while (performance.now() < untilMs) {
    const status = (await (await askPrimary(server, "GET", STATUS_PATH)).json()) as ServerStatus;
    // Null: it leads no more.
    if (status.pending === 0 || status.pending === null) return status.pending === 0;
    await sleep(pollMs);
  }
  return false;
}

/** Null: none is named, and no `radical dev` runs here. */
async function runningServer({ stateFolder, server, isDev }: DataPlace): Promise<DataServer | null> {
  if (server !== null) return server;
  const running = isDev ? await readRunning(stateFolder) : null;
  if (running === null) return null;
  const answers = await fetch(`${running.lviServer}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
  // Left behind by one that was killed.
  return answers ? { url: running.lviServer, key: (await loadDeploymentKeys(stateFolder)).administration } : null;
}

async function opened(address: StorageAddress, keys: KeyRing): Promise<Storage> {
  try {
    return await openStorage(address, { retentionMs: RETENTION_MS, hasher: keys.callHashes });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new CommandError("storage_failed", error.message, "Check --storage, or the messages of radical dev.", {
      cause: error,
    });
  }
}

/** Whether a server that lives has the leadership. */
async function standingOf(storage: Storage, { kind }: StorageAddress): Promise<Standing> {
  const seen = await storage.readLeadership();
  if (seen.termMs === 0) return "free";
  // The server that is then started waits out what those of the lost time have promised.
  if (seen.setBackEpoch === seen.epoch) return "restored";
  // The holder would have the lock of the file.
  if (kind === "sqlite") return "served";
  // It renews several times a term. One that does not is waited out by the server that is then started.
  await sleep(seen.termMs / 2);
  const now = await storage.readLeadership();
  return now.termMs > 0 && (now.epoch !== seen.epoch || now.beat !== seen.beat) ? "served" : "free";
}

/**
 * Known to nobody else: what it completes for an earlier server can't be compared with a later request, which is then refused.
 */
function dataKeys(): DeploymentKeys {
  return newDeploymentKeys("data");
}

async function startOwn(storage: Storage, keys: KeyRing, sealingKeys: SealingKeyStore | null): Promise<RunningServer> {
  try {
    return await startServer({
      storage,
      ...(sealingKeys === null ? {} : { sealing: { keys: sealingKeys } }),
      keys,
      workers: 1,
      log: createLog("silent", () => undefined),
      // Nobody is there who would send the followups of what it adopts.
      core: { followupTimeoutMs: 1, readLeaseMs: 0 },
      onHalt: (reason) => {
        createTerminal().note(`The LVI server has ended: ${terminalText(reason)}`);
        process.exit(1);
      },
    });
  } catch (error) {
    throw new CommandError(
      "server_failed",
      `The LVI server did not start: ${messageOf(error)}`,
      "The message above has the cause.",
      {
        cause: error,
      },
    );
  }
}
