/**
 * Does `again` over and over, one after the other, until `body` ends or has called `stop`; gives what `body` does. A failure of one of
 * them is told at once, and nothing goes on behind it.
 */
export async function meanwhile<Result>(
  again: () => Promise<void>,
  body: (stop: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const repeating = (async () => {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    while (!ending.signal.aborted) await again();
  })();
  const stop = async (): Promise<void> => {
    ending.abort();
    await repeating;
  };
  const failure = new Promise<never>((_, reject) => void repeating.catch(reject));
  try {
    return await Promise.race([body(stop), failure]);
  } finally {
    await stop();
  }
}
