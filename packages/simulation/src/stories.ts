/**
 * The main stories of the protocol, played by the real cores: nothing is random but what the cores draw, and every
 * message takes as long. Their transcripts are `docs/internals/transcripts.md`.
 */
import type { ExecutionId, UnitId } from "@radical/protocol";
import { Clock } from "./clock.ts";
import { EdgeLocation } from "./edge-location.ts";
import { FaultCounts } from "./faults.ts";
import { Network, type ToPrimary } from "./network.ts";
import { Primary } from "./primary.ts";
import { encodeArgs, type ProgramName } from "./programs.ts";
import { Random } from "@radical/history";
import { Stream } from "./streams.ts";
import { Trace } from "./trace.ts";

interface Story {
  readonly title: string;
  readonly words: string;
  readonly servers?: number;
  /** The locations listen, and get read leases. */
  readonly leases?: boolean;
  /** How many copies of a message to the primary arrive, and how much later; else one, at once. */
  readonly copies?: Partial<Record<ToPrimary["kind"], readonly number[]>>;
  /** The story. It begins once both locations have heard of the server and know the items. */
  readonly play: (stage: Stage) => Stage;
}

/** Everything takes its longest time, and what is only possible does not happen. */
class Steady extends Random {
  override between(_min: number, max: number): number {
    return max;
  }
  override chance(): boolean {
    return false;
  }
  override pick<T>(list: readonly T[]): T {
    return list[0]!;
  }
}

const ONE_WAY_MS = 50;
const STORAGE_MS = 2;
const TERM_MS = 1_000;
const READ_LEASE_MS = 3_000;
const READS_BEFORE_LEASES = 12;
/** No stream ends during a story. */
const UPDATES_MS = 600_000;
const LISTENING = { shiftMs: UPDATES_MS, pauseMs: 1_000, beatMs: 1_000, idleMs: 10_000, heardMs: 1_000 } as const;
const [A, B, C] = ["item/a", "item/b", "item/c"] as [UnitId, UnitId, UnitId];

class Stage {
  readonly #trace = new Trace(true);
  readonly clock = new Clock(1_700_000_000_000, new Steady(1), this.#trace);
  readonly primary: Primary;
  readonly #locations: readonly EdgeLocation[];
  #operations = 0;
  /** Null: the story has not begun. */
  #copies: Story["copies"] | null = null;

  constructor({ servers = 1, leases = false }: Story) {
    const { clock } = this;
    const trace = this.#trace;
    const counts = new FaultCounts();
    const network = new Network(clock, { drop: 0, duplicate: 0, late: 0, maxDelayMs: ONE_WAY_MS }, counts);
    this.primary = new Primary({
      coreOptions: { followupTimeoutMs: 500, readLeaseMs: leases ? READ_LEASE_MS : 0 },
      clock,
      trace,
      counts,
      faults: {
        storage: { maxDelayMs: STORAGE_MS, failure: 0, lostAnswer: 0, late: 0, lateMs: 0 },
        end: 0,
        freeze: 0,
        kill: 0,
      },
      servers,
      termMs: TERM_MS,
      fencesIntents: true,
      drift: 0,
      takesTimeAsEpoch: false,
      send: (message) => clock.after(ONE_WAY_MS, () => this.#locations[message.to]!.receive(message)),
      updatesMs: UPDATES_MS,
      met: () => {},
      sampled: () => {},
    });
    this.#locations = [0, 1].map(
      (index) =>
        new EdgeLocation({
          index,
          clock,
          trace,
          counts,
          faults: { end: 0 },
          drift: 0,
          isolates: 1,
          attemptMs: 1_500,
          servers,
          listening: leases ? LISTENING : null,
          updatesMs: UPDATES_MS,
          live: { random: clock.random, bounds: {}, mark: () => 0 },
          commits: { isApplied: () => true, pendingElsewhere: () => [] },
          send: (message) => {
            for (const laterMs of this.#copies?.[message.kind] ?? [0])
              clock.after(ONE_WAY_MS + laterMs, () => this.primary.receive(index, message));
          },
          listen: (server, question, arrived) => {
            const stream = new Stream({
              clock,
              counts,
              network,
              question,
              lineLoss: 0,
              detourMs: 0,
              isCut: () => false,
              arrived,
            });
            network.connect(() => this.primary.listen(index, server, stream));
            return stream;
          },
        }),
    );
  }

  ask(location: number, program: ProgramName, ...units: readonly UnitId[]): this {
    const number = ++this.#operations;
    const name = `op${number}`;
    this.#trace.write(`client: ${name} ${program} ${units.join(" ")}, at location ${location}`);
    const executionId = number.toString(16).padStart(32, "0") as ExecutionId;
    const args = { operation: name, units, amount: 0 };
    const encodedArgs = encodeArgs(args);
    const habits = { caller: null, retained: false, mustNotWrite: false, prefersSpeculative: false } as const;
    this.#locations[location]!.invoke(
      { executionId, program, args, encodedArgs, ...habits },
      {
        answer: (outcome) => {
          this.#trace.write(
            `client: ${name} is told ${outcome === null ? "that nothing is known" : `its ${outcome.kind}`}`,
          );
        },
        show: () => undefined,
      },
    );
    return this;
  }

  run(ms: number): this {
    const untilMs = this.clock.nowMs + ms;
    while (this.clock.step(untilMs));
    this.clock.after(untilMs - this.clock.nowMs, () => {});
    this.clock.step(untilMs);
    return this;
  }

  stopServer(ms: number): this {
    this.primary.stop(ms);
    return this;
  }

  /** The story begins here: lines until now are not part of it. */
  curtain(): this {
    this.#trace.lines!.length = 0;
    this.#trace.begin(this.clock.nowMs);
    return this;
  }

