/** What all executions of one system have been, as far as the checks need it. */
import type { CommitId, ContentHash, Environment, UnitId, Version } from "@radical/protocol";

/** An execution and the answer that its client got. */
export interface Executed {
  readonly id: string;
  readonly handler: string;
  /** Encoded. */
  readonly args: Uint8Array;
  readonly environment: Environment;
  /** Null: nobody has the answer. */
  readonly answer: { readonly status: number; readonly body: string } | null;
  /** By one clock; infinite: nobody has the answer. */
  readonly invokedAtMs: number;
  readonly answeredAtMs: number;
}

/** An execution whose versions are known: of Radical. */
export interface Versioned extends Executed {
  /** Names its writes; null: it has none. The order of commit ids is the order of the versions of each unit. */
  readonly commit: CommitId | null;
  /** Commits that wrote what it has read; null: absent. */
  readonly reads: ReadonlyMap<UnitId, string | null>;
  /** Spans that it has read, with the digests of what it has seen there. */
  readonly scans: ReadonlyMap<UnitId, ContentHash>;
  /** Units that it has written, with the hashes of their values; null: deleted. */
  readonly writes: ReadonlyMap<UnitId, ContentHash | null>;
}

/** Versions of the items that are there before the first execution. */
export type InitialVersions = ReadonlyMap<UnitId, Version & { readonly hash: ContentHash }>;

/** An execution whose place in the order is known: of the systems that Radical is compared with. */
export interface Placed extends Executed {
  /** After so many writers, itself among them if it is one. */
  readonly position: number;
  readonly wrote: boolean;
}
