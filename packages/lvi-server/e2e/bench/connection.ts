/**
 * A client of a server on loopback that costs as little as possible, since it shares the machine with what it measures:
 * requests are bytes that were made before, one at a time on each connection, and what is received stays in one buffer.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { KEY_HEADER, SIGNATURE_HEADER, signedBytes, TIME_HEADER } from "@radical/protocol";
import { KEY_ID, SECRET } from "../test-client.ts";

const HEAD_END = "\r\n\r\n";
const OK = "HTTP/1.1 200 ";
const LENGTH = "content-length: ";
/** Of one read, and of a reply, which may bring an item of the most bytes. */
const CHUNK_BYTES = 64 * 1024;
const RECEIVED_BYTES = 1024 * 1024;

/** A signed request as it goes over the wire. */
export function signedRequest(path: string, body: Uint8Array): Buffer {
  const timeMs = Date.now();
  const signature = createHmac("sha256", SECRET)
    .update(signedBytes("POST", path, timeMs, body))
    .digest("hex");
  const head =
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/cbor\r\ncontent-length: ${body.length}\r\n` +
    `${KEY_HEADER}: ${KEY_ID}\r\n${TIME_HEADER}: ${timeMs}\r\n${SIGNATURE_HEADER}: ${signature}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

export class Connection {
  readonly #socket: Socket;
  readonly #received: Buffer;
  #length = 0;
  #take: (body: Buffer) => void = () => {};
  #fail: (error: Error) => void = () => {};

  private constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#received = Buffer.alloc(RECEIVED_BYTES);
    const chunk = Buffer.alloc(CHUNK_BYTES);
    this.#socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: {
        buffer: chunk,
        callback: (count) => {
          this.#length += chunk.copy(this.#received, this.#length, 0, count);
          this.#look();
          return true;
        },
      },
    });
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the server closed the connection")));
  }

  static async open(url: string): Promise<Connection> {
    const connection = new Connection(url);
    await once(connection.#socket, "connect");
    return connection;
  }

  /** Resolves with the body of a 200; rejects for anything else. */
  async send(request: Uint8Array): Promise<Buffer> {
    let answer = Buffer.alloc(0);
    let next: Uint8Array | null = request;
    await this.sendAll(
      () => {
        const current = next;
        next = null;
        return current;
      },
      (body) => (answer = Buffer.from(body)),
    );
    return answer;
  }

  /** One after another, as long as there are any. What `take` gets is overwritten afterwards. */
  sendAll(next: () => Uint8Array | null, take: (body: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      const sendNext = (): void => {
        const request = next();
        if (request === null) resolve();
        else this.#socket.write(request);
      };
      this.#take = (body) => {
        take(body);
        sendNext();
      };
      sendNext();
    });
  }

  close(): void {
    this.#fail = () => {};
    this.#socket.destroy();
  }

  #look(): void {
    const received = this.#received.subarray(0, this.#length);
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const lengthAt = received.indexOf(LENGTH) + LENGTH.length;
    const bodyAt = headEnd + HEAD_END.length;
    const end = bodyAt + Number.parseInt(received.toString("latin1", lengthAt, received.indexOf("\r", lengthAt)), 10);
    if (!(this.#length >= end)) return;
    // The next one is sent only then.
    this.#length = 0;
    const body = received.subarray(bodyAt, end);
    if (received.toString("latin1", 0, OK.length) === OK) this.#take(body);
    else this.#fail(new Error(`${received.toString("latin1", 0, received.indexOf("\r"))}: ${body.toString()}`));
  }
}
