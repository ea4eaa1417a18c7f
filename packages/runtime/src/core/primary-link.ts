/** The knowledge of an isolate about a primary: which of its servers leads, how far it has come, and what it has leased. */
import type { CommitId } from "@radical/protocol";
import { Leader } from "./leader.ts";
import { ReadLeases } from "./read-leases.ts";

export class PrimaryLink {
  readonly leader: Leader;
  readonly leases: ReadLeases = new ReadLeases();
  #seen: CommitId | null = null;

  constructor(servers = 1) {
    this.leader = new Leader(servers);
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
