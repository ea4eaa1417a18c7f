/**
 * Signed LVI requests to a server process beside the same bytes to a bare `node:http` process: same client, same
 * connections, in turns of one run.
 *
 * Requests per second say what a user gets, and depend on what else the machine does, the client included. Processor time of
 * the two processes per request depends on that much less.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type AccessedUnit,
  type CommitId,
  commitId,
  decodeFollowupReply,
  decodeLviReply,
  encodeFollowup,
  encodeLviReply,
  encodeLviRequest,
  entryOf,
  type ExecutionId,
  FOLLOWUP_PATH,
  LVI_PATH,
  type LviRequest,
  unitId,
  LIVES_PATH,
  type LivesQuestion,
  SAMPLES_PATH,
  type SampleQuestion,
  UPDATES_PATH,
  type ListeningQuestion,
} from "@radical/protocol";
import { Connection, signedRequest } from "./connection.ts";
import { type Effort, type Figure, figure, type Goal, median, type Progress, quantile } from "./figure.ts";
import { type StartedServer, type Target, withBareServer, withServer } from "./processes.ts";

const CONNECTIONS = 32;
/** Turns that are not counted. */
const WARM_UP = 3;
/** Of the bare server's requests per second. */
const SHARE: Goal = { atLeast: 0.6 };
/** The most that a follower of all lives, or of samples, may cost, of the processor time of the requests. */
const FOLLOWER_SHARE: Goal = { atMost: 0.05 };
const VALUE = new Uint8Array(32).fill(7);

export async function benchReads(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  return beside("reads", async ({ server, unheard, told, traced, sampled, bare }) => {
    const made = new Map<Target, RequestMaker>();
    for (const one of [server, unheard, told, traced, sampled]) made.set(one, await readsOf(one));
    // The bare server gets the same bytes.
    const make = (target: Target): RequestMaker => made.get(target) ?? made.get(server)!;
    const run = async (target: Target, connections: readonly Connection[], count: number): Promise<Rate> => {
      const requests = make(target)(count);
      const before = await target.cpuSeconds();
      const startedAtMs = performance.now();
      await Promise.all(
        connections.map((connection) => connection.sendAll(() => requests.pop() ?? null, expectReadOnly)),
      );
      const tookMs = performance.now() - startedAtMs;
      return { perSecond: (count / tookMs) * 1_000, cpuMicros: ((await target.cpuSeconds()) - before) * (1e6 / count) };
    };
    const targets = [server, unheard, told, traced, sampled, bare];
    const [heard = [], alone = [], living = [], spans = [], samples = [], theirs = []] = await compare(
      targets,
      effort,
      run,
      progress,
    );
    const more = (rates: readonly Rate[]): number =>
      median(rates.map(({ cpuMicros }, turn) => cpuMicros / alone[turn]!.cpuMicros - 1));
    progress("one request at a time");
    const [ours, bareTimes] = await latencies([server, bare], make(server), effort.requests);
    return [
      ...figuresOf("read-only, 10 units", [heard, theirs], SHARE),
      figure(
        "the same where nobody listens for updates: processor time",
        median(alone.map(({ cpuMicros }) => cpuMicros)),
        "µs",
      ),
      figure("the same where somebody follows lives: processor time more", more(living), "", FOLLOWER_SHARE),
      figure("the same where all have spans: processor time more", more(spans), "", FOLLOWER_SHARE),
      figure("the same where radical dev samples with values: processor time more", more(samples), "", FOLLOWER_SHARE),
      figure("one at a time: round trip, p50", quantile(ours!, 0.5), "ms"),
      figure("one at a time: round trip, p99", quantile(ours!, 0.99), "ms"),
      figure("one at a time: bare, p50", quantile(bareTimes!, 0.5), "ms"),
      figure("one at a time: bare, p99", quantile(bareTimes!, 0.99), "ms"),
      figure("server's part at p50", quantile(ours!, 0.5) - quantile(bareTimes!, 0.5), "ms"),
      figure("server's part at p99", quantile(ours!, 0.99) - quantile(bareTimes!, 0.99), "ms"),
    ];
  });
}

type RequestMaker = (count: number) => Buffer[];

async function readsOf(server: StartedServer): Promise<RequestMaker> {
  const units = await makeHot(server, 10);
  const { asOf } = await server.client.lvi(server.client.requestOf("read", "a", units));
  return (count) =>
    Array.from({ length: count }, () =>
      signedRequest(LVI_PATH, encodeLviRequest(server.client.requestOf("read", "a", units, { seen: asOf }))),
    );
}

