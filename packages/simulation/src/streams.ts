/**
 * A connection on which a location listens, in the virtual network: a question, and an answer that goes on line by line. Lines keep their
 * order and take their time. A connection ends in order, breaks, or is *half-open*: one side believes in it, and nothing comes.
 */
import type { ListeningQuestion } from "@radical/protocol";
import type { Clock } from "./clock.ts";
import type { FaultCounts } from "./faults.ts";
import type { Network } from "./network.ts";

/** The end of the lines: whether the server has ended them in order. */
interface End {
  readonly isOver: boolean;
}

export interface StreamOptions {
  readonly clock: Clock;
  readonly counts: FaultCounts;
  readonly network: Network;
  readonly question: ListeningQuestion;
  /** Probability that a line is lost although the stream goes on: by what lies between, or by a mistake. */
  readonly lineLoss: number;
  /** For which lines are longer on their way. */
  readonly detourMs: number;
  /** Whether nothing comes from the server to the location at present. */
  readonly isCut: () => boolean;
  /** A line, or the end, has come to the location: `next` takes it. */
  readonly arrived: () => void;
}

/** The time after which a sender repeats what was not confirmed. */
const REPEATED_AFTER_MS = 40;

export class Stream {
  readonly question: ListeningQuestion;
  readonly #options: StreamOptions;
  /** On their way, and here. */
  readonly #sent: (string | End)[] = [];
  readonly #here: (string | End)[] = [];
  #lastArrivesAtMs = 0;
  /** Null: the server's side does not believe in it, or does not know it yet. */
  #server: { readonly closed: () => void } | null = null;
  /** The location's side believes in it. */
  #isHeard = true;
  /** The connection carries its lines. */
  #isThrough = true;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.question = options.question;
  }

  /** One of its sides believes in it. */
  get isOpen(): boolean {
    return this.#isHeard || this.#server !== null;
  }

  // ── At the server ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The server has taken the question; `closed` is called once when the location has gone, as far as the server finds out. */
  accepted(closed: () => void): void {
    this.#server = { closed };
    if (!this.#isHeard) this.#serverHears();
  }

  tell(line: string): boolean {
    this.#send(line);
    return true;
  }

  /** `isOver`: in order. Otherwise it has refused the question, or its process is gone. */
  end(isOver: boolean): void {
    this.#server = null;
    this.#send({ isOver });
  }

  #send(item: string | End): void {
    const { clock, counts, network, lineLoss, detourMs } = this.#options;
    if (!this.#isThrough) return this.#lost(item);
    if (lineLoss > 0 && typeof item === "string" && clock.random.chance(lineLoss))
      return counts.add("line lost on a stream that goes on");
    const onWayMs = detourMs + clock.random.between(1, network.faults.maxDelayMs);
    const atMs = Math.max(this.#lastArrivesAtMs, clock.nowMs + onWayMs);
    this.#lastArrivesAtMs = atMs;
    this.#sent.push(item);
    network.underWay++;
    this.#arrivesAfter(atMs - clock.nowMs);
  }

  /** The one that was sent first arrives next, whenever it was repeated. */
  #arrivesAfter(ms: number): void {
    const { clock, network, isCut, arrived } = this.#options;
    clock.after(ms, () => {
      if (this.#isThrough && isCut()) return this.#arrivesAfter(REPEATED_AFTER_MS);
      network.underWay--;
      const item = this.#sent.shift();
      if (item === undefined) return;
      if (!this.#isThrough) return this.#lost(item);
      this.#here.push(item);
      arrived();
    });
  }

  #lost(item: string | End): void {
    if (typeof item === "string") this.#options.counts.add("line lost with its stream");
  }

  // ── At the location ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes all lines that have come, and then the end. */
  next(told: (lines: readonly string[]) => void, ended: (isOver: boolean) => void): void {
    const lines: string[] = [];
    let end: End | null = null;
    for (const item of this.#here.splice(0)) {
      if (typeof item === "string") lines.push(item);
      else end ??= item;
    }
    if (!this.#isHeard) return;
    if (lines.length > 0) told(lines);
    if (end === null) return;
    this.#isHeard = false;
    if (end.isOver) this.#options.counts.add("stream ended by its server");
    ended(end.isOver);
  }

  /** The location has waited for as long as it does. */
  giveUp(ended: (isOver: boolean) => void): void {
    if (!this.#isHeard) return;
    this.close();
    ended(false);
  }

  /** The location is gone, or listens no more. */
  close(): void {
    if (!this.#isHeard) return;
    this.#isHeard = false;
    this.#serverHears();
  }

  /** The server finds out some time later, or not before it ends the answer itself. */
  #serverHears(): void {
    const { clock, counts, network } = this.#options;
    const { random } = clock;
    const server = this.#server;
    if (server === null) return;
    if (!this.#isThrough || random.chance(0.2)) return counts.add("server believes in a location that is gone");
    clock.after(random.between(1, network.faults.maxDelayMs), () => {
      if (this.#server !== server) return;
      this.#server = null;
      server.closed();
    });
  }

  // ── Trouble ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Lines under way are lost, and the location finds out. */
  break(): void {
    const { clock, counts, arrived } = this.#options;
    if (!this.#isThrough) return;
    counts.add("stream broken");
    this.#isThrough = false;
    clock.after(clock.random.between(0, 100), () => {
      this.#here.push({ isOver: false });
      arrived();
    });
    const server = this.#server;
    if (server === null || clock.random.chance(0.3)) return;
    clock.after(clock.random.between(0, 300), () => {
      if (this.#server !== server) return;
      this.#server = null;
      server.closed();
    });
  }

  /** Lines under way are lost, and nobody finds out. */
  halfOpen(): void {
    if (!this.#isThrough) return;
    this.#options.counts.add("stream half-open");
    this.#isThrough = false;
  }
}
