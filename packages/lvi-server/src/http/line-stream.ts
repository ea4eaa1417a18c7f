/** An answer that goes on, line by line, until either side ends it. Who does not read loses lines, not the server its memory. */
import type { ServerResponse } from "node:http";
import { LINES_TYPE } from "@radical/protocol";

const DEFAULT_MAX_WAITING_BYTES = 8 * 1024 * 1024;

export interface LineStreamOptions {
  /** How often an empty line tells both sides that the connection is alive, and those between them. */
  readonly heartbeatMs: number;
  /** Most bytes that wait for a reader. */
  readonly maxWaitingBytes?: number;
  readonly onClose: () => void;
}

export class LineStream {
  readonly #response: ServerResponse;
  readonly #maxWaitingBytes: number;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(response: ServerResponse, options: LineStreamOptions) {
    const { heartbeatMs, maxWaitingBytes = DEFAULT_MAX_WAITING_BYTES, onClose } = options;
    this.#response = response;
    this.#maxWaitingBytes = maxWaitingBytes;
    response.writeHead(200, { "content-type": LINES_TYPE, "cache-control": "no-store" });
    response.flushHeaders();
    this.#heartbeat = setInterval(() => this.write("\n"), heartbeatMs);
    const close = (): void => {
      clearInterval(this.#heartbeat);
      onClose();
    };
    // Who has gone while the question was read does not go again.
    if (response.closed) queueMicrotask(close);
    else response.once("close", close);
    // Whoever it was sent to is gone: `close` comes next.
    response.on("error", () => undefined);
  }

  /** False: too much waits already. `line` ends in a line feed. */
  write(line: string): boolean {
    if (this.#response.writableEnded || this.#response.writableLength > this.#maxWaitingBytes) return false;
    this.#response.write(line);
    return true;
  }

  end(lastLine = ""): void {
    if (!this.#response.writableEnded) this.#response.end(lastLine);
  }
}
