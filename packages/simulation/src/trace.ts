/**
 * The course of a history: a fingerprint that is equal for equal courses, and its text when somebody wants to read it. Text
 * is made only then, since it would cost more than the history itself.
 */
export class Trace {
  #fingerprint = 0x811c9dc5;
  #beginMs = 0;
  #nowMs = 0;
  /** Null: nobody reads it. */
  readonly lines: string[] | null;

  constructor(isRead: boolean) {
    this.lines = isRead ? [] : null;
  }

  get fingerprint(): string {
    return (this.#fingerprint >>> 0).toString(16);
  }

  begin(nowMs: number): void {
    this.#beginMs = this.#nowMs = nowMs;
  }

  /** Time goes on. */
  at(nowMs: number): void {
    this.#nowMs = nowMs;
    this.mix(nowMs);
  }

  mix(value: number): void {
    this.#fingerprint = Math.imul(this.#fingerprint ^ value, 0x01000193) ^ (this.#fingerprint >>> 15);
  }

  mixText(text: string): void {
    for (let i = 0; i < text.length; i++) this.mix(text.charCodeAt(i));
  }

  mixBytes(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) this.mix(bytes[i]!);
  }

  /** To be called only if there are `lines`. */
  write(text: string): void {
    this.lines!.push(`${this.#nowMs - this.#beginMs} ${text}`);
  }
}
