/**
 * Where the machines get the server from. It lies beside the stack, and is there before: the bucket of machines of EC2
 * (`bucket-store.ts`), or the images of machines on Fargate (`image-store.ts`).
 */
import type { PlannedChange, PrimaryAccess, PrimaryStep } from "./primary-deployment.ts";

export interface StoreStep {
  readonly step: PrimaryStep;
  readonly words: string;
  /** Whether it had to change something. */
  readonly run: (note: (words: string) => void) => Promise<boolean>;
}

export interface ServerStore {
  /** SHA-256 by which the server of this version of Radical is known. */
  server(): Promise<string>;
  /**
   * Changes for things that are missing for machines that run this server. `template`: the one that is deployed, perhaps by another
   * version; null: that of this version is to be. Changes nothing.
   */
  changes(access: PrimaryAccess, server: string, template: string | null): Promise<readonly PlannedChange[]>;
  /** They make it so, if the server is that of this version. */
  steps(access: PrimaryAccess): Promise<readonly StoreStep[]>;
  /** Once no machine is launched with another server. Rejects with a CommandError that names things that stay. */
  dropOthers(access: PrimaryAccess): Promise<void>;
  /** Names the things that `remove` would remove. Changes nothing. */
  removals(access: PrimaryAccess): Promise<readonly PlannedChange[]>;
  remove(access: PrimaryAccess): Promise<void>;
  /** Ends its connections. */
  close(): void;
}
