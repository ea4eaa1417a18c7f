/** Calls to storage, as the server's own metrics count them: on the reply path, and until the followup is applied. */
import { type AccessedUnit, commitId, entryOf, unitId } from "@radical/protocol";
import { type Effort, type Figure, figure, type Progress } from "./figure.ts";
import { metricsOf, type StartedServer, withServer } from "./processes.ts";
import { makeHot } from "./request-path.ts";

const READS = 100;
const LOCKS = [1, 10, 100];
const VALUE = Uint8Array.of(1);

export function benchStorageCalls(_effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  return withServer(
    async (server) => {
      const units = await makeHot(server, 10);
      const figures: Figure[] = [];
      progress("hot reads");
      const reads = await callsDuring(server, async () => {
        for (let read = 0; read < READS; read++) await server.client.lvi(server.client.requestOf("read", "a", units));
      });
      figures.push(figure(`${READS} hot read-only requests of 10 units: calls`, reads, "", { atMost: 0 }));
      for (const count of LOCKS) {
        progress(`${count} locks`);
        const written: readonly AccessedUnit[] = Array.from({ length: count }, (_, index) => ({
          unit: unitId("counters", `locked-${count}-${index}`),
          mode: "write",
        }));
        const request = server.client.requestOf("increment", "a", written);
        let commit = commitId(0, 0);
        const replied = await callsDuring(server, async () => {
          const reply = await server.client.lvi(request);
          if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
          commit = reply.commitId;
        });
        const applied = await callsDuring(server, async () => {
          const { executionId } = request;
          const writes = written.map(({ unit }) => ({ unit, value: VALUE }));
          await server.client.followup({
            executionId,
            commitId: commit,
            outcome: { kind: "result", value: VALUE },
            writes,
            effects: [],
          });
        });
        figures.push(
          figure(`write of ${count} units: calls before the reply`, replied, "", { atMost: 1 }),
          figure(`write of ${count} units: calls for its followup`, applied, ""),
        );
        // What it wrote is in memory too.
        const { version } = entryOf(commit, VALUE);
        const again = written.map(({ unit }) => ({ unit, mode: "read" as const, version }));
        const hot = await callsDuring(server, () => server.client.lvi(server.client.requestOf("read", "a", again)));
        figures.push(figure(`read of those ${count} units: calls`, hot, "", { atMost: 0 }));
      }
      return figures;
      // No renewal of the leadership among the calls.
    },
    "--lease-ms",
    "60000",
  );
}

async function callsDuring({ url }: StartedServer, action: () => Promise<unknown>): Promise<number> {
  const calls = async (): Promise<number> => {
    const counts = [...(await metricsOf(url))].filter(([name]) =>
      name.startsWith("radical_storage_operation_seconds_count"),
    );
    return counts.filter(([name]) => !name.includes("_lease")).reduce((total, [, count]) => total + count, 0);
  };
  const before = await calls();
  await action();
  return (await calls()) - before;
}
