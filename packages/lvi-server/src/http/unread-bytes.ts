/**
 * The unread bytes of all who listen, together. Each stream has a bound of its own, and many slow readers would fill the
 * memory within theirs. Readers that are behind may fill the half. The other half is for those that keep up.
 */
export class UnreadBytes {
  readonly #most: number;
  #all = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get all(): number {
    return this.#all;
  }

  /** More waits in one stream, or less. */
  changed(by: number): void {
    this.#all += by;
  }

  /** Whether a line may be written to a reader for whom so many bytes wait. */
  hasRoom(waitingBytes: number, lineBytes: number): boolean {
    const most = waitingBytes > 0 ? this.#most / 2 : this.#most;
    return this.#all + lineBytes <= most;
  }
}
