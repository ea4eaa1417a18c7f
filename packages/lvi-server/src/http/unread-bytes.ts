/**
 * What all who listen have not read, together: each stream has a bound of its own, and many slow readers would fill the memory
 * within theirs. Readers that are behind may fill the half. The other half is for those that keep up.
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

  /** What waits in one stream has become more, or less. */
  changed(by: number): void {
    this.#all += by;
  }

  /** Whether a line may be written to a reader for whom so many bytes wait. */
  hasRoom(waitingBytes: number, lineBytes: number): boolean {
    const most = waitingBytes > 0 ? this.#most / 2 : this.#most;
    return this.#all + lineBytes <= most;
  }
}
