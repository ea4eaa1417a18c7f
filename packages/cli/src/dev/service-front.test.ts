/** Services of tests, and failures to order, over real HTTP. */
import { createHmac, randomBytes } from "node:crypto";
import { createServer, request } from "node:http";
import {
  decodeServiceAnswer,
  encodeServiceCall,
  type ExecutionId,
  KEY_HEADER,
  type Manifest,
  SERVICE_PATH,
  type ServiceAnswer,
  SIGNATURE_HEADER,
  signedHead,
  TIME_HEADER,
  WORKER_CACHES_PATH,
} from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { closeServer, listen } from "./control-server.ts";
import {
  checkServiceFaults,
  type FaultsByService,
  changedServiceFaults,
  faultsOfTest,
  readDevFaultChange,
  NO_SERVICE_FAULTS,
  parseServiceFaults,
} from "./service-faults.ts";
import { type ServiceFront, startServiceFront } from "./service-front.ts";

const KEY = { id: "main", secret: "07".repeat(32) };
const MANIFEST = {
  services: { charge: { parameters: [], result: null, keyWindowMs: 72_000_000, once: false, file: "s.ts", line: 1 } },
  records: {},
} as unknown as Manifest;

let front: ServiceFront | null = null;
let calls = 0;

afterEach(async () => {
  await front?.close();
  calls = 0;
});

async function opened(faults: FaultsByService, manifest: Manifest | null = MANIFEST): Promise<void> {
  const services = { charge: () => void calls++ };
  front = await startServiceFront({
    key: KEY,
    faults: () => faults,
    services,
    manifest: () => manifest,
    locations: ["A", "B"],
    told: () => undefined,
  });
}

async function called(): Promise<ServiceAnswer | number> {
  const path = `${SERVICE_PATH}charge`;
  const task = "80".padEnd(32, "0") as ExecutionId;
  const nonce = Uint8Array.from(randomBytes(16));
  const args = Uint8Array.of(0xa0);
  const body = encodeServiceCall({ service: "charge", task, key: "k", nonce, timeoutMs: 1_000, args });
  const timeMs = Date.now();
  const hmac = createHmac("sha256", Buffer.from(KEY.secret, "hex")).update(signedHead("POST", path, timeMs));
  const response = await fetch(`${front!.url}${path}`, {
    method: "POST",
    headers: {
      [KEY_HEADER]: KEY.id,
      [TIME_HEADER]: String(timeMs),
      [SIGNATURE_HEADER]: hmac.update(body).digest("hex"),
    },
    body: body as Uint8Array<ArrayBuffer>,
  });
  return response.status === 200 ? decodeServiceAnswer(new Uint8Array(await response.arrayBuffer())) : response.status;
}

test("a call reaches the service of the test", async () => {
  await opened({});
  expect(await called()).toEqual({ kind: "value", bytes: Uint8Array.of(0xf6) });
  expect(calls).toBe(1);
});

test("a thrown call is not made, and a lost one is", async () => {
  await opened({ charge: { ...NO_SERVICE_FAULTS, throw: 1 } });
  expect(await called()).toMatchObject({ kind: "failed", code: "ordered_failure" });
  expect(calls).toBe(0);
  await front!.close();
  await opened({ charge: { ...NO_SERVICE_FAULTS, lost: 1, slowMs: 1 } });
  await expect(called()).rejects.toThrow("fetch failed");
  expect(calls).toBe(1);
});

test("before anything serves nothing is called", async () => {
  await opened({}, null);
  expect(await called()).toBe(404);
});

test("nothing but a call of a service passes", async () => {
  await opened({});
  const asked = async (path: string, method = "POST"): Promise<number> => {
    const { port, hostname } = new URL(front!.url);
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path, method }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on("error", reject).end();
    });
  };
  for (const path of ["/", "/page.txt", SERVICE_PATH, `${SERVICE_PATH}../../page.txt`, `${SERVICE_PATH}%ff`])
    expect([path, await asked(path)]).toEqual([path, 404]);
  expect(await asked(`${SERVICE_PATH}charge`, "GET")).toBe(404);
  expect(await asked(`${SERVICE_PATH}charge`)).toBe(401);
  expect(calls).toBe(0);
});

test("failures are ordered by kind", () => {
  expect(parseServiceFaults(["charge=throw:0.2,lost:0.3,slow:3000", "mail=slow:5", "mail=lost:1"])).toEqual({
    charge: { throw: 0.2, lost: 0.3, slowMs: 3_000 },
    mail: { throw: 0, lost: 1, slowMs: 0 },
  });
  expect(parseServiceFaults(["_$bank=lost:1"])).toHaveProperty("_$bank");
  for (const text of [
    "charge",
    "charge=",
    "charge=throw:2",
    "charge=late:1",
    "=throw:1",
    "charge=slow:-1",
    "a-b=lost:1",
  ])
    expect(() => parseServiceFaults([text])).toThrow(/--fail/);
});

