/** Events in order, and promises of events: tests wait for what happens, never for time. */
export class EventLog<Event> {
  readonly #events: Event[] = [];
  readonly #waiting = new Set<() => void>();

  get all(): readonly Event[] {
    return this.#events;
  }

  push(event: Event): void {
    this.#events.push(event);
    for (const look of this.#waiting) look();
  }

  clear(): void {
    this.#events.length = 0;
  }

  /** Resolves with the first event that the test accepts, now or later. */
  happened<Accepted extends Event>(accepts: (event: Event) => event is Accepted): Promise<Accepted> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = this.#events.find((event) => accepts(event));
        if (found === undefined) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }
}
