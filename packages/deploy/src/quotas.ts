/** What accounts have left. Whatever a plan would exceed ends the command before anything is changed; who may not ask goes on. */
import { CommandError } from "@radical/app/command-error";

/** What of a quota a plan would use up. */
export interface QuotaUse {
  /** In the developer's words: "networks (VPCs) in eu-central-1". */
  readonly what: string;
  readonly used: number;
  /** By the plan. */
  readonly adds: number;
  readonly limit: number;
  /** How there comes to be room. */
  readonly fix: string;
}

export interface QuotaLook {
  readonly uses: readonly QuotaUse[];
  /** What could not be asked for, with the reason. */
  readonly unasked: readonly string[];
}

export const NO_QUOTAS: QuotaLook = { uses: [], unasked: [] };

/** Throws a CommandError that names each quota which the plan would exceed. */
export function refuseExceeded(uses: readonly QuotaUse[]): void {
  const exceeded = uses.filter(({ used, adds, limit }) => used + adds > limit);
  if (exceeded.length === 0) return;
  const lines = exceeded.map(
    ({ what, used, adds, limit }) => `  ${what}: ${used} of ${limit} in use, and this deployment needs ${adds} more`,
  );
  const fixes = [...new Set(exceeded.map(({ fix }) => fix))].join("; ");
  throw new CommandError(
    "quota_exceeded",
    `The plan exceeds the quotas of the account, so nothing was changed:\n${lines.join("\n")}`,
    `${fixes.charAt(0).toUpperCase()}${fixes.slice(1)}. Then run the same command again.`,
  );
}

/** Null: all was answered. */
export function unaskedNote({ unasked }: Pick<QuotaLook, "unasked">): string | null {
  return unasked.length === 0 ? null : `quotas that were not told, so not checked: ${unasked.join("; ")}`;
}
