/**
 * Which server of the primary leads, as far as a location knows. Of several that share a storage at most one leads at a
 * time, and locations find it by asking: whoever is asked does something only if it leads, so that a wrong belief costs a
 * round trip and nothing else.
 */

/** A server's place in the list of those that the location is set up with. */
export type ServerIndex = number;

/** What is believed; shared by the executions of an isolate. */
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

  /** Whom to ask when those have been asked in vain: the one that is believed to lead, then those after it; null: none is left. */
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

  /** It has said that it does not lead, or nothing at all. What others have found out meanwhile stands. */
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

  /** Whom to ask; the first one of another round if all were. */
  next(): ServerIndex {
    const left = this.#leader.next(this.#asked);
    if (left === null) this.#asked.clear();
    if (this.#asked.size === 0) this.#rounds++;
    const server = left ?? this.#leader.believed;
    this.#last = server;
    this.#asked.add(server);
    return server;
  }

  /** Who was asked last has answered as the leader: what is asked next begins a round. */
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
