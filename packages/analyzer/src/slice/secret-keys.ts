/** Secrets in keys: keys stand in requests, locks, logs and caches as they are. */
import { secretsAmong } from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type { AccessPattern, Derived } from "../front.ts";
import type { HandlerSchema } from "../schema/schema.ts";
import type { KnownByHandler } from "./directed-accesses.ts";

/** One for each access whose key has a secret itself, not something that is computed of it. */
export function secretKeys(
  handlers: readonly HandlerSchema[],
  derived: ReadonlyMap<string, Derived>,
  known: KnownByHandler,
): readonly Diagnostic[] {
  return handlers.flatMap(({ name, parameters }) => {
    const secrets = secretsAmong(parameters);
    if (secrets.length === 0) return [];
    const { reads, writes } = derived.get(name) ?? known.get(name) ?? NOTHING;
    return [...reads, ...writes].flatMap(({ pattern, table, span }) => {
      const secret = secrets.find((one) => pattern.includes(`{${one}}`));
      return secret === undefined ? [] : [keyed(name, secret, table, span)];
    });
  });
}

const NOTHING: Record<"reads" | "writes", readonly AccessPattern[]> = { reads: [], writes: [] };

function keyed(handler: string, secret: string, table: string, primary: AccessPattern["span"]): Diagnostic {
  return diagnostic("misplaced_secret", {
    message: `The Secret ${secret} of handler ${handler} is in a key of ${table}, and keys can be seen in requests, logs and caches.`,
    primary,
    help: `Use its hash: \`sha256(${secret})\`.`,
  });
}
