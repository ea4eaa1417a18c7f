/** The items with which an application begins: `radical dev` writes them when there is no data yet. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type AppBuild, findSeedFile, type Project, seedItems } from "@radical/app";
import { messageOf, CommandError } from "@radical/app/command-error";
import { splitUnit } from "@radical/protocol";
import type { DataServer } from "../data/data-server.ts";
import { writeItems } from "../data/write-items.ts";
import type { DevEvent } from "./dev-events.ts";

export interface SeedDataOptions {
  readonly project: Project;
  /** False: this start writes no seed. */
  readonly isWanted: boolean;
  readonly stateFolder: string;
  readonly server: () => DataServer;
  /** The program that writes items. */
  readonly program: () => Promise<Uint8Array>;
  readonly onEvent: (event: DevEvent) => void;
  /** Whether everything ends already. */
  readonly isOver: () => boolean;
}

/** Is there as long as the seed may be written in part. */
const UNFINISHED = "seed-unfinished";

/**
 * Of data that is not there yet, or whose seed an earlier `radical dev` has begun and not finished: looked at before a server makes
 * data. Null: there is nothing to write.
 */
export function seedOfNewData(options: SeedDataOptions): ((app: AppBuild) => Promise<void>) | null {
  const { project, isWanted, stateFolder, server, program, onEvent, isOver } = options;
  const file = isWanted ? findSeedFile(project.root) : null;
  const unfinished = join(stateFolder, UNFINISHED);
  if (file === null || (existsSync(join(stateFolder, "data.sqlite")) && !existsSync(unfinished))) {
    // From now on the data is the developer's: no later start writes over it.
    rmSync(unfinished, { force: true });
    return null;
  }
  mkdirSync(stateFolder, { recursive: true });
  writeFileSync(unfinished, "");
  return async ({ manifest }) => {
    try {
      const items = await seedItems(project.root, manifest);
      const writes = items.map(({ unit, value }) => ({ ...splitUnit(unit), value }));
      await writeItems(server(), await program(), writes);
      rmSync(unfinished);
      onEvent({ event: "seeded", file: basename(file), items: items.length });
    } catch (error) {
      if (isOver()) return;
      // The developer is told, and writes it: the next start does not.
      rmSync(unfinished, { force: true });
      // The application serves without it, and the file may be corrected meanwhile.
      const hint = `${error instanceof CommandError ? `${error.hint} ` : ""}Then run: radical data seed`;
      onEvent({ event: "failed", code: "not_seeded", message: messageOf(error), hint });
    }
  };
}
