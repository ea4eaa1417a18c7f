import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "./log.ts";
import { machineOf, ownOrigin, TunnelWatch } from "./tunnel-watch.ts";

const answers = { server: [200, '{"status":"ready"}'], tunnel: [200, "{}"] } as Record<
  "server" | "tunnel",
  readonly [status: number, body: string]
>;
const servers: Server[] = [];
const urls: Record<string, string> = {};

beforeAll(async () => {
  for (const name of ["server", "tunnel"] as const) {
    const http = createServer((_, response) => response.writeHead(answers[name][0]).end(answers[name][1]));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    servers.push(http);
    urls[name] = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  }
});
afterAll(() => {
  for (const http of servers) http.close();
});

test("the line says whether the server leads or stands by, and whether its tunnel is there", async () => {
  const lines: object[] = [];
  const log = createLog("info", (line) => void lines.push(JSON.parse(line) as object));
  const watch = new TunnelWatch({ node: "a", server: urls["server"]!, tunnel: `${urls["tunnel"]}/ready` }, log);
  await watch.look();
  answers.server = [503, '{"status":"standby","leader":null}'];
  await watch.look();
  [answers.server, answers.tunnel] = [
    [503, "no JSON"],
    [503, ""],
  ];
  await watch.look();
  const away = new TunnelWatch({ node: "b", server: "http://127.0.0.1:9", tunnel: "http://127.0.0.1:9" }, log);
  await away.look();
  expect(lines).toEqual(
    [
      { node: "a", server: 1, serving: 1, standby: 0, tunnel: 1 },
      { node: "a", server: 1, serving: 0, standby: 1, tunnel: 1 },
      { node: "a", server: 1, serving: 0, standby: 0, tunnel: 0 },
      { node: "b", server: 0, serving: 0, standby: 0, tunnel: 0 },
    ].map((fields) => expect.objectContaining({ level: "info", event: "machine", ...fields }) as unknown),
  );
});

test("a server asks itself where it listens", () => {
  expect(ownOrigin("127.0.0.1", 8788)).toBe("http://127.0.0.1:8788");
  expect(ownOrigin("10.0.0.1", 8788)).toBe("http://10.0.0.1:8788");
  expect(ownOrigin("localhost", 8788)).toBe("http://localhost:8788");
  expect(ownOrigin("fd00::1", 8788)).toBe("http://[fd00::1]:8788");
  for (const all of ["::", "::0", "0:0:0:0:0:0:0:0"]) expect(ownOrigin(all, 8788)).toBe("http://[::1]:8788");
  expect(ownOrigin("0.0.0.0", 8788)).toBe("http://127.0.0.1:8788");
});

test("the name of a machine begins the host that it advertises", () => {
  expect(machineOf("http://a.primary.internal:8788")).toBe("a");
  expect(machineOf("https://primary-1")).toBe("primary-1");
  for (const nameless of [null, "http://10.0.0.1", "http://[fd00::1]:8788"]) expect(machineOf(nameless)).toBe(null);
});
