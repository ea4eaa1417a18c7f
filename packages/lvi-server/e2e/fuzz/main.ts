/** `pnpm fuzz:http`: the fuzzer of the HTTP surface against a server process, for as long as wanted. */
import { commandLine } from "@radical/command-line";
import { startFuzzed } from "./fuzzed-process.ts";
import { HttpFuzzer } from "./http-fuzzer.ts";
import { Random } from "@radical/history";

const { seconds, seed } = commandLine({
  name: "pnpm fuzz:http",
  words:
    "Send to a server process what nobody should send, in batches, and look after each whether it has lost, held or\nbroken anything.",
  options: {
    seconds: { kind: "number", default: 60, least: 1, words: "how long" },
    seed: { kind: "seed", words: "of what is sent; how the senders interleave it is not decided by it" },
  },
  exitCodes: ["nothing was wrong", "something was", "wrong options"],
  examples: [
    ["pnpm fuzz:http --seconds 600", "ten minutes of it"],
    ["pnpm fuzz:http --seed 1234", "what a run has sent, again"],
  ],
});

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
