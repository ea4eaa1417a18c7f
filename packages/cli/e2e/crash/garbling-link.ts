/**
 * The way of locations to the server, on which bytes are garbled: a bit is flipped, the connection is cut, or a piece comes twice. It
 * knows nothing of HTTP, so that heads, lengths and lines of streams are met as bodies are.
 */
import { connect, createServer, type Socket } from "node:net";
import type { Address } from "@radical/local";
import type { Random } from "@radical/history";
import type { Link } from "./deployment.ts";

export type Direction = "requests" | "replies";
export type Change = "flipped" | "cut" | "doubled";

const CHANGES: readonly Change[] = ["flipped", "cut", "doubled"];

export class GarblingLink {
  readonly #direction: Direction;
  readonly #random: Random;
  readonly counts: Record<Change, number> = { flipped: 0, cut: 0, doubled: 0 };
  /** Part of the pieces that are garbled. */
  rate = 0;

  constructor(direction: Direction, random: Random) {
    this.#direction = direction;
    this.#random = random;
  }

  async start(server: () => Address): Promise<Link> {
    const sockets = new Set<Socket>();
    const proxy = createServer({ noDelay: true }, (near) => {
      const far = connect({ ...server(), noDelay: true });
      const cut = (): void => {
        near.destroy();
        far.destroy();
      };
      for (const [from, to, direction] of [
        [near, far, "requests"],
        [far, near, "replies"],
      ] as const) {
        sockets.add(from);
        from.on("data", (bytes: Buffer) => {
          if (direction === this.#direction && this.#random.chance(this.rate)) this.#garble(bytes, to, cut);
          else to.write(bytes);
        });
        from.on("end", () => to.end());
        from.on("error", cut);
        from.on("close", () => {
          sockets.delete(from);
          to.destroy();
        });
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const address = proxy.address();
    if (address === null || typeof address === "string") throw new Error("the link listens on no port");
    return {
      address: { host: "127.0.0.1", port: address.port },
      close: () =>
        new Promise((resolve) => {
          proxy.close(() => resolve());
          for (const socket of sockets) socket.destroy();
        }),
    };
  }

  #garble(bytes: Buffer, to: Socket, cut: () => void): void {
    const change = this.#random.pick(CHANGES);
    this.counts[change]++;
    const at = this.#random.below(bytes.length);
    switch (change) {
      case "flipped":
        bytes[at]! ^= 1 << this.#random.below(8);
        to.write(bytes);
        break;
      case "cut":
        // The bytes before the cut arrive.
        to.write(bytes.subarray(0, at), cut);
        break;
      case "doubled": {
        const end = at + 1 + this.#random.below(bytes.length - at);
        to.write(Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]));
      }
    }
  }
}
