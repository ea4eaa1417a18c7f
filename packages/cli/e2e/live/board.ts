/**
 * An application for live queries under load: a counter that all locations write, and subscribers of it at each. The client
 * is the one that the build writes for pages.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createProject, type TemporaryProject } from "../radical-process.ts";

export interface LiveClient {
  readonly live: {
    readonly read: (
      args: { readonly key: string },
      options?: { readonly onStale?: (isStale: boolean) => void },
    ) => AsyncIterableIterator<number> & { close(): void };
  };
  add(args: { readonly key: string }): Promise<number>;
  read(args: { readonly key: string }): Promise<number>;
}

/** `factor`: the answer of `read` for each time that `add` was called. */
export function boardHandlers(factor: number): string {
  return `import { Table } from "@radical/sdk";
    class Count { n: i32 = 0; }
    const counts = new Table<Count>("counts");
    export function add(key: string): i32 {
      let count = counts.get(key);
      if (count === null) count = new Count();
      count.n++;
      counts.put(key, count);
      return count.n;
    }
    export function read(key: string): i32 {
      const count = counts.get(key);
      return count === null ? 0 : count.n * ${factor};
    }`;
}

export function createBoard(): Promise<TemporaryProject> {
  return createProject({
    "radical.config.ts": 'export default { name: "board", assets: { client: "client.js" } };\n',
    "public/index.html": "",
    "handlers/board.ts": boardHandlers(1),
  });
}

/** The client of the build, at a location of `radical dev`. */
export async function clientAt(project: TemporaryProject, url: string, location: string): Promise<LiveClient> {
  const module = (await import(/* @vite-ignore */ pathToFileURL(join(project.folder, "public/client.js")).href)) as {
    readonly createClient: (options: object) => LiveClient;
  };
  return module.createClient({ baseUrl: url, headers: { "x-radical-location": location } });
}

export interface LiveLoad {
  readonly project: TemporaryProject;
  readonly url: string;
  readonly locations: readonly string[];
  readonly subscribersOfLocation: number;
  readonly writes: number;
}

export interface LiveOutcome {
  /** Subscribers whose results were not in order. */
  readonly disordered: number;
  /** Subscribers whose last result is not the last state. */
  readonly behind: number;
  /** From the beginning of each write until each subscriber has shown it: writer, subscriber, milliseconds. */
  readonly lags: readonly { readonly writer: string; readonly subscriber: string; readonly ms: number }[];
}

/** Writes one after the other, from each location in turn. Settles when each subscriber has shown the last state. */
export async function runLiveLoad(load: LiveLoad): Promise<LiveOutcome> {
  const { project, url, locations, subscribersOfLocation, writes } = load;
  const clients = new Map<string, LiveClient>();
  for (const location of locations) clients.set(location, await clientAt(project, url, location));
  const startedAtMs = new Map<number, { readonly atMs: number; readonly writer: string }>();
  const lags: LiveOutcome["lags"][number][] = [];
  let disordered = 0;
  let behind = 0;
  const begun: Promise<void>[] = [];
  const subscribers = locations.flatMap((subscriber) =>
    Array.from({ length: subscribersOfLocation }, async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      begun.push(promise);
      const seen: number[] = [];
      for await (const count of clients.get(subscriber)!.live.read({ key: "board" })) {
        const nowMs = performance.now();
        const last = seen.at(-1) ?? 0;
        for (let shown = last + 1; shown <= count; shown++) {
          const write = startedAtMs.get(shown);
          if (write !== undefined) lags.push({ writer: write.writer, subscriber, ms: nowMs - write.atMs });
        }
        seen.push(count);
        resolve();
        if (count >= writes) break;
      }
      if (seen.some((count, at) => at > 0 && count <= seen[at - 1]!)) disordered++;
      if (seen.at(-1) !== writes) behind++;
    }),
  );
  await Promise.all(begun);
  for (let write = 1; write <= writes; write++) {
    const writer = locations[write % locations.length]!;
    startedAtMs.set(write, { atMs: performance.now(), writer });
    await clients.get(writer)!.add({ key: "board" });
  }
  await Promise.all(subscribers);
  return { disordered, behind, lags };
}
