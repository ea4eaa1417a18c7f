import { Agent, createServer, request, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { FOLLOWUP_PATH, LVI_PATH } from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { type Address, type DelayProxy, NO_LINK_FAULTS, startDelayProxy } from "./delay-proxy.ts";

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

test("requests and replies pass unchanged, bodies of any size too", async () => {
  const server = await startEcho();
  const proxy = await start({ target: () => server.address, roundTripMs: 4 });
  for (const size of [0, 1, 100_000, 20_000_000]) {
    const body = Buffer.alloc(size, size % 251);
    expect((await post(proxy.address, body)).equals(body)).toBe(true);
  }
  // Heads too, which are some hundred bytes.
  expect(Math.floor(proxy.bytesBack() / 100_000)).toBe(201);
});

test("an event is never early: a round trip takes at least the time that was asked for, with its jitter", async () => {
  const server = await startEcho();
  const proxy = await start({ target: () => server.address, roundTripMs: 200, jitterMs: 200, random: () => 0.9999 });
  const before = performance.now();
  await post(proxy.address, Buffer.from("x"));
  // Timers have steps of 1 ms in each direction.
  expect(performance.now() - before).toBeGreaterThanOrEqual(397);
});

test("what is lost arrives, later by the round trip and the retransmission timeout", async () => {
  const server = await startEcho();
  // The first piece is lost twice, then nothing is.
  const draws = [0, 0.49];
  const proxy = await start({
    target: () => server.address,
    roundTripMs: 10,
    lossPercent: 50,
    random: () => draws.shift() ?? 0.5,
  });
  const before = performance.now();
  expect((await post(proxy.address, Buffer.from("x"))).toString()).toBe("x");
  expect(performance.now() - before).toBeGreaterThanOrEqual(10 + 210 + 420 - 2);
});

test("jitter changes no order", async () => {
  const server = await startEcho();
  let draw = 0;
  const proxy = await start({
    target: () => server.address,
    roundTripMs: 10,
    jitterMs: 10,
    random: () => (draw++ % 7) / 7,
  });
  const sent = Array.from({ length: 40 }, (_, number) => `${number} `);
  const received = await new Promise<string>((resolve, reject) => {
    const outgoing = request({ ...proxy.address, method: "POST", agent: new Agent() }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve(text));
    });
    outgoing.on("error", reject);
    for (const piece of sent) setImmediate(() => outgoing.write(piece));
    setImmediate(() => setImmediate(() => outgoing.end()));
  });
  expect(received).toBe(sent.join(""));
});

test("a partition holds what is under way, and lets it pass when it has ended", async () => {
  const server = await startEcho();
  const proxy = await start({ target: () => server.address, roundTripMs: 2 });
  proxy.setFaults({ ...NO_LINK_FAULTS, partitioned: true });
  let isAnswered = false;
  const answer = post(proxy.address, Buffer.from("x")).finally(() => (isAnswered = true));
  // As long as another proxy takes for many round trips.
  const other = await start({ target: () => server.address, roundTripMs: 2 });
  for (let i = 0; i < 5; i++) await post(other.address, Buffer.from("y"));
  expect(isAnswered).toBe(false);
  proxy.setFaults(NO_LINK_FAULTS);
  expect((await answer).toString()).toBe("x");
});

test("followups are dropped: the target sees nothing of them, and all of the rest", async () => {
  const server = await startEcho();
  const proxy = await start({ target: () => server.address, roundTripMs: 2 });
  proxy.setFaults({ ...NO_LINK_FAULTS, dropFollowups: true });
  await expect(post(proxy.address, Buffer.from("x"), FOLLOWUP_PATH)).rejects.toThrow(/socket hang up|ECONNRESET/);
  expect((await post(proxy.address, Buffer.from("y"), LVI_PATH)).toString()).toBe("y");
  proxy.setFaults(NO_LINK_FAULTS);
  expect((await post(proxy.address, Buffer.from("z"), FOLLOWUP_PATH)).toString()).toBe("z");
  expect(server.paths).toEqual([LVI_PATH, FOLLOWUP_PATH]);
});

test("when the primary goes down, connections that are open are reset too", async () => {
  const server = await startEcho();
  const proxy = await start({ target: () => server.address, roundTripMs: 2 });
  const socket = connect(proxy.address.port, proxy.address.host);
  socket.on("error", () => {});
  const happened = (event: "data" | "close"): Promise<string> =>
    new Promise((resolve) => {
      socket.once(event, () => resolve(event));
    });
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  // All of it: the body of nothing is a chunk of its own.
  for (let text = ""; !text.endsWith("0\r\n\r\n");) text += String(await once(socket, "data"));
  const next = Promise.race([happened("close"), happened("data")]);
  proxy.setFaults({ ...NO_LINK_FAULTS, down: true });
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  expect(await next).toBe("close");
});

test("a target that is down breaks the connection", async () => {
  const server = await startEcho();
  const { address } = server;
  await server.close();
  const proxy = await start({ target: () => address, roundTripMs: 2 });
  await expect(post(proxy.address, Buffer.from("x"))).rejects.toThrow(/socket hang up|ECONNRESET/);
});

test("the target is asked for each connection", async () => {
  const first = await startEcho();
  const second = await startEcho("second:");
  let target = first.address;
  const proxy = await start({ target: () => target, roundTripMs: 2 });
  expect((await post(proxy.address, Buffer.from("x"))).toString()).toBe("x");
  target = second.address;
  expect((await post(proxy.address, Buffer.from("x"))).toString()).toBe("second:x");
});

test("close ends what is under way", async () => {
  const server = await startEcho();
  const proxy = await start({ target: () => server.address, roundTripMs: 10_000 });
  const socket: Socket = connect(proxy.address.port, proxy.address.host);
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\n\r\n");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await proxy.close();
  await closed;
  expect(socket.destroyed).toBe(true);
});

async function start(options: Parameters<typeof startDelayProxy>[0]): Promise<DelayProxy> {
  const proxy = await startDelayProxy(options);
  closers.push(() => proxy.close());
  return proxy;
}

async function startEcho(
  prefix = "",
): Promise<{ readonly address: Address; readonly paths: readonly unknown[]; close(): Promise<void> }> {
  const paths: unknown[] = [];
  const server: Server = createServer((incoming, response) => {
    paths.push(incoming.url);
    response.write(prefix);
    incoming.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  closers.push(close);
  return { address: { host: "127.0.0.1", port: address.port }, paths, close };
}

/** The body of the answer to a POST over a connection of its own. */
function post(address: Address, body: Buffer, path = "/"): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...address, path, method: "POST", agent: new Agent() }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks)));
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
