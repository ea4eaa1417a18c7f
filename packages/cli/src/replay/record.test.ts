/** How a recording begins and ends; what it records is tried with real servers. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { newAdministrationKey } from "@radical/admin";
import { expect, test } from "vitest";
import { record } from "./record.ts";

test("a file that can't be opened ends the request at the server", async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200).flushHeaders();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.once("request", (_request, response: ServerResponse) => response.once("close", () => server.close()));
  const options = {
    primary: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: newAdministrationKey("main") },
    count: 1,
    every: 1,
    handlers: [],
    redact: "all" as const,
    signal: new AbortController().signal,
    onStarted: () => {
      throw new Error("no such folder");
    },
    onRecord: () => undefined,
  };
  const ended = once(server, "close");
  await expect(record(options)).rejects.toThrow("no such folder");
  await ended;
});
