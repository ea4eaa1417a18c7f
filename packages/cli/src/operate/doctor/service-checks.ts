/** The services that the primary calls: where their Worker is, and whether calls succeed. */
import { type ServicesStatus, terminalText } from "@radical/protocol";
import { counted } from "@radical/app";
import type { Finding, Problem } from "./finding.ts";

/** Tasks of services that wait. Empty: the application has no services, or the server does not say. */
export function serviceFindings(status: ServicesStatus | null): readonly Finding[] {
  if (status === null || !status.areNeeded) return [];
  const problems: Problem[] = status.services
    .filter(({ breaker }) => breaker !== "closed")
    .map(({ name, failures, error }) => ({
      message: `The primary can't call the service "${name}": ${counted(failures, "call")} in a row failed, the last one with ${terminalText(error?.code ?? "")}: ${terminalText(error?.message ?? "")}. Its tasks wait.`,
      hint: "See that the Worker is there, and that the service works. The next call is made within a minute.",
    }));
  if (status.worker === null)
    problems.push({
      message: "The primary does not know where the application's Worker is, so tasks of services wait.",
      hint: "Run `radical deploy`, or start the LVI server with --worker-url.",
    });
  return [{ check: "services", problems }];
}
