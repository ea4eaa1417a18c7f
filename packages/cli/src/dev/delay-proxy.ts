/**
 * A TCP proxy that makes a primary on this machine as far away as a real one: each direction is held back by half
 * of the round trip.
 *
 * How exact it is: a request over an open connection takes the round trip and 0.5 to 2 ms more (timers have 1 ms
 * steps, and 32 requests in flight add about 2 ms at a round trip of 7 ms). A fresh connection costs one round trip
 * here; in a real network the handshakes and slow start of TCP and TLS add two or more. Bandwidth is not limited and
 * nothing is lost. Callers keep connections open, so the first figure is the one that counts.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface DelayProxy {
  readonly address: Address;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

export interface DelayProxyOptions {
  /** Asked for each connection, so that the target may move. */
  readonly target: () => Address;
  readonly roundTripMs: number;
  readonly host?: string;
}

/** Bytes under way in one direction from which the sender is held back. */
const WINDOW_BYTES = 8 * 1024 * 1024;

export async function startDelayProxy(options: DelayProxyOptions): Promise<DelayProxy> {
  const oneWayMs = options.roundTripMs / 2;
  const sockets = new Set<Socket>();

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const { host, port } = options.target();
    const far = connect({ host, port, allowHalfOpen: true, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
    carry(near, far, oneWayMs);
    carry(far, near, oneWayMs);
  });

  const host = options.host ?? "127.0.0.1";
  const port = await listen(server, host);
  return {
    address: { host, port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

type Event = { readonly kind: "data"; readonly bytes: Buffer } | { readonly kind: "end" } | { readonly kind: "broken" };

/** Repeats at `to` what happens at `from`, each event `delayMs` later and in order. */
function carry(from: Socket, to: Socket, delayMs: number): void {
  const underWay: { readonly event: Event; readonly dueMs: number }[] = [];
  let bytesUnderWay = 0;
  let timer: NodeJS.Timeout | undefined;

  const deliverDue = (): void => {
    timer = undefined;
    // Rounded to the nearest millisecond, the step of timers.
    const now = performance.now() + 0.5;
    for (let next = underWay[0]; next !== undefined && next.dueMs <= now; next = underWay[0]) {
      underWay.shift();
      deliver(next.event);
    }
    schedule();
  };
  const schedule = (): void => {
    const next = underWay[0];
    if (next !== undefined && timer === undefined)
      timer = setTimeout(deliverDue, Math.max(0, next.dueMs - performance.now()));
  };
  const deliver = (event: Event): void => {
    switch (event.kind) {
      case "data":
        bytesUnderWay -= event.bytes.length;
        if (to.writable) to.write(event.bytes);
        if (bytesUnderWay < WINDOW_BYTES && from.isPaused()) from.resume();
        break;
      case "end":
        if (to.writable) to.end();
        break;
      case "broken":
        to.destroy();
    }
  };
  const send = (event: Event): void => {
    underWay.push({ event, dueMs: performance.now() + delayMs });
    schedule();
  };

  from.on("data", (bytes: Buffer) => {
    bytesUnderWay += bytes.length;
    if (bytesUnderWay >= WINDOW_BYTES) from.pause();
    send({ kind: "data", bytes });
  });
  from.on("end", () => send({ kind: "end" }));
  from.on("error", () => send({ kind: "broken" }));
  from.on("close", () => send({ kind: "broken" }));
  to.on("close", () => {
    clearTimeout(timer);
    underWay.length = 0;
  });
}

async function listen(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy listens on no port");
  return address.port;
}
