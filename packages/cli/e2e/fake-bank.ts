/** A bank over HTTP, which the Workers of tests call. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

interface Asked {
  readonly order: string;
  readonly card: string;
  readonly cents: number;
  readonly to: string;
}

/** A bank that knows keys, and sends mails. The card decides how it answers. */
export class Bank {
  /** Done charges, by key. */
  readonly charges = new Map<string, { readonly order: string; readonly cents: number }>();
  readonly mails: string[] = [];
  readonly keys: string[] = [];
  /** Called when a mail is sent. */
  onMail: (() => void) | null = null;
  #server: Server | null = null;

  async start(): Promise<string> {
    this.#server = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk: Buffer) => (text += chunk.toString()));
      request.on("end", () => {
        const { order = "", card, cents = 0, to } = JSON.parse(text) as Partial<Asked>;
        if (to !== undefined) {
          this.mails.push(to);
          this.onMail?.();
          return response.end();
        }
        const key = request.headers["idempotency-key"] as string;
        const isFirst = !this.keys.includes(key);
        this.keys.push(key);
        if (card === "declined") return response.writeHead(402).end("the card is blocked");
        if (card === "flaky" && isFirst) return response.writeHead(500).end();
        this.charges.set(key, { order, cents });
        if (card === "lost" && isFirst) return response.destroy();
        return response.end(`receipt of ${order}`);
      });
    });
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  of(order: string): number {
    return [...this.charges.values()].filter((charge) => charge.order === order).length;
  }

  close(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }
}
