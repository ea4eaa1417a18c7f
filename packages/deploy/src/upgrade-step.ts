/**
 * The end of an upgrade: the primary writes its storage as this release does, and no earlier release can serve it any more. Until
 * then the release before can take over again, so nothing but `radical deploy --finalize` does it.
 */
import type { UpgradeStatus } from "@radical/protocol";
import { finishUpgrade, type PrimaryAddress, PrimaryError, serverName, upgradeOf } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";
import type { PrimaryHalf } from "./primary-half.ts";
import type { Change, Step } from "./steps.ts";

interface LookedAt {
  readonly server: PrimaryAddress;
  /** Null: it is of a release before upgrades. */
  readonly upgrade: UpgradeStatus | null;
}

/** Told after a deployment of the environment that does not finish it; null: there is nothing to finish. */
export async function upgradeNote(primary: PrimaryHalf, environment: string): Promise<string | null> {
  const { written, newest } = stateOf(await lookAt(primary.servers()));
  return written === newest
    ? null
    : `the storage has schema ${written} of ${newest}, so the release before can serve it still; when you need no way back: radical deploy --env ${environment} --finalize`;
}

export function upgradeStep(primary: PrimaryHalf): Step {
  return {
    name: "upgrade",
    title: "The primary finishes its upgrade",
    half: "primary",
    ifFailed:
      "The servers that ran before go on serving. The storage is written as before, or already as this release does: run the command again.",
    plan: async () => {
      const { written, newest } = stateOf(await lookAt(primary.servers()));
      return written === newest ? [] : [changeOf(written, newest)];
    },
    apply: async () => {
      // The servers may be others by now: those of this release.
      const looked = await lookAt(primary.servers());
      const { written, newest } = stateOf(looked);
      if (newest === null)
        throw new CommandError(
          "servers_differ",
          "No server of the primary says how far it is upgraded, so nothing was changed.",
          "Upgrade its servers to this release first, and see that one of them leads.",
        );
      if (written === newest) return `schema ${written}, and nothing to finish`;
      const older = looked.find(({ upgrade }) => (upgrade?.newest ?? 0) < newest);
      if (older !== undefined) throw olderServer(older, newest);
      const admin = primary.admin();
      if (admin === null) throw new Error("a primary that was looked at has an address");
      const finished = await finishUpgrade(admin, newest);
      return `schema ${finished.written}`;
    },
  };
}

/** Those that answer. A server that is away finds out for itself, before it leads again. */
async function lookAt(servers: readonly PrimaryAddress[]): Promise<readonly LookedAt[]> {
  const looked = await Promise.all(
    servers.map(async (server) => {
      try {
        return { server, upgrade: await upgradeOf(server) };
      } catch (error) {
        if (error instanceof PrimaryError) return null;
        throw error;
      }
    }),
  );
  return looked.filter((one) => one !== null);
}

/** Null: no server says it. */
function stateOf(looked: readonly LookedAt[]): { readonly written: number | null; readonly newest: number | null } {
  const told = looked.flatMap(({ upgrade }) => upgrade ?? []);
  if (told.length === 0) return { written: null, newest: null };
  return {
    written: Math.max(...told.map(({ written }) => written)),
    newest: Math.max(...told.map(({ newest }) => newest)),
  };
}

function changeOf(written: number | null, newest: number | null): Change {
  return {
    kind: "change",
    what: "storage of the primary",
    detail: `schema ${written} becomes ${newest}; no earlier release can serve it then`,
  };
}

function olderServer({ server, upgrade }: LookedAt, newest: number): CommandError {
  const release = upgrade === null ? "an earlier release" : `release ${upgrade.release}`;
  return new CommandError(
    "servers_differ",
    `${serverName(server)} is of ${release}, and could not serve a storage of schema ${newest}. Nothing was changed.`,
    "Upgrade that server first, or stop it. Then run the same command again.",
  );
}
