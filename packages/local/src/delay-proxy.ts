/**
 * A TCP proxy that makes a primary on this machine as far away as a real one, over a network as bad as wanted.
 *
 * **Distance.** Each direction is held back by half of the round trip. A request over an open connection takes the round
 * trip and 0.5 to 2 ms more. Timers have 1 ms steps, and 32 requests in flight add about 2 ms at a round trip of 7 ms. A
 * fresh connection costs one round trip here; in a real network the handshakes and slow start of TCP and TLS add two or
 * more. Bandwidth is not limited. Callers keep connections open, so the first figure is the one that counts.
 *
 * **Jitter.** Each piece of data is up to half of the jitter earlier or later in each direction, evenly spread. The
 * socket hands over pieces: a message of up to 64 KB is one. Order is kept, as by TCP: a piece waits for the one ahead.
 *
 * **Loss.** TCP loses nothing, it sends again. A lost piece arrives later by the round trip and 200 ms, the least
 * retransmission timeout of Linux. Lost again, it arrives later by twice that, and so on. The pieces behind it wait for
 * it. (Linux often finds out earlier, when something follows that arrives: this is the worse case.) No connection breaks.
 *
 * **Faults**, switched while it runs:
 *
 * - `down`: nobody listens at the primary. Connections are reset, those that are made too, at once.
 * - `partitioned`: nothing passes, and nothing tells. Data that is sent meanwhile waits, and arrives half a round trip
 *   after the end of the partition, as if it were sent again then. So does data that a caller has given up in between.
 * - `dropFollowups`: the connection that a followup is sent over is reset at its first bytes, and the server sees nothing
 *   of it.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { FOLLOWUP_PATH } from "@radical/protocol";
import type { Distance } from "@radical/app";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface LinkFaults {
  readonly down: boolean;
  readonly partitioned: boolean;
  readonly dropFollowups: boolean;
}

export const NO_LINK_FAULTS: LinkFaults = { down: false, partitioned: false, dropFollowups: false };

/** Another distance than the one that the link began with. */
export type DistanceChange = Partial<Pick<Distance, "roundTripMs" | "lossPercent">>;

export interface DelayProxy {
  readonly address: Address;
  /** From now on, also for what is under way. */
  setFaults(faults: LinkFaults): void;
  /** For data to come. Parts that the change does not name are as they were at first. */
  setDistance(change: DistanceChange): void;
  /** That the target has sent so far. */
  bytesBack(): number;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

export interface DelayProxyOptions extends Distance {
  /** Asked for each connection, so that the target may move. */
  readonly target: () => Address;
  readonly host?: string;
  /** In [0, 1): what jitter and loss are drawn from. */
  readonly random?: () => number;
}

/** Bytes under way in one direction from which the sender is held back. */
const WINDOW_BYTES = 8 * 1024 * 1024;

/** Of a piece of data that was lost, besides the round trip (Linux: TCP_RTO_MIN). */
const RETRANSMISSION_MS = 200;
/** Lost more often than that, it arrives all the same. */
const MAX_LOSSES = 6;

/** The first bytes of the request of a followup. */
const FOLLOWUP_HEAD = `POST ${FOLLOWUP_PATH} `;

export async function startDelayProxy(options: DelayProxyOptions): Promise<DelayProxy> {
  const connections = new Set<Connection>();
  let faults = NO_LINK_FAULTS;
  let distance: DelayProxyOptions = options;
  let bytesBack = 0;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    if (faults.down) {
      near.on("error", () => undefined);
      near.resetAndDestroy();
      return;
    }
    const { host, port } = options.target();
    const far = connect({ host, port, allowHalfOpen: true, noDelay: true });
    far.on("data", ({ length }: Buffer) => (bytesBack += length));
    const connection = new Connection(
      near,
      far,
      () => distance,
      () => faults,
    );
    connections.add(connection);
    connection.closed.then(
      () => connections.delete(connection),
      () => undefined,
    );
  });

  const host = options.host ?? "127.0.0.1";
  const port = await listen(server, host);
  return {
    address: { host, port },
    setFaults: (next) => {
      faults = next;
      for (const connection of connections) connection.faultsChanged();
    },
    setDistance: (change) => {
      distance = { ...options, ...change };
    },
    bytesBack: () => bytesBack,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of connections) connection.destroy();
      }),
  };
}

class Connection {
  /** Settles when both sockets are closed. */
  readonly closed: Promise<unknown>;
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #faults: () => LinkFaults;
  readonly #directions: readonly Direction[];
  /** The first characters of the request under way: a caller sends the next one when it has the reply. */
  #head = "";

