/**
 * The network between the locations and the LVI server, under control: an HTTP proxy in the place of the delay proxy
 * that can lose or hold any single request or reply. Everything else is real.
 */
import { type IncomingMessage, type ServerResponse, createServer, request } from "node:http";
import { Transform } from "node:stream";
import { UPDATES_PATH } from "@radical/protocol";
import type { DevOptions } from "../src/dev/dev-options.ts";

export interface LinkRequest {
  readonly location: string;
  readonly path: string;
  readonly body: Uint8Array;
}

export type Fate =
  | "pass"
  /** The server never sees it; the location's connection breaks. */
  | "lose-request"
  /** The server acts on it; the location's connection breaks in place of the reply. */
  | "lose-reply"
  /** The server acts on it; its reply never comes, and the location's connection stays. */
  | "swallow-reply"
  /** The server gets it twice, one after the other, and the location the second reply. */
  | "duplicate";

export interface FaultLink {
  readonly link: NonNullable<DevOptions["link"]>;
  /** Says what becomes of each request; a promise holds it. */
  decide: (request: LinkRequest) => Fate | Promise<Fate>;
  /** Says whether what comes of the answer from now on is lost, while its connection stays. */
  mutes: (request: LinkRequest) => boolean;
  /** What has arrived so far, whatever became of it. */
  readonly arrived: readonly LinkRequest[];
  /** What the server has answered so far, whatever became of that. */
  readonly answered: readonly LinkRequest[];
}

export function createFaultLink(): FaultLink {
  const arrived: LinkRequest[] = [];
  const answered: LinkRequest[] = [];
  const faults: FaultLink = {
    decide: () => "pass",
    mutes: () => false,
    arrived,
    answered,
    link: async (location, server) => {
      const proxy = createServer((incoming, outgoing) => {
        void handle(incoming, outgoing, location.name);
      });
      const handle = async (incoming: IncomingMessage, outgoing: ServerResponse, name: string): Promise<void> => {
        const linkRequest = { location: name, path: incoming.url ?? "", body: await bodyOf(incoming) };
        arrived.push(linkRequest);
        const fate = await faults.decide(linkRequest);
        if (fate === "lose-request") {
          incoming.socket.destroy();
          return;
        }
        const forward = (onReply: (reply: IncomingMessage) => void): void => {
          const forwarded = request(
            { ...server(), path: incoming.url, method: incoming.method, headers: incoming.headers },
            (reply) => {
              answered.push(linkRequest);
              onReply(reply);
            },
          );
          forwarded.on("error", () => incoming.socket.destroy());
          forwarded.end(linkRequest.body);
        };
        const handOn = (reply: IncomingMessage): void => {
          outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
          const through = new Transform({
            transform: (chunk, _encoding, done) => done(null, faults.mutes(linkRequest) ? null : chunk),
          });
          reply.pipe(through).pipe(outgoing);
        };
        switch (fate) {
          case "pass":
            return forward(handOn);
          case "lose-reply":
            return forward((reply) => reply.resume().on("end", () => incoming.socket.destroy()));
          case "swallow-reply":
            return forward((reply) => void reply.resume());
          case "duplicate":
            return forward((reply) => reply.resume().on("end", () => forward(handOn)));
        }
      };
      proxy.keepAliveTimeout = 60_000;
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
      const address = proxy.address();
      if (address === null || typeof address === "string") throw new Error("the link has no port");
      return {
        address: { host: "127.0.0.1", port: address.port },
        close: () =>
          new Promise((resolve) => {
            proxy.close(() => resolve());
            proxy.closeAllConnections();
          }),
      };
    },
  };
  return faults;
}

/** No location is told what others have written: its cache stays as stale as it is. */
export function withoutUpdates({ path }: LinkRequest): Fate {
  return path === UPDATES_PATH ? "lose-request" : "pass";
}

async function bodyOf(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return new Uint8Array(Buffer.concat(chunks));
}
