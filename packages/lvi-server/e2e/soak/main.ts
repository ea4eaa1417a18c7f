/** `pnpm soak`: a server with little memory under all loads at once, for as long as wanted. */
import { commandLine } from "@radical/command-line";
import { Soak, SOAK_MEMORY_MB } from "./soak.ts";

const { seconds } = commandLine({
  name: "pnpm soak",
  words: `Load a server process that may take ${SOAK_MEMORY_MB} MiB with large values, slow listeners, big bodies, requests that wait,\nheavy handlers and tasks. Look at the end whether it has stayed within them and has lost nothing.`,
  options: { seconds: { kind: "number", default: 1_200, least: 1, words: "how long" } },
  exitCodes: ["nothing was wrong", "something was", "wrong options"],
  examples: [
    ["pnpm soak", "twenty minutes"],
    ["pnpm soak --seconds 60", "a minute"],
  ],
});

const soak = new Soak();
const endsAtMs = performance.now() + seconds * 1_000;
try {
  await soak.start();
  let turns = 0;
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (; performance.now() < endsAtMs; turns++) {
    await soak.turn();
    process.stderr.write(`turn ${turns + 1}: at most ${soak.peakMb} of ${SOAK_MEMORY_MB} MiB so far\n`);
  }
  const report = await soak.end();
  console.log(JSON.stringify(report, null, 2));
  if (report.peakMb >= SOAK_MEMORY_MB) throw new Error(`the process took ${report.peakMb} MiB`);
} catch (error) {
  console.error(`WRONG: ${String(error)}`);
  process.exitCode = 1;
} finally {
  await soak.close();
}
