/** An answer that goes on, line by line, until either side ends it. Who does not read loses lines, not the server its memory. */
import type { ServerResponse } from "node:http";
import { LINES_TYPE } from "@radical/protocol";

/** Most bytes that wait for a reader. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

export class LineStream {
  readonly #response: ServerResponse;
  readonly #heartbeat: NodeJS.Timeout;

  /** An empty line now and then tells both sides that the connection is alive, and those between them. */
  constructor(response: ServerResponse, heartbeatMs: number, onClose: () => void) {
    this.#response = response;
    response.writeHead(200, { "content-type": LINES_TYPE, "cache-control": "no-store" });
    response.flushHeaders();
    this.#heartbeat = setInterval(() => this.write("\n"), heartbeatMs);
    response.once("close", () => {
      clearInterval(this.#heartbeat);
      onClose();
    });
    // Whoever it was sent to is gone: `close` comes next.
    response.on("error", () => undefined);
  }

  /** False: too much waits already. `line` ends in a line feed. */
  write(line: string): boolean {
    if (this.#response.writableEnded || this.#response.writableLength > MAX_WAITING_BYTES) return false;
    this.#response.write(line);
    return true;
  }

  end(lastLine = ""): void {
    if (!this.#response.writableEnded) this.#response.end(lastLine);
  }
}
