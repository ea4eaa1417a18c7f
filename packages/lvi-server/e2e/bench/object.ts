/**
 * LambdaStore's benchmark of one object: 1,000 entries, ten operations of an execution on entries drawn at random. The entries are items of
 * their own, or together one item. LambdaStore's entries have 1 KB; an item has room for 1,000 of 350 bytes. Clients know the units of their calls and no versions. So all executions run near
 * storage, as methods of LambdaStore do.
 */
import { Random } from "@radical/history";
import { type AccessedUnit, decodeLviReply, encodeLviRequest, LVI_PATH, unitId } from "@radical/protocol";
import { Connection, signedRequest } from "./connection.ts";
import { type Effort, type Figure, figure, median, type Progress } from "./figure.ts";
import { type StartedServer, withServer } from "./processes.ts";

const LOCATIONS = ["VA", "CA", "IE", "DE", "JP"];
const CLIENTS = 50;
const ENTRIES = 1_000;
const ENTRY_BYTES = 350;
const OPERATIONS = 10;
/** The part of an object that one execution fills. */
const FILLED = 50;
/** An object in one item takes so much longer that fewer executions tell its rate. */
const FEWER = 20;

interface Mix {
  readonly name: string;
  /** The part of operations that write. */
  readonly writes: number;
  readonly goal: Figure["goal"];
}

const MIXES: readonly Mix[] = [
  { name: "half writes", writes: 0.5, goal: { atLeast: 20 } },
  { name: "reads only", writes: 0, goal: { atLeast: 0.95 } },
  { name: "writes only", writes: 1, goal: { atLeast: 0.95 } },
];

const FORMS = ["items", "one item"] as const;
type Form = (typeof FORMS)[number];

export function benchObject(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const random = new Random(1);
  return withServer(
    async (server) => {
      const connections = await Promise.all(Array.from({ length: CLIENTS }, () => Connection.open(server.url)));
      try {
        const figures: Figure[] = [];
        for (const mix of MIXES) {
          await fill(server, connections[0]!, mix);
          const rates: Record<Form, number[]> = { items: [], "one item": [] };
          // The first turn warms the server up.
          for (let turn = 0; turn <= effort.turns; turn++) {
            progress(`${mix.name}, turn ${turn} of ${effort.turns}`);
            for (const form of FORMS) {
              const requests = form === "items" ? effort.requests : effort.requests / FEWER;
              const rate = await rateOf(server, connections, requests, () => callOf(form, mix, random));
              if (turn > 0) rates[form].push(rate);
            }
          }
          const share = median(rates.items.map((rate, turn) => rate / rates["one item"][turn]!));
          figures.push(
            figure(`${mix.name}, entries as items`, median(rates.items), "/s"),
            figure(`${mix.name}, entries in one item`, median(rates["one item"]), "/s"),
            figure(`${mix.name}: items beside one item`, share, "", mix.goal),
          );
        }
        return figures;
      } finally {
        for (const connection of connections) connection.close();
      }
    },
    "--location-workers-percent",
    "100",
  );
}

interface Call {
  readonly handler: string;
  readonly argument: string;
  readonly units: readonly AccessedUnit[];
}

function callOf(form: Form, mix: Mix, random: Random): Call {
  const places = new Set<number>();
  while (places.size < OPERATIONS) places.add(random.below(ENTRIES));
  return workOn(
    form,
    mix,
    Array.from(places, (place) => `${random.chance(mix.writes) ? "+" : "-"}${place}`),
  );
}

function workOn(form: Form, { name }: Mix, operations: readonly string[]): Call {
  const work = operations.join(",");
  const isWrite = (operation: string): boolean => operation.startsWith("+");
  if (form === "one item") {
    const units = [unitOf(name, operations.some(isWrite))];
    return { handler: "workOnWhole", argument: `${name}:${ENTRY_BYTES}:${ENTRIES}:${work}`, units };
  }
  const units = operations.map((operation) => unitOf(`${name}/${operation.slice(1)}`, isWrite(operation)));
  return { handler: "workOnEntries", argument: `${name}:${ENTRY_BYTES}:${work}`, units };
}

function unitOf(key: string, isWritten: boolean): AccessedUnit {
  return { unit: unitId("bytes", key), mode: isWritten ? "read-write" : "read", version: null };
}

async function fill(server: StartedServer, connection: Connection, mix: Mix): Promise<void> {
  const calls = Array.from({ length: ENTRIES / FILLED }, (_, part) =>
    workOn(
      "items",
      mix,
      Array.from({ length: FILLED }, (_entry, at) => `+${part * FILLED + at}`),
    ),
  );
  const own = [...calls, workOn("one item", mix, ["+0"])].values();
  await connection.sendAll(() => nextOf(server, own.next().value ?? null, 0), expectExecuted);
}

/** Executions in a second, of so many. */
async function rateOf(
  server: StartedServer,
  connections: readonly Connection[],
  requests: number,
  next: () => Call,
): Promise<number> {
  const count = Math.ceil(requests / CLIENTS);
  const made = connections.map((_, client) => Array.from({ length: count }, () => nextOf(server, next(), client)));
  const startedAtMs = performance.now();
  await Promise.all(
    connections.map((connection, client) => {
      const own = made[client]!.values();
      return connection.sendAll(() => own.next().value ?? null, expectExecuted);
    }),
  );
  return (count * CLIENTS * 1_000) / (performance.now() - startedAtMs);
}

function nextOf({ client }: StartedServer, call: Call | null, place: number): ReturnType<typeof signedRequest> | null {
  if (call === null) return null;
  const location = LOCATIONS[place % LOCATIONS.length]!;
  return signedRequest(
    LVI_PATH,
    encodeLviRequest(client.requestOf(call.handler, call.argument, call.units, { location })),
  );
}

function expectExecuted(body: Uint8Array): void {
  const reply = decodeLviReply(body);
  if (reply.kind !== "executed" || reply.outcome.kind !== "result")
    throw new Error(`not executed: ${JSON.stringify(reply)}`);
}
