/**
 * The time of tasks and handlers under `radical dev`: this machine's, and some way *ahead* of it. It is kept beside the data, so that
 * neither tasks nor sessions find themselves in an earlier time after the next start.
 */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DashboardTime, MAX_AHEAD_MS, spokenDurationMs } from "@radical/protocol";
import { spanText } from "@radical/app";
import { CommandError, EXIT_USAGE, messageOf } from "@radical/app/command-error";

/** In the state folder. */
const TIME_FILE = "time.json";

export interface DevTimePorts {
  /** Throws if a location can't be told. */
  readonly tellLocations: (aheadMs: number) => Promise<void>;
  /** Resolves once everything has ended that is due by then. `onReached` is called meanwhile. */
  readonly movePrimary: (aheadMs: number, onReached: (aheadMs: number) => void) => Promise<void>;
  /** How far ahead the primary is; null: it can't be asked. */
  readonly reachedMs: () => Promise<number | null>;
  readonly onChange: (time: DashboardTime) => void;
}

export class DevTime {
  readonly #file: string;
  /** Time never goes back: a server starts here, also one that was killed while time was moved. */
  #keptMs: number;
  #reachedMs: number;
  #movesToMs: number | null = null;
  /** One move after the other. */
  #moving: Promise<unknown> = Promise.resolve();

  private constructor(file: string, keptMs: number) {
    this.#file = file;
    this.#keptMs = keptMs;
    this.#reachedMs = keptMs;
  }

  /** Throws a CommandError for a file that can't be read. */
  static async open(stateFolder: string): Promise<DevTime> {
    const file = join(stateFolder, TIME_FILE);
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    return new DevTime(file, text === null ? 0 : aheadIn(text, file));
  }

  /** By so much a server that starts now is ahead. */
  get aheadMs(): number {
    return this.#keptMs;
  }

  get state(): DashboardTime {
    return { aheadMs: this.#reachedMs, movesToMs: this.#movesToMs };
  }

  /** Throws a CommandError if time can't be moved so far. */
  move(byMs: number, ports: DevTimePorts): Promise<DashboardTime> {
    const moved = this.#moving.then(() => this.#move(byMs, ports));
    this.#moving = moved.catch(() => undefined);
    return moved;
  }

  /** The server has started, as far ahead as is kept. */
  started(): void {
    this.#reachedMs = this.#keptMs;
  }

  async #move(byMs: number, ports: DevTimePorts): Promise<DashboardTime> {
    const { tellLocations, movePrimary, onChange } = ports;
    const toMs = this.#keptMs + byMs;
    if (toMs > MAX_AHEAD_MS)
      throw new CommandError(
        "time_too_far",
        `Time would be more than ${MAX_AHEAD_DAYS} days ahead of this machine's.`,
        "Move it by less, or begin with new data: radical dev --reset.",
      );
    // One that can't be told would stay behind: so it is tried before anything moves.
    await tellLocations(this.#reachedMs);
    await this.#keep(toMs);
    const change = (reachedMs: number, movesToMs: number | null): void => {
      this.#reachedMs = Math.max(this.#reachedMs, reachedMs);
      this.#movesToMs = movesToMs;
      onChange(this.state);
    };
    change(0, toMs);
    try {
      await movePrimary(toMs, (reachedMs) => change(reachedMs, toMs));
      await tellLocations(toMs);
      change(toMs, null);
    } catch (error) {
      const where = await this.#endOfFailed(ports);
      change(0, null);
      throw new CommandError("time_not_moved", `Time was not moved to the end: ${messageOf(error)}`, where, {
        cause: error,
      });
    }
    return this.state;
  }

  /** Keeps the time that a failed move has come to. In words. */
  async #endOfFailed({ reachedMs, tellLocations }: DevTimePorts): Promise<string> {
    const foundMs = await reachedMs();
    // Tasks of a server that is gone may have seen any time on the way. So the next server starts at its end.
    if (foundMs === null) return `The next LVI server begins ${spanText(this.#keptMs)} ahead of this machine's time.`;
    this.#reachedMs = foundMs;
    await this.#keep(foundMs);
    // That may be the reason.
    await tellLocations(foundMs).catch(() => undefined);
    return foundMs === 0 ? "Time is this machine's." : `Time is ${spanText(foundMs)} ahead of this machine's.`;
  }

  async #keep(aheadMs: number): Promise<void> {
    await writeFile(`${this.#file}.part`, `${JSON.stringify({ aheadMs })}\n`);
    await rename(`${this.#file}.part`, this.#file);
    this.#keptMs = aheadMs;
  }
}

const MAX_AHEAD_DAYS = MAX_AHEAD_MS / 86_400_000;

function aheadIn(text: string, file: string): number {
  try {
    const { aheadMs } = JSON.parse(text) as { readonly aheadMs?: unknown };
    if (typeof aheadMs === "number" && aheadMs >= 0 && aheadMs <= MAX_AHEAD_MS) return aheadMs;
  } catch {
    // It is told below.
  }
  throw new CommandError(
    "unreadable_time",
    `${file} does not say by how much time is ahead of this machine's.`,
    "Delete the file, which sets time back to this machine's, or start with radical dev --reset.",
  );
}

/** `"3 days"`, or whole milliseconds. Null: it says no length of time that there is. */
export function advanceMs(time: unknown): number | null {
  const ms = typeof time === "string" ? spokenDurationMs(time) : time;
  return typeof ms === "number" && Number.isSafeInteger(ms) && ms >= 0 && ms <= MAX_AHEAD_MS ? ms : null;
}

/** Throws a CommandError. */
export function readTimeAdvance(json: unknown): number {
  const advance: unknown = typeof json === "object" && json !== null && "advance" in json ? json.advance : undefined;
  const ms = advanceMs(advance);
  if (ms !== null) return ms;
  throw new CommandError(
    "invalid_time",
    `The field advance must be a time up to ${MAX_AHEAD_DAYS} days.`,
    'Send {"advance": "3 days"}, "12 hours" or "90s", or whole milliseconds.',
    { exitCode: EXIT_USAGE },
  );
}
