import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "./log.ts";
import { TunnelWatch } from "./tunnel-watch.ts";

let status = 200;
const http = createServer((_, response) => response.writeHead(status).end("{}"));
let url: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/ready`;
});
afterAll(() => void http.close());

test("the line says whether the server leads, and whether its tunnel is there", async () => {
  const lines: object[] = [];
  const log = createLog("info", (line) => void lines.push(JSON.parse(line) as object));
  let leads = false;
  const watch = new TunnelWatch(url, () => leads, log);
  await watch.look();
  [leads, status] = [true, 503];
  await watch.look();
  const away = new TunnelWatch("http://127.0.0.1:9/ready", () => true, log);
  await away.look();
  for (const each of [watch, away]) each.stop();
  expect(lines).toEqual(
    [
      { server: 1, serving: 0, tunnel: 1 },
      { server: 1, serving: 1, tunnel: 0 },
      { server: 1, serving: 1, tunnel: 0 },
    ].map((fields) => expect.objectContaining({ level: "info", event: "machine", ...fields }) as unknown),
  );
});
