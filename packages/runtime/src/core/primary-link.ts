/** The knowledge of an isolate about a primary: which of its servers leads, how far it has come, and what it has leased. */
import type { CommitId } from "@radical/protocol";
import { Leader } from "./leader.ts";
import { ReadLeases } from "./read-leases.ts";
import { type KnownRows, NO_ROWS } from "./span-look.ts";

export class PrimaryLink {
  readonly leader: Leader;
  readonly leases: ReadLeases;
  #seen: CommitId | null = null;

  /** @param known the rows that the isolate's memory has of spans */
  constructor(servers = 1, known: KnownRows = NO_ROWS) {
    this.leader = new Leader(servers);
    this.leases = new ReadLeases(known);
  }

  /** The latest commit id that the primary has told of last; null: it has told of none yet. */
  get seen(): CommitId | null {
    return this.#seen;
  }

  /** A reply has come that was made when this was the primary's latest commit id. */
  heard(asOf: CommitId | null): void {
    this.#seen = asOf ?? this.#seen;
  }
}
