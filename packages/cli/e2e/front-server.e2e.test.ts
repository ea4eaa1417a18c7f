/** The one port of `radical dev` is given HTTP as clients may write it, byte by byte. A bare server stands for workerd. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { LogRing } from "@radical/lvi-server";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FrontServer, startFrontServer } from "../src/dev/front-server.ts";

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly host: string | undefined;
  readonly body: string;
}

let inner: Server;
let front: FrontServer;
/** Requests that have passed the port. */
const seen: Seen[] = [];

beforeAll(async () => {
  inner = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes.toString()));
    request.on("end", () => {
      const { method, url, headers } = request;
      seen.push({ method, url, host: headers.host, body });
      // Its length is not known before.
      response.write("the ");
      response.end("answer");
    });
  });
  inner.listen(0, "127.0.0.1");
  await once(inner, "listening");
  front = await startFrontServer({
    host: "127.0.0.1",
    port: 0,
    // Longer than this machine may stand still.
    heldMs: 100_000,
    build: () => ({ kind: "good", module: "a" }),
    control: () => null,
    log: new LogRing(),
  });
  front.serve({ url: `http://127.0.0.1:${(inner.address() as AddressInfo).port}`, token: "token" });
});
afterAll(async () => {
  await front.close();
  inner.closeAllConnections();
  inner.close();
});
beforeEach(() => void seen.splice(0));

/** The answers on one connection to requests as they stand, one after the other; the last must close it. */
function answersTo(...requests: readonly (readonly string[])[]): Promise<string> {
  const rest = requests.map((lines) => lines.join("\r\n"));
  return new Promise((resolve, reject) => {
    let answers = "";
    const socket = connect(Number(new URL(front.url).port), "127.0.0.1", () => socket.write(rest.shift()!));
    socket.on("data", (bytes) => {
      answers += bytes.toString();
      // The last of its chunks.
      if (answers.endsWith("\r\n0\r\n\r\n") && rest.length > 0) socket.write(rest.shift()!);
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answers));
  });
}

test.each([
  ["content-length", ["Content-Length: 33"], "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["transfer-encoding", ["Transfer-Encoding: chunked"], "21\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n\r\n0\r\n\r\n"],
])("a body is not taken for a request, although Connection names %s", async (name, headers, body) => {
  const answer = await answersTo([
    "POST /shown HTTP/1.1",
    "Host: localhost",
    `Connection: close, host, ${name}`,
    ...headers,
    "",
    body,
  ]);
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(seen).toEqual([
    { method: "POST", url: "/shown", host: "localhost", body: "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n" },
  ]);
});

test("a client of HTTP/1.0 gets no chunks", async () => {
  const answer = await answersTo(["GET /old HTTP/1.0", "Host: localhost", "", ""]);
  expect(answer.split("\r\n\r\n")[1]).toBe("the answer");
});

test("a client that offers HTTP/2 is answered, and so is what it asks next on the connection", async () => {
  const offer = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"];
  const answer = await answersTo(
    ["POST /first HTTP/1.1", "Host: localhost", ...offer, "Content-Length: 3", "", "abc"],
    ["GET /second HTTP/1.1", "Host: evil.example", "", ""],
    ["GET /third HTTP/1.1", "Host: localhost", "Connection: close", "", ""],
  );
  expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(["HTTP/1.1 200", "HTTP/1.1 403", "HTTP/1.1 200"]);
  expect(seen.map(({ url, body }) => [url, body])).toEqual([
    ["/first", "abc"],
    ["/third", ""],
  ]);
});

test("an answer that comes before the body was read is told, although the connection then breaks", async () => {
  const hasty = createTcpServer((socket) => {
    socket
      .on("error", () => undefined)
      .once("data", () => {
        // Unread bytes reset the connection.
        socket.end("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
        socket.pause().destroySoon();
      });
  });
  hasty.listen(0, "127.0.0.1");
  await once(hasty, "listening");
  const before = (inner.address() as AddressInfo).port;
  front.serve({ url: `http://127.0.0.1:${(hasty.address() as AddressInfo).port}`, token: "token" });
  try {
    for (let time = 0; time < 5; time++) {
      const answer = await fetch(`${front.url}/large`, { method: "POST", body: new Uint8Array(20_000_000) });
      expect([answer.status, await answer.text()]).toEqual([413, "no"]);
    }
  } finally {
    front.serve({ url: `http://127.0.0.1:${before}`, token: "token" });
    hasty.close();
  }
});

test("whose request names two hosts is told both", async () => {
  const answer = await answersTo([
    "GET / HTTP/1.1",
    "Host: localhost",
    "Host: evil.example",
    "Connection: close",
    "",
    "",
  ]);
  expect(answer).toContain('name \\"localhost, evil.example\\"');
  expect(seen).toEqual([]);
});