test("a test orders failures in the same words, and leaves out what it does not want", () => {
  expect(faultsOfTest({ charge: { throw: 0.2, slow: 30 }, mail: { slow: 5 }, bank: {} })).toEqual({
    charge: { throw: 0.2, lost: 0, slowMs: 30 },
    mail: { throw: 0, lost: 0, slowMs: 5 },
    bank: NO_SERVICE_FAULTS,
  });
  for (const wrong of [{ lost: 2 }, { slowMs: 5 }])
    expect(() => faultsOfTest({ charge: wrong })).toThrow(/serviceFaults of charge/);
});

test("changes that follow each other add up, by service and by kind; the empty one ends all", () => {
  const first = changedServiceFaults({}, { charge: { throw: 0.2 } });
  const second = changedServiceFaults(first, { mail: { lost: 1 } });
  const third = changedServiceFaults(second, { charge: { slowMs: 30 } });
  expect(third).toEqual({ charge: { throw: 0.2, lost: 0, slowMs: 30 }, mail: { throw: 0, lost: 1, slowMs: 0 } });
  expect(changedServiceFaults(third, { mail: { lost: 0 } })).toEqual({ ...third, mail: NO_SERVICE_FAULTS });
  expect(changedServiceFaults(third, {})).toEqual({});
});

test("failures of a service that the application lacks are an error that names those it has", () => {
  expect(() => checkServiceFaults({ charge: NO_SERVICE_FAULTS }, MANIFEST)).not.toThrow();
  expect(() => checkServiceFaults({ chrage: NO_SERVICE_FAULTS }, MANIFEST)).toThrow(
    expect.objectContaining({ hint: "Name one of these: charge.", exitCode: 2 }),
  );
  expect(() => checkServiceFaults({ chrage: NO_SERVICE_FAULTS }, {})).toThrow(
    expect.objectContaining({ hint: "Its handlers declare no service." }),
  );
});

test("a client orders failures in the words of --fail, and what it does not name stays", () => {
  const manifest = { services: { charge: {}, mail: {} } } as unknown as Manifest;
  const read = (json: unknown) => readDevFaultChange(json, ["JP"], manifest);
  expect(read({ services: { charge: { throw: 0.2, slow: 30 } }, dropFollowups: true })).toEqual({
    services: { charge: { throw: 0.2, slowMs: 30 } },
    dropFollowups: true,
  });
  expect(read({ services: {} })).toEqual({ services: {} });
  expect(read({ partitioned: "all" })).toEqual({ partitioned: ["JP"] });
  const wrong: readonly unknown[] = [
    null,
    [1],
    { charge: 1 },
    { charge: { lost: 2 } },
    { charge: { loose: 1 } },
    { charge: { slowMs: 1 } },
  ];
  for (const services of [...wrong, { charge: { throw: "1" } }])
    expect(() => read({ services })).toThrow(/^The field services must be like .*0 to 1/);
  expect(() => read({ services: { bank: { lost: 1 } } })).toThrow(/no service of that name/);
  expect(() => read({ services: {}, partitioned: ["XX"] })).toThrow(/which are: JP/);
});

test("an order about caches goes to the locations that it is about, and their answers come together", async () => {
  const asked: (readonly [location: string, body: string])[] = [];
  const worker = createServer((incoming, response) => {
    let body = "";
    incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
    incoming.on("end", () => {
      const location = incoming.headers["x-radical-location"]?.toString() ?? "";
      asked.push([location, body]);
      const { kind, table } = JSON.parse(body) as { kind: string; table?: string };
      if (table === "broken") return void response.writeHead(400).end("{}");
      const looked = { kind: "looked", cache: "durable-object", locations: [location] };
      response.end(JSON.stringify(kind === "look" ? looked : { kind: "purged", entries: 2, next: null }));
    });
  });
  const port = await listen(worker, "127.0.0.1", 0);
  try {
    await opened({}, { ...MANIFEST, cache: { kind: "durable-object" } } as unknown as Manifest);
    front!.serve({ url: `http://127.0.0.1:${port}`, token: "t" });
    const order = async (json: object): Promise<unknown> => {
      const body = JSON.stringify(json);
      const response = await fetch(`${front!.url}${WORKER_CACHES_PATH}`, { method: "POST", body });
      return response.status === 200 ? response.json() : response.status;
    };
    const purge = { kind: "purge", location: null, table: null, key: null, after: null };
    expect(await order({ kind: "look" })).toEqual({ kind: "looked", cache: "durable-object", locations: ["A", "B"] });
    expect(await order({ ...purge, location: "B" })).toEqual({ kind: "purged", entries: 2, next: null });
    expect(await order(purge)).toEqual({ kind: "purged", entries: 4, next: null });
    expect(asked.map(([location]) => location)).toEqual(["A", "B", "B", "A", "B"]);
    expect(await order({ ...purge, table: "broken" })).toBe(400);
    expect(await order({ kind: "wipe" })).toBe(500);
  } finally {
    await closeServer(worker);
  }
});
