/** `radical cache purge`: one cache after the other, with what was done told whatever happens. */
import type { PrimaryAddress } from "@radical/admin";
import { counted, loadProject, type Project, targetOf } from "@radical/app";
import { CommandError, EXIT_FAILED, EXIT_USAGE, messageOf } from "@radical/app/command-error";
import {
  type CacheAnswer,
  cacheAnswerIn,
  type CacheOrder,
  CACHES_PATH,
  type CacheQuestion,
  isKey,
  isTableName,
  isWorkerOrigin,
  MOST_LOCATIONS,
} from "@radical/protocol";
import { createTerminal, print } from "../terminal/terminal.ts";
import { checkRegion } from "./deployed-options.ts";
import { answerOf } from "./older-server.ts";
import type { OperateOptions } from "./orders.ts";
import { primaryAddress } from "./primary-address.ts";

export interface PurgeOptions extends OperateOptions {
  readonly table: string | null;
  readonly key: string | null;
  readonly location: string | null;
  readonly url: string | null;
}

interface Asked {
  readonly primary: PrimaryAddress;
  /** Origin of the Worker; null: the primary knows it. */
  readonly worker: string | null;
}

/** `location` null: a store of all locations. */
interface Purged {
  readonly location: string | null;
  readonly entries: number;
  /** False: the command was told to stop in its midst. */
  readonly isWhole: boolean;
}

/** Throws a CommandError, after it has told what is done so far. */
export async function purgeCaches(options: PurgeOptions, signal: AbortSignal): Promise<void> {
  checkPart(options);
  const terminal = createTerminal({ quiet: options.json });
  const asked = await whomToAsk(await loadProject(options.project), options);
  const places = placesOf(await terminal.during("looking for caches", send(asked, { kind: "look" })), options.location);

  const done: Purged[] = [];
  const work = async (): Promise<void> => {
    for (const location of places) {
      if (signal.aborted) return;
      // oxlint-disable-next-line no-await-in-loop -- one cache after the other
      done.push({ location, ...(await purgeOne(asked, location, options, signal)) });
    }
  };
  const label = (): string => `emptying caches: ${done.length} of ${places.length}`;
  let failure: Error | null = null;
  try {
    await terminal.during(label, work());
  } catch (error) {
    failure = error instanceof Error ? error : new Error(messageOf(error));
  }
  const left = places.length - done.filter(({ isWhole }) => isWhole).length;
  const isStopped = signal.aborted && left > 0;
  if (isStopped || failure !== null) process.exitCode = EXIT_FAILED;
  if (options.json) {
    const { code = "purge_failed", hint = AGAIN } = failure instanceof CommandError ? failure : {};
    const error = failure === null ? {} : { error: { code, message: failure.message, hint } };
    return print(
      JSON.stringify({
        purged: done.map(({ location, entries }) => ({ location, entries })),
        stopped: isStopped,
        ...error,
      }),
    );
  }
  const entries = done.reduce((sum, one) => sum + one.entries, 0);
  const names = done.flatMap(({ location }) => (location === null ? [] : [location]));
  const where = names.length === 0 ? "" : `: ${names.join(", ")}`;
  if (places.length === 0) terminal.note("No location has a cache yet.");
  else if (done.length > 0)
    terminal.note(
      `${terminal.style("green", "✓")} ${entries} ${entries === 1 ? "entry" : "entries"} removed from ${counted(done.length, "cache")}${where}`,
    );
  if (isStopped) terminal.note(`The command was told to stop: ${counted(left, "cache")} left. ${AGAIN}`);
  if (failure !== null) throw failure;
}

const AGAIN = "Run the same command again: it does the rest.";

/** Throws a CommandError. */
function checkPart({ table, key }: PurgeOptions): void {
  if (key !== null && table === null)
    throw usage("--key is the key of an item in a table, and no table is named.", "Name it: --table users --key ann");
  if (table !== null && !isTableName(table))
    throw usage(`"${table}" can't be the name of a table.`, 'Give it as in new Table<User>("users"): --table users');
  if (key !== null && !isKey(key))
    throw usage("--key can't be the key of an item.", "Keys have 1 to 512 bytes in UTF-8.");
}

async function whomToAsk(project: Project, options: PurgeOptions): Promise<Asked> {
  const { env, primary, region, url } = options;
  checkRegion(options);
  if (env === null) return { primary: await primaryAddress(project, primary), worker: originOf(url) };
  const { findDeployed, leaderOf } = await import("@radical/deploy");
  const { servers, origin } = await findDeployed({
    project,
    target: targetOf(project.config.name, env),
    primary,
    region,
    url: originOf(url),
  });
  return { primary: await leaderOf(servers), worker: origin };
}

function originOf(url: string | null): string | null {
  if (url === null) return null;
  if (URL.canParse(url) && isWorkerOrigin(new URL(url).origin)) return new URL(url).origin;
  throw usage(
    `--url must be an origin with https, and is "${url}".`,
    "Give for example --url https://app.example.com.",
  );
}

/** Throws a CommandError if there is nothing to empty. */
function placesOf(looked: CacheAnswer, location: string | null): readonly (string | null)[] {
  if (looked.kind !== "looked") return malformed();
  const { cache, locations } = looked;
  if (cache === "memory")
    throw new CommandError(
      "cache_in_memory",
      'The application has cache: "memory", so its locations keep items only in the memory of their Workers.',
      "Deploy again: a new version begins with empty memory.",
    );
  if (location === null) return locations ?? [null];
  // A full list lacks some that have a cache.
  if (locations === null || locations.includes(location) || locations.length >= MOST_LOCATIONS) return [location];
  throw new CommandError(
    "unknown_location",
    `No location "${location}" has a cache.`,
    locations.length === 0 ? "No location has one yet." : `These have one: ${locations.join(", ")}.`,
    { exitCode: EXIT_USAGE },
  );
}

/** Empties a cache, page by page. */
async function purgeOne(
  asked: Asked,
  location: string | null,
  { table, key }: PurgeOptions,
  signal: AbortSignal,
): Promise<Omit<Purged, "location">> {
  let entries = 0;
  let after: string | null | undefined = undefined;
  while (after !== null && !signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- an answer says where the next order begins
    const answer: CacheAnswer = await send(asked, { kind: "purge", location, table, key, after: after ?? null });
    if (answer.kind !== "purged") return malformed();
    entries += answer.entries;
    after = answer.next;
  }
  return { entries, isWhole: after === null };
}

async function send({ primary, worker }: Asked, order: CacheOrder): Promise<CacheAnswer> {
  const question: CacheQuestion = { worker, order };
  return cacheAnswerIn(await answerOf<unknown>("caches", primary, CACHES_PATH, question)) ?? malformed();
}

function malformed(): never {
  throw new CommandError(
    "malformed_answer",
    "The LVI server has answered an order about caches with something else.",
    "Bring it to the version of this command.",
  );
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
