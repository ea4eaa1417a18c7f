/** What a module must be to be registered: what its hash says, complete, and within the memory that it names. */
import { type ModuleContent, type ModuleHash, RadicalError } from "@radical/protocol";
import { isCron } from "../cron.ts";
import { BinaryReader, compileModule, faultOf, type HandlerModule, Section, sectionsOf } from "@radical/wasm-host";

/** Most memory of one handler, in pages of 64 KiB: each worker thread may have to hold as much. */
const MAX_MEMORY_PAGES = 4_096;

/** Throws a RadicalError that says what is wrong with it. */
export function checkModule(hash: ModuleHash, content: ModuleContent): void {
  let module: HandlerModule;
  try {
    module = compileModule(content);
  } catch (error) {
    throw new RadicalError(
      "malformed_message",
      `The module is not valid WebAssembly: ${String(error)}`,
      "Build it again.",
    );
  }
  if (module.hash !== hash) {
    throw new RadicalError(
      "module_mismatch",
      `The content has the hash ${module.hash}, not ${hash}.`,
      "Register a module under its own hash.",
    );
  }
  const fault = faultOf(module, content) ?? faultOfMemory(content) ?? faultOfSchedules(content);
  if (fault !== null)
    throw new RadicalError("malformed_message", `The module can't be run: ${fault}`, "Build it again.");
}

/** A zone that was known where the module was built may be unknown here. */
function faultOfSchedules({ tasks = {} }: ModuleContent): string | null {
  for (const [handler, { schedule }] of Object.entries(tasks))
    if (schedule?.kind === "cron" && !isCron(schedule.fields, schedule.zone))
      return `this server does not know the times of the schedule of ${handler}: ${schedule.fields} ${schedule.zone}`;
  return null;
}

/** The engine holds a program to the maximum that it declares, so it must declare one. */
function faultOfMemory({ limits, wasm, rwWasm }: ModuleContent): string | null {
  const { memoryPages } = limits;
  if (memoryPages > MAX_MEMORY_PAGES) return `it wants ${memoryPages} pages of memory; at most ${MAX_MEMORY_PAGES}`;
  for (const program of [wasm, rwWasm]) {
    const mostPages = maximumPages(program);
    if (mostPages > memoryPages) return `a memory may grow to ${mostPages} pages; its limit is ${memoryPages}`;
  }
  return null;
}

const HAS_MAXIMUM = 1;

/** Of the memories of a valid program (WebAssembly specification, section 5.5.8); Infinity for one without a maximum. */
export function maximumPages(wasm: Uint8Array): number {
  const section = sectionsOf(wasm).get(Section.Memory);
  if (section === undefined) return 0;
  const reader = new BinaryReader(section);
  let most = 0;
  for (let left = reader.unsigned(); left > 0; left--) {
    const flags = reader.unsigned();
    reader.unsigned();
    most = Math.max(most, (flags & HAS_MAXIMUM) === 0 ? Infinity : reader.unsigned());
  }
  return most;
}
