/** Spans of real locations and a real server, as a collector gets them: one trace with both halves. */
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import generated from "@opentelemetry/otlp-transformer/build/src/generated/root.js";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createProject, type RadicalDev, radicalDev, type TemporaryProject } from "./radical-process.ts";

const PROJECT = fileURLToPath(new URL("../../../templates/minimal", import.meta.url));
const PAGE = fileURLToPath(new URL("../../../docs/how-to/traces.md", import.meta.url));
const CLIENT = "00f067aa0ba902b7";
const SOON = { timeout: 100_000, interval: 30 };

interface Attributes {
  readonly attributes?: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

interface Span extends Attributes {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

interface Received extends Span {
  readonly service: string;
}

interface Body {
  readonly resourceSpans: readonly {
    readonly resource: Attributes;
    readonly scopeSpans: readonly { readonly scope: { readonly name: string }; readonly spans: readonly Span[] }[];
  }[];
}

interface MessageType {
  fromObject(from: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): object;
}

interface Schema {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: { readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: MessageType } } };
    };
  };
}

/** The official schema of what a collector takes. Its package names no types for it. */
const MESSAGE = (generated as unknown as Schema).opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

/** A collector that says `answer`, and keeps what it takes. */
let collector: Server;
let answer: (response: ServerResponse) => void;
const bodies: Body[] = [];
const headers: string[] = [];
/** The services whose spans it did not take. */
const untaken = new Set<string>();
let dev: RadicalDev;
/** Its halves both draw half of the traces, whatever callers say. */
let drawing: RadicalDev;
let project: TemporaryProject;

beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      answer(response);
      if (response.statusCode !== 200) {
        for (const { resource } of body.resourceSpans) untaken.add(valueOf(resource, "service.name"));
        return;
      }
      headers.push(
        `${request.method} ${request.url} ${request.headers["content-type"]} ${String(request.headers["api-key"])}`,
      );
      bodies.push(body);
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const { port } = collector.address() as AddressInfo;
  // The variable in front of the command that the page about traces shows.
  const [, name = "", address = ""] = /^(OTEL_\w+)=(\S+) npx radical dev$/m.exec(readFileSync(PAGE, "utf8")) ?? [];
  const variables = {
    [name]: Object.assign(new URL(address), { port }).origin,
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=of%20mine",
  };
  dev = await radicalDev(PROJECT, ["--no-watch"], variables);
  project = await createProject({
    "radical.config.ts": 'export default { name: "marks", dev: { locations: { A: 0 } } };\n',
    "handlers/mark.ts": `import { Table } from "@radical/sdk";

const marks = new Table<string>("marks");

export function mark(name: string): void {
  marks.put(name, "|");
}
`,
  });
  drawing = await radicalDev(project.folder, ["--no-watch"], {
    ...variables,
    OTEL_TRACES_SAMPLER: "traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.5",
  });
});
beforeEach(() => {
  answer = (response) => response.end("{}");
  bodies.length = 0;
  untaken.clear();
});
afterAll(async () => {
  for (const one of [dev, drawing]) one?.child.kill("SIGINT");
  await Promise.all([dev?.closed, drawing?.closed]);
  await project?.remove();
  collector?.closeAllConnections();
  collector?.close();
});

function spans(traceId: string): readonly Received[] {
  return received().filter((span) => span.traceId === traceId);
}

function received(): readonly Received[] {
  return bodies
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ resource, scopeSpans }) => {
      const service = valueOf(resource, "service.name");
      return scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service })));
    });
}

function valueOf({ attributes = [] }: Attributes, key: string): string {
  return attributes.find((one) => one.key === key)?.value.stringValue ?? "";
}

