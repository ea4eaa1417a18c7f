/**
 * The leader among the servers of the primary, as far as a location knows. Of several servers that share a storage at most
 * one leads at a time. Locations find it by asking. A server acts only if it leads, so a wrong belief costs a round trip
 * and nothing else.
 */

/** A server's place in the list of those that the location is set up with. */
export type ServerIndex = number;

/** The belief; the executions of an isolate share it. */
export class Leader {
  readonly #servers: number;
  #believed: ServerIndex = 0;

  constructor(servers = 1) {
    if (servers < 1) throw new Error("a primary has a server");
    this.#servers = servers;
  }

  /** The server to ask first. */
  get believed(): ServerIndex {
    return this.#believed;
  }

  /**
   * The server to ask after those have not answered: the one that is believed to lead, then those after it; null: none is
   * left.
   */
  next(asked: ReadonlySet<ServerIndex>): ServerIndex | null {
    for (let step = 0; step < this.#servers; step++) {
      const server = (this.#believed + step) % this.#servers;
      if (!asked.has(server)) return server;
    }
    return null;
  }

  /** It has answered as the one that leads. */
  leads(server: ServerIndex): void {
    this.#believed = server;
  }

  /** It has said that it does not lead, or nothing at all. A newer belief of another execution stands. */
  leadsNot(server: ServerIndex): void {
    if (server === this.#believed) this.#believed = (server + 1) % this.#servers;
  }
}

/** The search of one execution for the leader, in rounds in which each server is asked once. */
export class LeaderSearch {
  readonly #leader: Leader;
  readonly #asked = new Set<ServerIndex>();
  #last: ServerIndex | null = null;
  #rounds = 0;

  constructor(leader: Leader) {
    this.#leader = leader;
  }

  /** How many were begun. */
  get rounds(): number {
    return this.#rounds;
  }

  /** The server to ask; the first one of another round if all were asked. */
  next(): ServerIndex {
    const left = this.#leader.next(this.#asked);
    if (left === null) this.#asked.clear();
    if (this.#asked.size === 0) this.#rounds++;
    const server = left ?? this.#leader.believed;
    this.#last = server;
    this.#asked.add(server);
    return server;
  }

  /** The server that was asked last has answered as the leader. The next question begins a round. */
  found(): void {
    if (this.#last !== null) this.#leader.leads(this.#last);
    this.#asked.clear();
  }

  /** It has not. Returns whether another one is left in this round. */
  missed(): boolean {
    if (this.#last !== null) this.#leader.leadsNot(this.#last);
    return this.#leader.next(this.#asked) !== null;
  }
}