  get lines(): readonly string[] {
    return this.#trace.lines!;
  }

  play({ play, copies, leases = false }: Story): this {
    // A server that has just begun can't know what it has answered before: the first requests would be in doubt.
    this.run(2 * TERM_MS)
      .ask(0, "overwrite", A, B)
      .run(2_000);
    this.ask(0, "read", A, B).ask(1, "read", A, B).run(2_000);
    // A lease goes to a location that reads much.
    const reads = leases ? READS_BEFORE_LEASES : 0;
    for (let read = 0; read < reads; read++) this.ask(0, "read", A, B).run(300);
    this.#copies = copies;
    play(this.curtain());
    return this;
  }
}

const STORIES: readonly Story[] = [
  {
    title: "Valid",
    words:
      "The cache is current. The handler runs while the request is on its way; the answer needs both, and its writes follow.",
    play: (stage) => stage.ask(0, "update", A).run(400),
  },
  {
    title: "Read-only",
    words: "Nothing is locked and nothing is stored: the step that compares the versions is its place in the order.",
    play: (stage) => stage.ask(0, "read", A, B).run(400),
  },
  {
    title: "Stale",
    words:
      "Location 0 has changed the item; location 1 does not know. The primary runs the handler itself, and its reply repairs the cache.",
    play: (stage) => stage.ask(0, "update", A).run(1_000).curtain().ask(1, "update", A).run(400),
  },
  {
    title: "Guess",
    words: "The item is new. The cache lacks it, so the location guesses that it is absent, and is confirmed.",
    play: (stage) => stage.ask(0, "update", C).run(400),
  },
  {
    title: "Wrong guess",
    words: "The same at a location that does not know what the other one has made: as if its cache had been stale.",
    play: (stage) => stage.ask(0, "update", C).run(1_000).curtain().ask(1, "update", C).run(400),
  },
  {
    title: "Followup lost",
    words:
      "The client has its answer, and the followup never comes: when its time is over the handler is run from the intent.",
    copies: { followup: [] },
    play: (stage) => stage.ask(0, "update", A).run(800),
  },
  {
    title: "Somebody waits",
    words: "The same, but location 1 wants the item meanwhile: the handler is run from the intent at once.",
    copies: { followup: [] },
    play: (stage) => stage.ask(0, "update", A).run(120).ask(1, "update", A).run(380),
  },
  {
    title: "Own write",
    words:
      "Location 0 reads and writes what it has just written, before its followup has arrived: it is valid, behind its own write.",
    copies: { followup: [100] },
    play: (stage) => stage.ask(0, "update", A).run(125).ask(0, "update", A).run(500),
  },
  {
    title: "Train",
    words:
      "Three executions at location 1 want the item that location 0 has just written. The first of them runs near storage. The others follow it, in one run and one commit.",
    play: (stage) =>
      stage.ask(0, "update", A).run(20).ask(1, "update", A).ask(1, "update", A).ask(1, "update", A).run(400),
  },
  {
    title: "Duplicate",
    words:
      "The network delivers a request twice. The second copy comes when the execution is done. It is told that the answer is not kept, and nobody hears it.",
    copies: { "lvi-request": [0, 300] },
    play: (stage) => stage.ask(0, "update", A).run(500),
  },
  {
    title: "Duplicate without a trace",
    words:
      "A read-only execution leaves nothing in storage, so its second copy is told apart by the number of its attempt.",
    copies: { "lvi-request": [0, 300] },
    play: (stage) => stage.ask(0, "read", A).run(500),
  },
  {
    title: "Leased read",
    words:
      "Location 0 holds read leases on both items, in the versions that its cache has. It answers without a request, and the instant at which it looks is the place in the order.",
    leases: true,
    play: (stage) => stage.ask(0, "read", A, B).run(400),
  },
  {
    title: "Revoked lease",
    words:
      "Location 1 writes an item that location 0 has leased. The lease is revoked in the step that locks the item. The writer is told when its intent is durable and location 0 has heard. The next read there asks the primary.",
    leases: true,
    play: (stage) => stage.ask(1, "update", A).run(250).ask(0, "read", A).run(400),
  },
  {
    title: "Takeover",
    words:
      "The server is stopped after it has told `valid`. The followup finds nobody. The other server waits the leadership out, adopts the intent with its locks, and runs the handler from it. The first one goes on, finds its leadership over, and asks storage who has it.",
    servers: 2,
    play: (stage) => stage.ask(0, "update", A).run(58).stopServer(3_000).run(3_100),
  },
];

/** The page, as it must stand in the documents. */
export function transcripts(): string {
  const parts = [
    "# Transcripts",
    "",
    "The main stories of [the protocol](protocol.md). The real cores of the server and of locations play them in the",
    "[simulation](verification.md). `pnpm sim:pages` writes this page, and a test compares it. Times are milliseconds; a message",
    "takes 50 of them, storage 4. Commit ids are shown as epoch-sequence. The first lines of a server's turn say what it hears of,",
    "the indented ones what it does then.",
  ];
  for (const story of STORIES) {
    const { title, words } = story;
    const stage = new Stage(story).play(story);
    parts.push("", `## ${title}`, "", words, "", "```", ...stage.lines.filter(isTold), "```");
  }
  return `${parts.join("\n")}\n`;
}

/** Timers that find nothing to do, and the beat of the leadership, are not part of a story. */
function isTold(line: string, at: number, lines: readonly string[]): boolean {
  if (/(renews the leadership, operation \d+|the leadership is held)$/.test(line)) return false;
  const next = lines[at + 1];
  return (
    !line.endsWith("has something due") || (next !== undefined && / {5}/.test(next) && isTold(next, at + 1, lines))
  );
}
