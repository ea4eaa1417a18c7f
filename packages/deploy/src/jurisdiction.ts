/** Whether a deployment keeps to the jurisdiction that its configuration names, as far as that is seen before anything is made. */
import type { Jurisdiction } from "@radical/protocol";
import { isRegionIn, regionWords } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";

interface Plan {
  readonly jurisdiction: Jurisdiction;
  /** Of the primary at AWS; null: the primary is the developer's own. */
  readonly region: string | null;
  readonly hasBlobs: boolean;
}

/** The words of the plan. Throws a CommandError for what would leave the jurisdiction. */
export function jurisdictionWords({ jurisdiction, region, hasBlobs }: Plan): string {
  if (hasBlobs)
    throw outside(
      `The application has Blobs, whose bytes would lie in a bucket outside of the jurisdiction "${jurisdiction}".`,
      "Leave out jurisdiction in radical.config.ts, or the Blobs. docs/personal-data.md says what a jurisdiction covers.",
    );
  if (region !== null && !isRegionIn(jurisdiction, region))
    throw outside(
      `The primary would be in ${region}, which is not in the jurisdiction "${jurisdiction}".`,
      `Name ${regionWords(jurisdiction)}: --region, or deploy.region in radical.config.ts.`,
    );
  const primary =
    region === null ? "your primary is where you host it: see that it lies there too" : `the primary is in ${region}`;
  return `jurisdiction ${jurisdiction}: caches of locations are stored there, and ${primary}`;
}

function outside(message: string, hint: string): CommandError {
  return new CommandError("outside_jurisdiction", message, hint, { exitCode: EXIT_USAGE });
}
