/** A command that goes on until it is told to stop: Ctrl-C, or SIGTERM, ends it cleanly; a second one at once. */

export interface UntilSignal {
  readonly signal: AbortSignal;
  readonly stopListening: () => void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function untilSignal(): UntilSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  for (const name of SIGNALS) process.once(name, abort);
  return {
    signal: controller.signal,
    stopListening: () => {
      for (const name of SIGNALS) process.removeListener(name, abort);
    },
  };
}
