import fc from "fast-check";
import { expect, test } from "vitest";
import { pauseMs, type RewritingPorts, type RewritingProgress, rewriteItems, type StoredKey } from "./rewrite-items.ts";

interface Stored {
  readonly key: string;
  readonly bytes: number;
  readonly state: "former" | "present" | "misfit";
}

/** A table whose executions are atomic. `executions`: the keys of each that has ended without a trap. */
class Table implements RewritingPorts {
  readonly #items: Map<string, Stored>;
  readonly executions: (readonly string[])[] = [];
  readonly misfits: string[] = [];
  readonly told: RewritingProgress[] = [];
  /** Called after each page. */
  onProgress: () => void = () => undefined;

  constructor(items: readonly Stored[]) {
    this.#items = new Map(items.map((item) => [item.key, item]));
  }

  keys(from: string, most: number): Promise<readonly StoredKey[]> {
    const inOrder = [...this.#items.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
    return Promise.resolve(inOrder.filter(({ key }) => key >= from).slice(0, most));
  }

  rewrite(keys: readonly string[]): Promise<number | string> {
    const items = keys.flatMap((key) => this.#items.get(key) ?? []);
    const wrong = items.find(({ state }) => state === "misfit");
    if (wrong !== undefined) return Promise.resolve(`posts/${wrong.key}: expected text, found an integer`);
    this.executions.push(keys);
    const former = items.filter(({ state }) => state === "former");
    for (const item of former) this.#items.set(item.key, { ...item, state: "present" });
    return Promise.resolve(former.length);
  }

  misfit(key: string, words: string): void {
    if (words !== `posts/${key}: expected text, found an integer`) throw new Error(`${key}: ${words}`);
    this.misfits.push(key);
  }

  progress(progress: RewritingProgress): Promise<void> {
    this.told.push(progress);
    this.onProgress();
    return Promise.resolve();
  }

  count(state: Stored["state"]): number {
    return [...this.#items.values()].filter((item) => item.state === state).length;
  }

  remove(key: string): void {
    this.#items.delete(key);
  }
}

const never = new AbortController().signal;

const states = fc.array(fc.constantFrom("former", "former", "present", "misfit"), { maxLength: 400 });

function tableOf(of: readonly Stored["state"][], bytes = 100): Table {
  return new Table(of.map((state, index) => ({ key: String(index).padStart(4, "0"), bytes, state })));
}

test("each item that fits is rewritten once, each that does not is told once and stays", () =>
  fc.assert(
    fc.asyncProperty(states, fc.constantFrom(100, 30_000, 2_000_000), async (of, bytes) => {
      const table = tableOf(of, bytes);
      const [former, misfits] = [table.count("former"), table.count("misfit")];
      const done = await rewriteItems(table, "", never);
      const last = of.length === 0 ? null : String(of.length - 1).padStart(4, "0");
      expect(done).toEqual({ read: of.length, rewritten: former, misfits, last, isDone: true });
      expect(table.count("former")).toBe(0);
      expect(table.count("misfit")).toBe(misfits);
      expect(table.misfits).toEqual([...new Set(table.misfits)].toSorted());
      expect(table.misfits).toHaveLength(misfits);
      const keys = table.executions.flat();
      expect(keys).toEqual([...new Set(keys)].toSorted());
      for (const batch of table.executions) {
        expect(batch.length).toBeLessThanOrEqual(90);
        expect(batch.length === 1 || batch.length * bytes <= 1024 * 1024).toBe(true);
      }
      expect(await rewriteItems(table, "", never)).toMatchObject({ read: of.length, rewritten: 0, misfits });
    }),
    { numRuns: 60 },
  ));

test("one that is stopped behind any page goes on with its last key, which it reads again", () =>
  fc.assert(
    fc.asyncProperty(states, fc.nat(4), async (of, pages) => {
      const table = tableOf(of);
      const former = table.count("former");
      const controller = new AbortController();
      table.onProgress = () => {
        if (table.told.length > pages) controller.abort();
      };
      const stopped = await rewriteItems(table, "", controller.signal);
      const rest = await rewriteItems(table, stopped.last ?? "", never);
      expect(rest.isDone).toBe(true);
      expect(stopped.rewritten + rest.rewritten).toBe(former);
      expect(stopped.read + rest.read).toBe(of.length + (of.length === 0 ? 0 : 1));
    }),
    { numRuns: 60 },
  ));

test("one that is stopped before it begins reads nothing", async () => {
  const table = tableOf(["former"]);
  expect(await rewriteItems(table, "", AbortSignal.abort())).toEqual({
    read: 0,
    rewritten: 0,
    misfits: 0,
    last: null,
    isDone: false,
  });
});

test("an item that goes away meanwhile is left out", async () => {
  const table = tableOf(Array.from({ length: 100 }, () => "former" as const));
  const keys = table.keys.bind(table);
  table.keys = async (from, most) => {
    const found = await keys(from, most);
    table.remove(found.at(-1)!.key);
    return found;
  };
  expect(await rewriteItems(table, "", never)).toMatchObject({ read: 100, rewritten: 98, misfits: 0, isDone: true });
});

test("a pause is as long as the items that were read ahead of the rate", () => {
  expect(pauseMs(90, 100, 0)).toBe(900);
  expect(pauseMs(90, 100, 400)).toBe(500);
  expect(pauseMs(90, 100, 2_000)).toBe(0);
});
