/** `pnpm fuzz:http --seconds N --seed S`: the fuzzer of the HTTP surface against a server process, for as long as wanted. */
import { parseArgs } from "node:util";
import { startFuzzed } from "./fuzzed-process.ts";
import { HttpFuzzer } from "./http-fuzzer.ts";
import { Random } from "./random.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Math.trunc(Math.random() * 2 ** 31)) },
  },
});
const seconds = Number(values.seconds);
const seed = Number(values.seed);
if (!(seconds > 0) || !Number.isSafeInteger(seed)) {
  console.error("usage: pnpm fuzz:http --seconds <number> --seed <whole number>");
  process.exit(2);
}

console.log(`seed ${seed}`);
const server = await startFuzzed();
const fuzzer = new HttpFuzzer(server, server.module, new Random(seed));
const endsAtMs = performance.now() + seconds * 1_000;
let batches = 0;
try {
  for (; performance.now() < endsAtMs; batches++) await fuzzer.batch();
} catch (error) {
  console.error(`WRONG, in batch ${batches} of seed ${seed}: ${String(error)}`);
  process.exitCode = 1;
} finally {
  fuzzer.close();
  if (server.isAlive()) await server.process.kill("SIGKILL");
}
console.log(JSON.stringify({ batches, ...fuzzer.report }, null, 2));
