/** Stands between the AWS SDK and moto: sees each call by its name, and can answer in place of AWS, or change an answer. */
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface FaultProxy {
  readonly endpoint: string;
  /** The names of the calls since the last `forget`: `CreateTable`, `PutObject`, … */
  readonly calls: readonly string[];
  forget(): void;
  /** Null: as moto answers. Given null, everything is. */
  answer(by: ((call: string, said: () => Promise<Answer>) => Promise<Answer | null>) | null): void;
  stop(): Promise<void>;
}

export async function startFaultProxy(port: number): Promise<FaultProxy> {
  const calls: string[] = [];
  let answering: Parameters<FaultProxy["answer"]>[0] = null;
  const server: Server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await buffer(incoming);
      const call = callOf(incoming, body);
      calls.push(call);
      const forward = (): Promise<Forwarded> => forwarded(incoming, body, port);
      const answer = await answering?.(call, async () => {
        const { status, text } = await forward();
        return { status, body: text.toString("utf8") };
      });
      if (answer === null || answer === undefined) {
        const { status, headers, text } = await forward();
        outgoing.writeHead(status, headers).end(text);
      } else {
        const type = incoming.headers["x-amz-target"] === undefined ? "text/xml" : "application/x-amz-json-1.1";
        outgoing.writeHead(answer.status, { "content-type": type }).end(answer.body);
      }
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    forget: () => void (calls.length = 0),
    answer: (by) => (answering = by),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Forwarded {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: Buffer;
}

function forwarded(incoming: IncomingMessage, body: Buffer, port: number): Promise<Forwarded> {
  const { method, url, headers } = incoming;
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, method, path: url, headers }, (response) => {
      buffer(response).then(
        (text) => resolve({ status: response.statusCode ?? 500, headers: response.headers, text }),
        reject,
      );
    })
      .once("error", reject)
      .end(body);
  });
}

/** JSON services name the call in a header, query services in the body; S3 has methods and paths. */
function callOf({ headers, method, url }: IncomingMessage, body: Buffer): string {
  const target = headers["x-amz-target"];
  if (typeof target === "string") return target.slice(target.lastIndexOf(".") + 1);
  const { searchParams, pathname } = new URL(url ?? "/", "http://aws");
  const action = searchParams.get("Action") ?? new URLSearchParams(body.toString("utf8")).get("Action");
  if (action !== null && method === "POST") return action;
  if (searchParams.has("publicAccessBlock")) return `${method === "PUT" ? "Put" : "Get"}PublicAccessBlock`;
  const ofObject = pathname.split("/").filter((part) => part !== "").length > 1;
  return `${method === "PUT" && !ofObject ? "Create" : (method ?? "").toLowerCase()}${ofObject ? "Object" : "Bucket"}`.replace(
    /^[a-z]/,
    (letter) => letter.toUpperCase(),
  );
}

/** A refusal of the call, as its protocol has it. */
export function denied(call: string): Answer {
  const message = `User: arn:aws:iam::123456789012:user/ann is not authorized to perform: x:${call}`;
  const isJson = /Table|TimeToLive|ContinuousBackups|Parameter|ServiceQuota|Repository|AuthorizationToken/.test(call);
  const body = isJson
    ? JSON.stringify({ __type: "AccessDeniedException", message })
    : /Bucket|Object|PublicAccess/.test(call)
      ? `<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`
      : `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${message}</Message></Error></ErrorResponse>`;
  return { status: isJson ? 400 : 403, body };
}
