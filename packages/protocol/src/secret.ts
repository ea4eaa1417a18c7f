/**
 * Secrets: parameters of the SDK's type `Secret`. Their values reach the handler, and nobody is shown them: samples, records,
 * lists and pages have {@link SHOWN_SECRET} in their place (`redaction.ts`).
 */
import type { Parameter } from "./value-type.ts";

/** The names of the parameters that are secrets, by the handler or service that has them. */
export type SecretNames = Readonly<Record<string, readonly string[]>>;

/** Stands where a secret would. */
export const SHOWN_SECRET = "‹secret›";

/** The names of the parameters that are secrets, in the order that they have in a module. */
export function secretsAmong(parameters: readonly Parameter[]): readonly string[] {
  const secrets = parameters.filter(({ secret }) => secret === true);
  return secrets.map(({ name }) => name).toSorted();
}
