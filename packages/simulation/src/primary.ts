/** The primary in the simulation: the storage, and the servers that know it. */
import type { NoteName, Sampling } from "@radical/lvi-server/core";
import type { ExecutionId, SessionId } from "@radical/protocol";
import type { Account } from "./checkers/lease-agreement.ts";
import { MODULES } from "./programs.ts";
import type { ToLocation, ToPrimary } from "./network.ts";
import { type Backup, ModelStorage } from "./model-storage.ts";
import { Server, type ServerOptions } from "./server.ts";
import type { Stream } from "./streams.ts";

export interface PrimaryOptions extends Omit<ServerOptions, "index" | "storage" | "send" | "note"> {
  /** How many servers know the storage. One alone needs no renewal of its leadership. */
  readonly servers: number;
  readonly fencesIntents: boolean;
  /** Hands a message to the network. */
  readonly send: (message: ToLocation) => void;
}

export class Primary {
  readonly storage: ModelStorage;
  readonly notes = new Map<NoteName, number>();
  readonly #options: PrimaryOptions;
  readonly #servers: readonly Server[];
  readonly #cutUntilMs = new Map<string, number>();

  constructor(options: PrimaryOptions) {
    this.#options = options;
    const { fencesIntents, servers, clock } = options;
    this.storage = new ModelStorage(fencesIntents);
    this.#servers = Array.from(
      { length: servers },
      (_, index) =>
        new Server({
          ...options,
          index,
          storage: this.storage,
          isAlone: servers === 1,
          send: (message) => {
            if (!this.isCut("from", index, message.to)) options.send(message);
          },
          note: (name) => void this.notes.set(name, (this.notes.get(name) ?? 0) + 1),
        }),
    );
    for (const server of this.#servers) clock.after(0, () => server.start());
  }

  /** Exactly one server serves, and nothing is under way. */
  get isIdle(): boolean {
    let idle = 0;
    for (const server of this.#servers) {
      if (!server.isServing) continue;
      if (!server.isIdle) return false;
      idle++;
    }
    return idle === 1;
  }

  get isServing(): boolean {
    return this.#servers.some((server) => server.isServing);
  }

  /** The account of a session; undefined: no server knows it. */
  session(id: SessionId): Account | undefined {
    for (const server of this.#servers) {
      const session = server.session(id);
      if (session !== undefined) return session;
    }
    return undefined;
  }

  /** Requests and followups that the servers got, and have not answered. */
  get unanswered(): number {
    let sum = 0;
    for (const { unanswered } of this.#servers) sum += unanswered;
    return sum;
  }

  /** State that the servers should not have held. */
  get problems(): readonly string[] {
    return this.#servers.flatMap((server) => server.problems);
  }

  /** `kill -9` of a server, and its start some time later. */
  kill(downMs: number): void {
    const { clock, counts } = this.#options;
    const server = clock.random.pick(this.#servers);
    if (!server.isUp) return;
    counts.add("server killed");
    server.kill(downMs);
  }

  /** All servers end, and meet an earlier state of their storage when they start again. */
  setBack(backup: Backup, { isByCommand, downMs }: { readonly isByCommand: boolean; readonly downMs: number }): void {
    const { clock, counts } = this.#options;
    counts.add(isByCommand ? "storage set back" : "storage set back by hand");
    for (const server of this.#servers) if (server.isUp) server.kill(downMs);
    this.storage.setBack(backup, isByCommand ? { wallMs: clock.nowMs } : null);
  }

  /** `SIGTERM` of a server, and its start some time later. */
  drain(limitMs: number, downMs: number): void {
    this.#options.clock.random.pick(this.#servers).drain(limitMs, downMs);
  }

  /** `SIGSTOP` of a server, and `SIGCONT` some time later. */
  stop(ms: number): void {
    const { clock, counts } = this.#options;
    const serving = this.#servers.filter((candidate) => candidate.isServing);
    if (serving.length === 0) return;
    counts.add("server stopped and continued");
    clock.random.pick(serving).stop(ms);
  }

  /** Sets the wall clock of a server. */
  setClock(offsetMs: number): void {
    this.#options.counts.add("clock of a server set");
    this.#options.clock.random.pick(this.#servers).wallOffsetMs = offsetMs;
  }

  /** Makes the newer module known. */
  deploy(): void {
    if (this.storage.modules.has(MODULES[1])) return;
    this.storage.modules.set(MODULES[1], this.#options.clock.nowMs);
    for (const server of this.#servers) server.register(MODULES[1]);
  }

  /** An operator asks a server for samples. */
  sample(sampling: Sampling): void {
    this.#options.clock.random.pick(this.#servers).sample(sampling);
  }

  /** Asks the servers to collect old done intents. */
  collect(): void {
    for (const server of this.#servers) server.collect();
  }

  /** Cuts a link for a while, in one direction or both. */
  cut(location: number, ms: number): void {
    const { clock, counts } = this.#options;
    const server = clock.random.below(this.#servers.length);
    const directions = clock.random.pick([["to"], ["from"], ["to", "from"]] as const);
    counts.add(directions.length === 1 ? "partition in one direction" : "partition");
    for (const direction of directions) {
      const link = `${direction} ${server} ${location}`;
      const untilMs = clock.nowMs + ms;
      this.#cutUntilMs.set(link, Math.max(untilMs, this.#cutUntilMs.get(link) ?? 0));
    }
  }

  /** Whether nothing comes from the location to the server at present, or from the server to the location. */
  isCut(direction: "to" | "from", server: number, location: number): boolean {
    if (this.#cutUntilMs.size === 0) return false;
    return (this.#cutUntilMs.get(`${direction} ${server} ${location}`) ?? 0) > this.#options.clock.nowMs;
  }

  /**
   * A message goes to the server that the location has named. For a model that names none, it goes to the server that it
   * likes, as long as that one listens. That server may be stopped or should perhaps not serve any more. Now and then the
   * model tries another one.
   */
  receive(from: number, message: ToPrimary): void {
    const { random } = this.#options.clock;
    if (message.server !== undefined) return this.#receiveAt(this.#servers[message.server]!, from, message);
    const listening = this.#servers.filter((server) => server.isServing);
    if (listening.length === 0) return;
    const liked = listening[from % listening.length]!;
    const server = listening.length > 1 && random.chance(0.2) ? random.pick(listening) : liked;
    if (!this.isCut("to", server.index, from)) server.receive(from, message);
  }

  /** A question that meets a cut link is lost: its location waits for an answer as long as it does. */
  listen(from: number, server: number, stream: Stream): void {
    if (!this.isCut("to", server, from)) this.#servers[server]!.listen(stream);
  }

  #receiveAt(server: Server, from: number, message: ToPrimary): void {
    if (this.isCut("to", server.index, from)) return;
    if (server.isServing) return server.receive(from, message);
    const { counts, clock, send } = this.#options;
    // A machine that is gone is silent; a process that is gone is not.
    if (server.isStopped || (!server.isUp && !clock.random.chance(0.5))) return;
    const reply = server.isUp ? "not leading" : "no connection";
    counts.add(server.isUp ? "server asked that does not lead" : "server asked that is not there");
    if (this.isCut("from", server.index, from)) return;
    send({ to: from, executionId: executionIn(message), sending: message.sending, reply });
  }
}

function executionIn(message: ToPrimary): ExecutionId | null {
  switch (message.kind) {
    case "lvi-request":
      return message.request.executionId;
    case "followup":
      return message.followup.executionId;
    case "heard":
      return null;
  }
}
