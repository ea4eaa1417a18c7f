/**
 * What `wrangler tail` listens to, on loopback: a WebSocket of the protocol `trace-v1` for each tail, on which an event of the Worker
 * is a message of JSON. As much of RFC 6455 as that takes: short frames from wrangler, of which pings are answered.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

const PROTOCOL = "trace-v1";
/** Of the handshake. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [TEXT, CLOSE, PING, PONG] = [0x1, 0x8, 0x9, 0xa];

export interface FakeTails {
  /** What the API answers. */
  open(worker: string): { readonly id: string; readonly url: string; readonly expires_at: string };
  end(id: string): void;
  tell(worker: string, event: object): void;
  stop(): Promise<void>;
}

interface Tail {
  readonly worker: string;
  socket: Duplex | null;
  /** Events of the time before anybody was connected. */
  readonly waiting: string[];
}

export async function startFakeTails(): Promise<FakeTails> {
  const tails = new Map<string, Tail>();
  const server = createServer();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    const tail = tails.get((request.url ?? "").slice(1));
    if (tail === undefined || request.headers["sec-websocket-protocol"] !== PROTOCOL)
      return void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    const accepted = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${GUID}`).digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\nSec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n`,
    );
    tail.socket = socket;
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    let received = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (let next = frameOf(received); next !== null; next = frameOf(received)) {
        received = received.subarray(next.length);
        if (next.kind === PING) socket.write(frame(PONG, next.payload));
        if (next.kind === CLOSE) socket.end(frame(CLOSE, next.payload));
      }
    });
    for (const event of tail.waiting.splice(0)) socket.write(frame(TEXT, Buffer.from(event)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    open: (worker) => {
      const id = randomUUID();
      tails.set(id, { worker, socket: null, waiting: [] });
      return { id, url: `ws://127.0.0.1:${port}/${id}`, expires_at: "2100-01-01T00:00:00Z" };
    },
    end: (id) => {
      tails.get(id)?.socket?.destroy();
      tails.delete(id);
    },
    tell: (worker, event) => {
      const text = JSON.stringify(event);
      for (const tail of tails.values()) {
        if (tail.worker !== worker) continue;
        if (tail.socket === null) tail.waiting.push(text);
        else tail.socket.write(frame(TEXT, Buffer.from(text)));
      }
    },
    stop: () =>
      new Promise((resolve) => {
        for (const { socket } of tails.values()) socket?.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Unmasked, as a server's are. */
function frame(kind: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | kind;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** The first one that is whole, masked or not. `length`: with its head. */
function frameOf(bytes: Buffer): { readonly kind: number; readonly payload: Buffer; readonly length: number } | null {
  if (bytes.length < 2) return null;
  const [size, isMasked] = [bytes[1]! & 0x7f, (bytes[1]! & 0x80) !== 0];
  if (size > 125) throw new Error("a longer frame than wrangler sends");
  const start = isMasked ? 6 : 2;
  if (bytes.length < start + size) return null;
  const payload = Buffer.from(bytes.subarray(start, start + size));
  if (isMasked) for (let at = 0; at < size; at++) payload[at] = payload[at]! ^ bytes[2 + (at % 4)]!;
  return { kind: bytes[0]! & 0x0f, payload, length: start + size };
}