  constructor(near: Socket, far: Socket, distance: () => DelayProxyOptions, faults: () => LinkFaults) {
    this.#near = near;
    this.#far = far;
    this.#faults = faults;
    this.#directions = [new Direction(near, far, distance, faults), new Direction(far, near, distance, faults)];
    this.closed = Promise.all(
      [near, far].map((socket) => new Promise<void>((resolve) => socket.once("close", resolve))),
    );
    // Before the direction's own listener, which would send it on.
    near.prependListener("data", (bytes: Buffer) => {
      this.#head += bytes.toString("latin1", 0, FOLLOWUP_HEAD.length - this.#head.length);
      this.#dropFollowup();
    });
    far.on("data", () => (this.#head = ""));
  }

  faultsChanged(): void {
    if (this.#faults().down) return this.#reset();
    for (const direction of this.#directions) direction.faultsChanged();
  }

  destroy(): void {
    this.#near.destroy();
    this.#far.destroy();
  }

  #dropFollowup(): void {
    if (this.#faults().dropFollowups && this.#head === FOLLOWUP_HEAD) this.#reset();
  }

  #reset(): void {
    for (const direction of this.#directions) direction.forget();
    if (!this.#near.destroyed) this.#near.resetAndDestroy();
    this.#far.destroy();
  }
}

type Event = { readonly kind: "data"; readonly bytes: Buffer } | { readonly kind: "end" } | { readonly kind: "broken" };

/** Repeats at one socket what happens at the other, each event later and in order. */
class Direction {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #distance: () => DelayProxyOptions;
  readonly #faults: () => LinkFaults;
  #underWay: { readonly event: Event; readonly dueMs: number }[] = [];
  #bytesUnderWay = 0;
  #lastDueMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, distance: () => DelayProxyOptions, faults: () => LinkFaults) {
    this.#from = from;
    this.#to = to;
    this.#distance = distance;
    this.#faults = faults;
    from.on("data", (bytes: Buffer) => {
      this.#bytesUnderWay += bytes.length;
      if (this.#bytesUnderWay >= WINDOW_BYTES) from.pause();
      this.#send({ kind: "data", bytes });
    });
    from.on("end", () => this.#send({ kind: "end" }));
    from.on("error", () => this.#send({ kind: "broken" }));
    from.on("close", () => this.#send({ kind: "broken" }));
    to.on("close", () => this.forget());
  }

  faultsChanged(): void {
    if (this.#faults().partitioned) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      return;
    }
    if (this.#timer !== undefined) return;
    const againMs = performance.now() + this.#oneWayMs();
    this.#underWay = this.#underWay.map(({ event, dueMs }) => ({ event, dueMs: Math.max(dueMs, againMs) }));
    this.#lastDueMs = Math.max(this.#lastDueMs, againMs);
    this.#schedule();
  }

  forget(): void {
    clearTimeout(this.#timer);
    this.#underWay = [];
  }

  #send(event: Event): void {
    if (this.#to.destroyed) return;
    this.#lastDueMs = Math.max(this.#lastDueMs, performance.now() + this.#delayMs());
    this.#underWay.push({ event, dueMs: this.#lastDueMs });
    this.#schedule();
  }

  #schedule(): void {
    const next = this.#underWay[0];
    if (next === undefined || this.#timer !== undefined || this.#faults().partitioned) return;
    this.#timer = setTimeout(() => this.#deliverDue(), Math.max(0, next.dueMs - performance.now()));
  }

  #deliverDue(): void {
    this.#timer = undefined;
    // Rounded to the nearest millisecond, the step of timers.
    const now = performance.now() + 0.5;
    for (let next = this.#underWay[0]; next !== undefined && next.dueMs <= now; next = this.#underWay[0]) {
      this.#underWay.shift();
      this.#deliver(next.event);
    }
    this.#schedule();
  }

  #deliver(event: Event): void {
    switch (event.kind) {
      case "data":
        this.#bytesUnderWay -= event.bytes.length;
        if (this.#to.writable) this.#to.write(event.bytes);
        if (this.#bytesUnderWay < WINDOW_BYTES && this.#from.isPaused()) this.#from.resume();
        break;
      case "end":
        if (this.#to.writable) this.#to.end();
        break;
      case "broken":
        this.#to.destroy();
    }
  }

  #oneWayMs(): number {
    const { roundTripMs, jitterMs = 0, random = Math.random } = this.#distance();
    return (roundTripMs + (jitterMs === 0 ? 0 : jitterMs * (2 * random() - 1))) / 2;
  }

  #delayMs(): number {
    const { roundTripMs, lossPercent = 0, random = Math.random } = this.#distance();
    let delayMs = this.#oneWayMs();
    let againMs = roundTripMs + RETRANSMISSION_MS;
    const isLost = (): boolean => lossPercent > 0 && random() * 100 < lossPercent;
    for (let losses = 0; losses < MAX_LOSSES && isLost(); losses++) {
      delayMs += againMs;
      againMs *= 2;
    }
    return delayMs;
  }
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
