import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { LogRing } from "@radical/lvi-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FrontServer, startFrontServer } from "./front-server.ts";

let front: FrontServer;

beforeAll(async () => {
  front = await startFrontServer({
    host: "127.0.0.1",
    port: 0,
    build: () => ({ kind: "building" }),
    control: () => null,
    log: new LogRing(),
  });
});
afterAll(() => front.close());

/** The path goes out as it stands. The page of another site asks. */
async function statusOf(path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(front.url);
  const sent = request({ hostname, port, path, headers: { "sec-fetch-site": "cross-site" }, agent: false }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test.each(["", "/.", "/%2e", "/a/..", "/a/%2E%2e", "/a\\.."])(
  "others than this machine fire no scheduled event, however they write the path: %s",
  async (before) => {
    expect(await statusOf(`${before}/cdn-cgi/handler/scheduled`)).toBe(403);
  },
);

test("other paths reach the application, which has not started here", async () => {
  for (const path of ["/", "/a/cdn-cgi/handler/scheduled", "//", "/%"]) expect(await statusOf(path)).toBe(503);
});
