/**
 * The cost of audits: executions with followups of an honest location. One server audits none, one audits one in a hundred, and one all
 * of them. The same client, the same connections, in turns of one run.
 */
import { randomBytes } from "node:crypto";
import {
  type AccessedUnit,
  decodeFollowupReply,
  decodeLviReply,
  encodeFollowup,
  encodeLviRequest,
  type Entry,
  entryOf,
  FOLLOWUP_PATH,
  LVI_PATH,
  unitId,
} from "@radical/protocol";
import { ABSENT } from "../test-client.ts";
import { type Connection, signedRequest } from "./connection.ts";
import { type Effort, type Figure, figure, median, type Progress } from "./figure.ts";
import { type StartedServer, withServer } from "./processes.ts";
import { compare, type Rate } from "./request-path.ts";

/** Small numbers are one byte as CBOR. */
const MOST_COUNTED = 23;

export function benchAudits(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const audited = (percent: number, use: (server: StartedServer) => Promise<readonly Figure[]>) =>
    withServer(use, "--audit-percent", String(percent));
  return audited(0, (none) =>
    audited(1, (some) =>
      audited(100, async (all) => {
        const servers = [none, some, all];
        const run = async (
          target: { readonly url: string; cpuSeconds(): Promise<number> },
          connections: readonly Connection[],
          executions: number,
        ): Promise<Rate> => {
          const server = servers.find(({ url }) => url === target.url);
          if (server === undefined) throw new Error("the target is not a server of this benchmark");
          let left = executions;
          const before = await target.cpuSeconds();
          const startedAtMs = performance.now();
          await Promise.all(
            connections.map(async (connection) => {
              const counter = new CounterOf(server, connection);
              for (; left > 0; left--) await counter.increment();
            }),
          );
          const perSecond = (executions / (performance.now() - startedAtMs)) * 1_000;
          return { perSecond, cpuMicros: ((await target.cpuSeconds()) - before) * (1e6 / executions) };
        };
        const halved = { ...effort, requests: Math.ceil(effort.requests / 2) };
        const [plain = [], ...others] = await compare(servers, halved, run, progress);
        return others.flatMap((rates, index) => {
          const what = index === 0 ? "one in a hundred audited" : "all audited";
          const part = (of: (rate: Rate) => number): number =>
            median(rates.map((rate, turn) => of(rate) / of(plain[turn]!)));
          return [
            figure(
              `${what}: part of the rate without audits`,
              part(({ perSecond }) => perSecond),
              "",
            ),
            figure(
              `${what}: processor time, as a part of that without`,
              part(({ cpuMicros }) => cpuMicros),
              "",
            ),
          ];
        });
      }),
    ),
  );
}

/** A counter that nobody else touches. */
class CounterOf {
  readonly #server: StartedServer;
  readonly #connection: Connection;
  #key = "";
  #count = 0;
  #entry: Entry = ABSENT;

  constructor(server: StartedServer, connection: Connection) {
    this.#server = server;
    this.#connection = connection;
    this.#begin();
  }

  #begin(): void {
    [this.#key, this.#count, this.#entry] = [randomBytes(8).toString("hex"), 0, ABSENT];
  }

  async increment(): Promise<void> {
    if (this.#count === MOST_COUNTED) this.#begin();
    const unit = unitId("counters", this.#key);
    const set: readonly AccessedUnit[] = [{ unit, mode: "read-write", version: this.#entry.version }];
    const request = this.#server.client.requestOf("increment", this.#key, set);
    const reply = decodeLviReply(await this.#connection.send(signedRequest(LVI_PATH, encodeLviRequest(request))));
    if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
    const value = Uint8Array.of(++this.#count);
    const followup = encodeFollowup({
      executionId: request.executionId,
      commitId: reply.commitId,
      outcome: { kind: "result", value },
      writes: [{ unit, value }],
      effects: [],
    });
    const result = decodeFollowupReply(await this.#connection.send(signedRequest(FOLLOWUP_PATH, followup)));
    if (result !== "applied") throw new Error(`the followup was ${result}`);
    this.#entry = entryOf(reply.commitId, value);
  }
}
