/** First come first served within one location, and the locations in turns: none waits for the whole line of another. */
export class FairQueue<T> {
  /** Who is next stands first. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(location: string, what: T): void {
    const line = this.#lines.get(location);
    if (line === undefined) this.#lines.set(location, [what]);
    else line.push(what);
    this.#size++;
  }

  /** `hasEnough`: whether a location is to wait for others, if there are any. */
  shift(hasEnough: (location: string) => boolean = () => false): T | undefined {
    const [first] = this.#lines;
    if (first === undefined) return undefined;
    const [location, line] = [...this.#lines].find(([name]) => !hasEnough(name)) ?? first;
    const next = line.shift();
    this.#lines.delete(location);
    if (line.length > 0) this.#lines.set(location, line);
    this.#size--;
    return next;
  }
}
