/** Requests that one operation has under way at once. */
const WIDTH = 16;

/** Runs an operation on each of them, a bounded number at once; fails with the first that fails, when all have ended. */
export async function atOnce<T, R>(
  all: readonly T[],
  run: (one: T, index: number) => Promise<R>,
  width = WIDTH,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const queue = all.entries();
  const work = async (): Promise<void> => {
    for (const [index, one] of queue) {
      try {
        results[index] = await run(one, index);
      } catch (error) {
        failures.push(error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, all.length) }, work));
  if (failures.length > 0) throw failures[0];
  return results;
}
