/** The primary, as the edge half of a deployment sees it. */
import type { DeploymentKey, AdminAddress, PrimaryAddress } from "@radical/admin";
import type { PrimaryWay } from "./edge/wrangler-config.ts";
import type { Step } from "./steps.ts";

export interface PrimaryHalf {
  /** What makes and changes it. Empty: it is the developer's own. */
  readonly steps: readonly Step[];
  /** Tells it apart from any other primary, for as long as it is the same one. */
  readonly description: string;
  /** How the Worker reaches it, as far as it is known yet. */
  way(): PrimaryWay;
  /** What locations sign with; null: it is made in this deployment. Throws a CommandError if it has to be given, and is not. */
  key(): DeploymentKey | null;
  /** Where it is administered; null: it is made in this deployment. */
  admin(): AdminAddress | null;
  /** Its servers one by one, whether they lead or not; empty: it is made in this deployment. */
  servers(): readonly PrimaryAddress[];
}
