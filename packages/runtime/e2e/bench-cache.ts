/**
 * `pnpm bench:cache [--json]`: what one batch of 20 units costs in each cache, inside one workerd. KV and the object's
 * disk are local here, so that the figures compare the work, not the distances of a deployment.
 */
import { commandLine } from "@radical/command-line";
import { Location } from "./location.ts";

const UNITS = 20;
const VALUE_BYTES = 500;
/** Of one sample: the clock of workerd shows whole milliseconds. */
const ROUNDS = { memory: 2_000, object: 60, kv: 5 } as const;
const SAMPLES = 7;

const ENTRY = `
  import { entryOf, commitId } from "@radical/protocol";
  import { CacheObjects, DurableObjectCache } from "../src/cache/durable-object-cache.ts";
  import { KvCache } from "../src/cache/kv-cache.ts";
  import { KvWrites } from "../src/cache/kv-writes.ts";
  import { MemoryCache } from "../src/cache/memory-cache.ts";
  import { PurgeMark } from "../src/cache/purge-mark.ts";
  import { answerLeaves, turns } from "../src/speculation-lane.ts";
  export { RadicalCache } from "../src/cache/radical-cache.ts";

  const units = Array.from({ length: ${UNITS} }, (_, index) => "notes/key-" + index);
  const memory = new MemoryCache(1e8);
  let sequence = 0;

  export default {
    async fetch(request, env) {
      const { kind, what, rounds } = await request.json();
      const errors = [];
      const common = { application: "bench", location: "here", timeoutMs: 10_000, onError: (error) => errors.push(String(error)) };
      const open = {
        memory: () => memory,
        object: () => new DurableObjectCache({
          ...common,
          objects: new CacheObjects(env.RADICAL_CACHE, "bench"),
          maxBytes: 1e9,
          maxAgeMs: 1e9,
          sinceMs: () => 0,
          mark: new PurgeMark(),
        }),
        kv: () => new KvCache({ ...common, namespace: env.RADICAL_CACHE_KV, maxAgeMs: 1e9, writes: new KvWrites() }),
      };
      const puts = () => {
        sequence++;
        return units.map((unit) => ({ unit, entry: entryOf(commitId(1, sequence), crypto.getRandomValues(new Uint8Array(${VALUE_BYTES}))) }));
      };
      const check = (found) => { if (found.size !== units.length) errors.push("found " + found.size); };
      const steps = {
        get: async () => check(await open[kind]().getMany(units)),
        put: (prepared) => open[kind]().putMany(prepared),
        "get behind a put": async (prepared) => {
          const put = open[kind]().putMany(prepared);
          // It begins when an answer would have left.
          await answerLeaves();
          await turns(1);
          const startedAtMs = performance.now();
          check(await open[kind]().getMany(units));
          gotMs += performance.now() - startedAtMs;
          await put;
        },
      };
      let gotMs = 0;
      await open[kind]().putMany(puts());
      const prepared = Array.from({ length: rounds }, puts);
      const startedAtMs = performance.now();
      for (const each of prepared) await steps[what](each);
      const tookMs = what === "get behind a put" ? gotMs : performance.now() - startedAtMs;
      return Response.json({ errors, us: (tookMs * 1_000) / rounds });
    },
  };
`;

type Kind = keyof typeof ROUNDS;
type What = "get" | "put" | "get behind a put";

async function main(): Promise<void> {
  const { json } = commandLine({
    name: "pnpm bench:cache",
    words: "Measure what a batch of units costs in each cache of a location.",
    options: { json: { kind: "flag", words: "as JSON instead of a table" } },
    exitCodes: ["it is measured", "it could not be", "wrong options"],
    examples: [["pnpm bench:cache", "a table of all three caches"]],
  });
  const location = await Location.start({ primaryUrl: "http://127.0.0.1:9", entry: ENTRY });
  try {
    const measure = async (kind: Kind, what: What): Promise<number> => {
      const all: number[] = [];
      for (let sample = 0; sample < SAMPLES; sample++) {
        const response = await location.request("/", {
          method: "POST",
          body: JSON.stringify({ kind, what, rounds: ROUNDS[kind] }),
        });
        const { errors, us } = (await response.json()) as { readonly errors: readonly string[]; readonly us: number };
        if (errors.length > 0) throw new Error(errors.join("\n"));
        all.push(us);
      }
      // The least disturbed one: others may use this machine.
      return Math.min(...all);
    };
    const kinds: readonly Kind[] = ["memory", "object", "kv"];
    const results: { readonly cache: Kind; readonly what: What; readonly us: number }[] = [];
    for (const what of ["get", "put", "get behind a put"] as const) {
      for (const cache of kinds) results.push({ cache, what, us: Math.round((await measure(cache, what)) * 10) / 10 });
    }
    const figures = results.map((result) => {
      const object = results.find(({ cache, what }) => cache === "object" && what === result.what);
      return { ...result, toObject: Number((result.us / object!.us).toPrecision(2)) };
    });
    if (json) console.log(JSON.stringify({ units: UNITS, valueBytes: VALUE_BYTES, results: figures }));
    else console.table(figures);
  } finally {
    await location.stop();
  }
}

await main();
