/** A server process for the fuzzer: the real one, on storage in memory. */
import { createInterface } from "node:readline";
import { type TestModule, testModule } from "../test-module.ts";
import { type ServerProcess, startProcess } from "../test-process.ts";
import { TestClient } from "../test-client.ts";
import type { FuzzedServer } from "./http-fuzzer.ts";

export interface FuzzedProcess extends FuzzedServer {
  readonly process: ServerProcess;
  readonly module: TestModule;
}

export async function startFuzzed(): Promise<FuzzedProcess> {
  const process = await startProcess([
    "--storage=sqlite::memory:",
    "--workers=1",
    "--followup-timeout-ms=200",
    "--execution-limit-ms=20000",
  ]);
  let errors = "";
  createInterface(process.child.stderr!).on("line", (line) => {
    // Alarms are what wrong messages are for.
    if (!/"event":"(?:determinism|lost_write|intent|wrote_on_get)_alarm"/.test(line)) errors += `${line}\n`;
  });
  const module = await testModule();
  await new TestClient(process.url, module).register();
  return {
    process,
    module,
    url: process.url,
    isAlive: () => process.child.exitCode === null && process.child.signalCode === null,
    errors: () => errors,
  };
}
