/**
 * A location's way to the LVI server that loses, repeats and delays whole messages, in both directions. It speaks HTTP,
 * so that a repeated message is the very same signed one.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Random } from "@radical/history";
import type { Address } from "@radical/local";
import type { Link } from "../src/dev/dev-options.ts";

export interface Faults {
  /** Probability that a message, or the reply to it, is lost. */
  readonly drop: number;
  /** Probability that a second copy of the message arrives up to `lateMs` later. */
  readonly duplicate: number;
  readonly lateMs: number;
  readonly maxDelayMs: number;
}

interface Message {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const RETRY_MS = 50;

export interface UnrulyLinks {
  link(location: unknown, server: () => Address): Promise<Link>;
  /** From now on nothing goes wrong. */
  calm(): void;
  /** How often each thing happened. */
  readonly counts: Readonly<Record<"dropped" | "replyDropped" | "duplicated", number>>;
}

export function unrulyLinks(faultsOf: (path: string) => Faults, random: Random): UnrulyLinks {
  const counts = { dropped: 0, replyDropped: 0, duplicated: 0 };
  let calm = false;
  return {
    counts,
    calm: () => {
      calm = true;
    },
    link: async (_location, server) => {
      const copies = new Set<NodeJS.Timeout>();
      const repeatLater = (message: Message, delayMs: number): void => {
        const copy = setTimeout(() => {
          copies.delete(copy);
          // One that meets a server that is down reaches the next one.
          send(server(), message).catch(() => repeatLater(message, RETRY_MS));
        }, delayMs);
        copies.add(copy);
      };
      const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
        const { method = "", url: path = "", headers } = incoming;
        const message: Message = { method, path, headers, body: await buffer(incoming) };
        const faults = faultsOf(path);
        const happens = (probability: number): boolean => !calm && random.chance(probability);
        if (!calm) await new Promise((resolve) => setTimeout(resolve, random.unit() * faults.maxDelayMs));
        if (happens(faults.duplicate)) {
          counts.duplicated++;
          repeatLater(message, random.unit() * faults.lateMs);
        }
        if (happens(faults.drop)) {
          counts.dropped++;
          outgoing.destroy();
          return;
        }
        const reply = await send(server(), message);
        if (happens(faults.drop)) {
          counts.replyDropped++;
          outgoing.destroy();
          return;
        }
        outgoing.writeHead(reply.status, reply.headers).end(reply.body);
      };
      const proxy = createServer((incoming, outgoing) => {
        pass(incoming, outgoing).catch(() => outgoing.destroy());
      });
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
      return {
        address: { host: "127.0.0.1", port: (proxy.address() as AddressInfo).port },
        close: () =>
          new Promise((resolve) => {
            for (const copy of copies) clearTimeout(copy);
            proxy.close(() => resolve());
            proxy.closeAllConnections();
          }),
      };
    },
  };
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function send({ host, port }: Address, { method, path, headers, body }: Message): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, method, path, headers, agent: false }, (incoming) => {
      buffer(incoming).then(
        (bytes) =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: { "content-type": incoming.headers["content-type"] ?? "" },
            body: bytes,
          }),
        reject,
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
