/** The primary's half of the lives: followed from its server, and again from the next one when that has ended. */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Life, lifeIn, LIVES_PATH, type LivesQuestion } from "@radical/protocol";
import { type DeploymentKey, signedRequest } from "@radical/admin";

const PAUSE_MS = 200;
const QUESTION = Buffer.from(JSON.stringify({ every: 1 } satisfies LivesQuestion));

export interface PrimaryLives {
  readonly server: () => string;
  readonly key: DeploymentKey;
  readonly onLife: (life: Life) => void;
  readonly signal: AbortSignal;
}

/** Resolves when the signal ends it. */
export async function followPrimaryLives({ server, key, onLife, signal }: PrimaryLives): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await signedRequest(server(), key, "POST", LIVES_PATH, QUESTION, signal);
      if (response.ok && response.body !== null) {
        const lines = createInterface({ input: Readable.fromWeb(response.body) });
        for await (const line of lines) {
          const life = line === "" ? null : lifeOf(line);
          if (life !== null) onLife(life);
        }
      } else await response.body?.cancel();
    } catch {
      // It is being started, or has ended: the next one is asked.
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

function lifeOf(line: string): Life | null {
  try {
    return lifeIn(JSON.parse(line));
  } catch {
    return null;
  }
}