/** Executions: an LVI request and its followup, on units that nobody else wants. */
export async function benchWrites(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  return beside("writes", async ({ server, bare }) => {
    const figures: Figure[] = [];
    for (const count of [1, 10]) {
      const run = async (target: Target, connections: readonly Connection[], executions: number): Promise<Rate> => {
        let left = executions;
        const before = await target.cpuSeconds();
        const startedAtMs = performance.now();
        await Promise.all(
          connections.map(async (connection, index) => {
            const writer = new Writer(server, connection, `${count}-${index}`, count, target === server);
            for (; left > 0; left--) await writer.execute();
          }),
        );
        const perSecond = (executions / (performance.now() - startedAtMs)) * 1_000;
        return { perSecond, cpuMicros: ((await target.cpuSeconds()) - before) * (1e6 / executions) };
      };
      // Two requests each.
      const halved = { ...effort, requests: Math.ceil(effort.requests / 2) };
      const compared = await compare([server, bare], halved, run, (words) =>
        progress(`${count} unit${count === 1 ? "" : "s"}, ${words}`),
      );
      figures.push(...figuresOf(`read-write, ${count} unit${count === 1 ? "" : "s"}, with followup`, compared, null));
    }
    return figures;
  });
}

/** Executes on units of its own again and again. */
class Writer {
  readonly #server: StartedServer;
  readonly #connection: Connection;
  readonly #isReal: boolean;
  #units: readonly AccessedUnit[];

  constructor(server: StartedServer, connection: Connection, name: string, count: number, isReal: boolean) {
    this.#server = server;
    this.#connection = connection;
    this.#isReal = isReal;
    const run = randomBytes(4).toString("hex");
    this.#units = Array.from({ length: count }, (_, index) => ({
      unit: unitId("counters", `${run}-${name}-${index}`),
      mode: "read-write" as const,
      version: entryOf(commitId(0, 0), null).version,
    }));
  }

  async execute(): Promise<void> {
    const request = this.#server.client.requestOf("increment", "a", this.#units);
    const reply = expectValid(await this.#connection.send(signedRequest(LVI_PATH, encodeLviRequest(request))));
    if (reply === null) throw new Error("no intent was made");
    const writes = this.#units.map(({ unit }) => ({ unit, value: VALUE }));
    const outcome = { kind: "result", value: VALUE } as const;
    const followup = encodeFollowup({
      executionId: request.executionId,
      commitId: reply,
      outcome,
      writes,
      effects: [],
    });
    const result = decodeFollowupReply(await this.#connection.send(signedRequest(FOLLOWUP_PATH, followup)));
    if (result !== "applied") throw new Error(`the followup was ${result}`);
    const { version } = entryOf(this.#isReal ? reply : commitId(1, 1), VALUE);
    this.#units = this.#units.map(({ unit }) => ({ unit, mode: "read-write", version }));
  }
}

/** What replies of this kind begin with: compared instead of decoded, since it costs the machine less. */
const READ_ONLY = encodeLviReply({
  kind: "valid",
  commitId: null,
  times: { receivedAtMs: 0, sentAtMs: 0 },
  asOf: null,
}).slice(0, 4);

function expectReadOnly(body: Uint8Array): void {
  for (const [index, byte] of READ_ONLY.entries()) if (body[index] !== byte) expectValid(body);
}

/** Its commit id. */
function expectValid(body: Uint8Array): CommitId | null {
  const reply = decodeLviReply(body);
  if (reply.kind !== "valid") throw new Error(`not valid: ${JSON.stringify(reply)}`);
  return reply.commitId;
}

/** Units with values, in the server's memory, as a location that has just read them sends them. */
export async function makeHot({ client }: StartedServer, count: number): Promise<readonly AccessedUnit[]> {
  const units = Array.from({ length: count }, (_, index) => unitId("counters", `hot-${index}`));
  const request: LviRequest = client.requestOf(
    "increment",
    "a",
    units.map((unit) => ({ unit, mode: "write" })),
  );
  const reply = await client.lvi(request);
  if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
  const executionId: ExecutionId = request.executionId;
  const outcome = { kind: "result", value: VALUE } as const;
  const writes = units.map((unit) => ({ unit, value: VALUE }));
  await client.followup({ executionId, commitId: reply.commitId, outcome, writes, effects: [] });
  const { version } = entryOf(reply.commitId, VALUE);
  return units.map((unit) => ({ unit, mode: "read", version }));
}

export interface Rate {
  readonly perSecond: number;
  /** Processor time of the target's process for each. */
  readonly cpuMicros: number;
}

type Run = (target: Target, connections: readonly Connection[], count: number) => Promise<Rate>;

/** Of each target, by turn. */
export async function compare(
  targets: readonly Target[],
  effort: Effort,
  run: Run,
  progress: Progress,
): Promise<readonly (readonly Rate[])[]> {
  const connected = await Promise.all(
    targets.map(async (target) => ({
      target,
      connections: await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(target.url))),
      rates: [] as Rate[],
    })),
  );
  progress("warming up");
  // Not counted.
  for (const { target, connections } of connected)
    for (let turn = 0; turn < WARM_UP; turn++) await run(target, connections, effort.requests);
  for (let turn = 0; turn < effort.turns; turn++) {
    progress(`turn ${turn + 1} of ${effort.turns}`);
    const order = turn % 2 === 0 ? connected : connected.toReversed();
    for (const { target, connections, rates } of order) rates.push(await run(target, connections, effort.requests));
  }
  for (const { connections } of connected) for (const connection of connections) connection.close();
  return connected.map(({ rates }) => rates);
}

