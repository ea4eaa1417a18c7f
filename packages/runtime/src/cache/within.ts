/** The bound on every call to a cache that is not in memory. */

/** Settles like the call, or rejects after the time. The call itself continues. */
export async function within<T>(ms: number, call: Promise<T>): Promise<T> {
  const timer = new AbortController();
  try {
    const late = scheduler.wait(ms, { signal: timer.signal }).then(() => {
      throw new Error(`the cache did not answer within ${ms} ms`);
    });
    return await Promise.race([call, late]);
  } finally {
    timer.abort();
  }
}
