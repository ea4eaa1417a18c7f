/** Lists that the primary tells page by page. */

export interface Page<Item> {
  /** Fewer than asked for, or none, says nothing of the rest. */
  readonly items: readonly Item[];
  /** Where the next page begins; null: there are no more. */
  readonly next: string | null;
  /** Of the primary, when it told the page. */
  readonly timeMs: number;
}

export type PageReader<Item> = (limit: number, after: string | null) => Promise<Page<Item>>;

interface Place {
  readonly limit: number;
  readonly after: string | null;
}

/** The first items after a place, at most so many, by pages of at most `most`. It goes on over pages on which the primary has found none. */
export async function itemsAfter<Item>(
  read: PageReader<Item>,
  most: number,
  { limit, after }: Place,
  signal: AbortSignal,
): Promise<Page<Item>> {
  const items: Item[] = [];
  let next: string | null = after;
  let timeMs: number;
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const page = await read(Math.min(limit - items.length, most), next);
    items.push(...page.items);
    ({ next, timeMs } = page);
  } while (next !== null && items.length < limit && !signal.aborted);
  return { items, next, timeMs };
}

/** All items, a page each. */
export async function* allPages<Item>(
  read: PageReader<Item>,
  most: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Item[], void> {
  let after: string | null = null;
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const page: Page<Item> = await read(most, after);
    yield page.items;
    after = page.next;
  } while (after !== null && !signal.aborted);
}