async function call(handler: string, args: object, traceparent: string | null, at = dev): Promise<Response> {
  const more: Record<string, string> = traceparent === null ? {} : { traceparent };
  return fetch(`${at.url}/api/${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify(args),
  });
}

/** The execution's span of both sides, when both have come. */
async function halves(traceId: string): Promise<{ readonly location: Received; readonly primary: Received }> {
  return vi.waitUntil(() => {
    const whole = spans(traceId).filter(({ kind }) => kind === 2);
    const location = whole.find(({ service }) => service === "radical-location");
    const primary = whole.findLast(({ service }) => service === "radical-primary");
    return location !== undefined && primary !== undefined ? { location, primary } : null;
  }, SOON);
}

test("a request is one trace: the client, the location, its question, the primary", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const response = await call("addNote", { text: "confidential" }, `00-${traceId}-${CLIENT}-01`);
  expect(response.status).toBe(200);
  const { location, primary } = await halves(traceId);
  const all = spans(traceId);
  expect(location).toMatchObject({ name: "addNote", parentSpanId: CLIENT });
  const send = all.find(({ spanId }) => spanId === primary.parentSpanId);
  expect(send).toMatchObject({ name: "send", kind: 3, service: "radical-location", parentSpanId: location.spanId });
  expect(all.filter(({ parentSpanId }) => parentSpanId === location.spanId).map(({ name }) => name)).toEqual(
    expect.arrayContaining(["set", "send", "run"]) as unknown,
  );
  // All that the primary did for it came after the promise, and before its writes were applied.
  const below = all.filter(({ parentSpanId }) => parentSpanId === primary.spanId);
  expect(below.map(({ name }) => name)).toEqual(expect.arrayContaining(["intent", "followup", "apply"]) as unknown);
  // Each span has its own id, and its parent is in the trace or is the client.
  expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(all.length);
  const known = new Set([CLIENT, ...all.map(({ spanId }) => spanId)]);
  expect(all.filter(({ parentSpanId }) => !known.has(parentSpanId ?? ""))).toEqual([]);
  expect(all.every((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))).toBe(true);
  const execution = response.headers.get("x-radical-execution")?.replace("execution-", "");
  expect([valueOf(location, "radical.execution"), valueOf(primary, "radical.execution")]).toEqual([
    execution,
    execution,
  ]);
  expect(valueOf(location, "radical.path")).toBe(response.headers.get("x-radical-path"));
  expect(JSON.stringify(bodies)).not.toContain("confidential");
  expect(new Set(headers)).toEqual(new Set(["POST /v1/traces application/json of mine"]));
});

test("each request to the collector has the official form", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4737";
  await call("addNote", { text: "x" }, `00-${traceId}-${CLIENT}-01`);
  await halves(traceId);
  for (const body of bodies) {
    const known = MESSAGE.toObject(MESSAGE.decode(MESSAGE.encode(MESSAGE.fromObject(body)).finish()), {
      longs: String,
    });
    // The schema has bytes for ids, which the JSON form of OTLP writes in hex: they are looked at apart.
    expect(withoutIds(known)).toEqual(withoutIds(body));
  }
  for (const { traceId: id, spanId, parentSpanId = spanId } of spans(traceId)) {
    expect(id).toBe(traceId);
    expect([spanId, parentSpanId].every((one) => /^[0-9a-f]{16}$/.test(one))).toBe(true);
  }
});

test("a request without a trace begins one; one that its client does not sample has no spans", async () => {
  const unsampled = "4bf92f3577b34da6a3ce929d0e0e4738";
  await call("addNote", { text: "unsampled" }, `00-${unsampled}-${CLIENT}-00`);
  const response = await call("addNote", { text: "x" }, null);
  const execution = response.headers.get("x-radical-execution")!.replace("execution-", "");
  const found = await vi.waitUntil(() => {
    const all = bodies.flatMap(({ resourceSpans }) => resourceSpans).flatMap(({ scopeSpans }) => scopeSpans);
    const mine = all.flatMap((scope) => scope.spans).filter((span) => valueOf(span, "radical.execution") === execution);
    return mine.length === 2 ? mine : null;
  }, SOON);
  expect(new Set(found.map(({ traceId }) => traceId)).size).toBe(1);
  expect(found.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(1);
  // Both halves have told what came later. The primary tells in order.
  expect(spans(unsampled)).toEqual([]);
});

test("a sampler that passes over the caller draws both halves of a request, or none", async () => {
  const marked = async (trace: string | null): Promise<string> => {
    const response = await call("mark", { name: "x" }, trace, drawing);
    expect(response.status).toBe(200);
    return response.headers.get("x-radical-execution")!.replace("execution-", "");
  };
  const executions: string[] = [];
  // oxlint-disable-next-line no-await-in-loop -- so many at once that a location loses no spans: one
  while (executions.length < 40) executions.push(await marked(null));
  const left = await marked(`00-4bf92f3577b34da6a3ceffffffffffff-${CLIENT}-01`);
  const last = await marked(`00-4bf92f3577b34da6a3ce000000000000-${CLIENT}-00`);
  // The primary may be asked twice for one of them.
  const of = (service: string): ReadonlySet<string> =>
    new Set(
      received()
        .filter((span) => span.kind === 2 && span.service === service)
        .map((span) => valueOf(span, "radical.execution"))
        .filter((execution) => [...executions, left, last].includes(execution)),
    );
  const both = await vi.waitUntil(() => {
    const [location, primary] = [of("radical-location"), of("radical-primary")];
    const agree = location.size === primary.size && [...location].every((execution) => primary.has(execution));
    return agree && location.has(last) ? location : null;
  }, SOON);
  expect(both).not.toContain(left);
  expect(both.size).toBeLessThan(executions.length);
});

test("a collector that is away, or slow, takes nothing from any request", async () => {
  const before = (await (await call("count", {}, null)).json()) as { result: number };
  const held: ServerResponse[] = [];
  answer = (response) => void ((response.statusCode = 0), held.push(response));
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4739";
  const answered = await Promise.all(
    Array.from({ length: 40 }, () => call("increment", {}, `00-${traceId}-${CLIENT}-01`)),
  );
  expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
  await vi.waitUntil(() => untaken.has("radical-primary") && untaken.has("radical-location"), SOON);
  answer = (response) => void response.writeHead(503).end();
  for (const response of held) response.destroy();
  untaken.clear();
  const last = await call("increment", {}, `00-${traceId}-${CLIENT}-01`);
  expect(last.status).toBe(200);
  await vi.waitUntil(() => untaken.size > 0, SOON);
  const after = (await (await call("count", {}, null)).json()) as { result: number };
  expect(after.result - before.result).toBe(41);
  // The server keeps what it could not tell.
  answer = (response) => response.end("{}");
  const told = (): ReadonlySet<string> => {
    const whole = spans(traceId).filter(({ service, kind }) => service === "radical-primary" && kind === 2);
    return new Set(whole.map((span) => valueOf(span, "radical.execution")));
  };
  await vi.waitUntil(() => told().size === 41, SOON);
});

function withoutIds(value: unknown): unknown {
  const text = JSON.stringify(value, (key, one: unknown) =>
    /^(?:trace|span|parentSpan)Id$/.test(key) ? undefined : one,
  );
  return JSON.parse(text);
}
