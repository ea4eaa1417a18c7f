/** An answer that goes on, line by line, until either side ends it. Who does not read loses lines, not the server its memory. */
import type { ServerResponse } from "node:http";
import { LINES_TYPE } from "@radical/protocol";
import type { UnreadBytes } from "./unread-bytes.ts";

const DEFAULT_MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Shared by all answers of a server that go on. */
export interface Streaming {
  /** How often an empty line tells both sides that the connection is alive, and those between them. */
  readonly heartbeatMs: number;
  /** The bound that they share. Left out: none. */
  readonly unread?: UnreadBytes;
}

export interface LineStreamOptions extends Streaming {
  /** Most bytes that wait for a reader. */
  readonly maxWaitingBytes?: number;
  readonly onClose: () => void;
}

export class LineStream {
  readonly #response: ServerResponse;
  readonly #maxWaitingBytes: number;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #unread: UnreadBytes | null;
  /** Its part of the shared bound, as of the last look. */
  #counted = 0;

  constructor(response: ServerResponse, options: LineStreamOptions) {
    const { heartbeatMs, maxWaitingBytes = DEFAULT_MAX_WAITING_BYTES, unread = null, onClose } = options;
    this.#response = response;
    this.#unread = unread;
    this.#maxWaitingBytes = maxWaitingBytes;
    response.writeHead(200, { "content-type": LINES_TYPE, "cache-control": "no-store" });
    response.flushHeaders();
    this.#heartbeat = setInterval(() => this.write("\n"), heartbeatMs);
    const close = (): void => {
      clearInterval(this.#heartbeat);
      this.#count(0);
      onClose();
    };
    // Who has gone while the question was read does not go again.
    if (response.closed) queueMicrotask(close);
    else response.once("close", close);
    response.on("drain", () => this.#count(response.writableLength));
    // Whoever it was sent to is gone: `close` comes next.
    response.on("error", () => undefined);
  }

  /** False: too much waits already. `line` ends in a line feed. `bytes`: its length in UTF-8. */
  write(line: string, bytes = Buffer.byteLength(line)): boolean {
    const waiting = this.#response.writableLength;
    if (this.#response.writableEnded || waiting > this.#maxWaitingBytes) return false;
    // Node tells of no end of a short wait.
    this.#count(waiting);
    if (this.#unread?.hasRoom(waiting, bytes) === false) return false;
    this.#response.write(line);
    this.#count(this.#response.writableLength);
    return true;
  }

  #count(waitingBytes: number): void {
    if (this.#unread === null) return;
    // After the end nothing waits: Node frees it.
    const counted = this.#response.closed ? 0 : waitingBytes;
    this.#unread.changed(counted - this.#counted);
    this.#counted = counted;
  }

  end(lastLine = ""): void {
    if (!this.#response.writableEnded) this.#response.end(lastLine);
  }
}