/** Each turn by itself, since what else the machine does changes from one to the next; and the median of that. */
function figuresOf(
  what: string,
  [ours = [], theirs = []]: readonly (readonly Rate[])[],
  share: Goal | null,
): readonly Figure[] {
  const medianOf = (value: (turn: number) => number): number => median(ours.map((_, turn) => value(turn)));
  return [
    figure(
      `${what}: part of the bare server's rate`,
      medianOf((turn) => ours[turn]!.perSecond / theirs[turn]!.perSecond),
      "",
      share,
    ),
    figure(
      `${what}: part of the bare server's rate, by processor time`,
      medianOf((turn) => theirs[turn]!.cpuMicros / ours[turn]!.cpuMicros),
      "",
      share,
    ),
    figure(
      `${what}: rate`,
      medianOf((turn) => ours[turn]!.perSecond),
      "/s",
    ),
    figure(
      `${what}: bare, rate`,
      medianOf((turn) => theirs[turn]!.perSecond),
      "/s",
    ),
    figure(
      `${what}: processor time`,
      medianOf((turn) => ours[turn]!.cpuMicros),
      "µs",
    ),
    figure(
      `${what}: bare, processor time`,
      medianOf((turn) => theirs[turn]!.cpuMicros),
      "µs",
    ),
  ];
}

/** Request by request in turns, in milliseconds. */
async function latencies(
  targets: readonly Target[],
  make: (count: number) => readonly Buffer[],
  count: number,
): Promise<readonly (readonly number[])[]> {
  const connected = await Promise.all(
    targets.map(async ({ url }) => ({ connection: await Connection.open(url), times: [] as number[] })),
  );
  for (const request of make(count)) {
    for (const { connection, times } of connected) {
      const sentAtMs = performance.now();
      await connection.send(request);
      times.push(performance.now() - sentAtMs);
    }
  }
  for (const { connection } of connected) connection.close();
  return connected.map(({ times }) => times);
}

interface Servers {
  /** The location of the requests listens for updates there, as locations do. At the others nobody does. */
  readonly server: StartedServer;
  readonly unheard: StartedServer;
  /** It tells all lives. */
  readonly told: StartedServer;
  /** It tells a collector the spans of all executions. */
  readonly traced: StartedServer;
  /** It tells samples, as `radical dev` asks for them. */
  readonly sampled: StartedServer;
  readonly bare: Target;
}

function beside<T>(requests: "reads" | "writes", use: (servers: Servers) => Promise<T>): Promise<T> {
  return withServer((server) =>
    withServer((unheard) =>
      withServer((told) =>
        withServer((sampled) =>
          withCollector((collector) =>
            withServer(
              async (traced) => {
                const stops = [await listen(server), await followLives(told), await followSamples(sampled)];
                try {
                  return await withBareServer(requests, (bare) =>
                    use({ server, unheard, told, traced, sampled, bare }),
                  );
                } finally {
                  for (const stop of stops) await stop();
                }
              },
              "--otlp",
              collector,
            ),
          ),
        ),
      ),
    ),
  );
}

/** A collector of spans that takes everything. */
async function withCollector<T>(use: (url: string) => Promise<T>): Promise<T> {
  const collector = createServer((request, response) => {
    request.resume().on("end", () => response.end("{}"));
  });
  await new Promise<void>((resolve) => void collector.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${(collector.address() as AddressInfo).port}`);
  } finally {
    collector.closeAllConnections();
    await new Promise((resolve) => collector.close(resolve));
  }
}

/** Listens for updates, again and again, and reads what comes, until it is told to stop. */
async function listen({ client }: StartedServer): Promise<() => Promise<void>> {
  const { location } = client.requestOf("read", "a", null);
  const question: ListeningQuestion = { location, listener: "bench", session: undefined, heard: 0, ends: null };
  return readFrom(client, UPDATES_PATH, question);
}

function followLives({ client }: StartedServer): Promise<() => Promise<void>> {
  return readFrom(client, LIVES_PATH, { every: 1 } satisfies LivesQuestion);
}

function followSamples({ client }: StartedServer): Promise<() => Promise<void>> {
  const question: SampleQuestion = { every: 1, handlers: [], values: true, redact: [], perSecond: 100 };
  return readFrom(client, SAMPLES_PATH, question);
}

/** Asks again when an answer has ended, and reads all of it. Returns how to stop. */
async function readFrom(
  client: StartedServer["client"],
  path: string,
  question: ListeningQuestion | LivesQuestion | SampleQuestion,
): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const ask = async (): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
    const answer = await client.question(path, question);
    if (answer.status !== 200 || answer.body === null) throw new Error(`${answer.status}: ${await answer.text()}`);
    return answer.body.getReader();
  };
  let reader = await ask();
  const read = (async () => {
    while (!stop.signal.aborted) {
      const { done } = await reader.read();
      if (done && !stop.signal.aborted) reader = await ask();
    }
  })();
  return async () => {
    stop.abort();
    await reader.cancel();
    await read;
  };
}
