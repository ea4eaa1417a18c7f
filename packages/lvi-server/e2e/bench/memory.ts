/** Memory of the version table, in a process of its own: what it holds more than before, after collection. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Effort, type Figure, figure, type Progress } from "./figure.ts";

const CHILD = fileURLToPath(new URL("memory-process.ts", import.meta.url));
const VALUES = [0, 32];

export interface Memory {
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** By the table's own account. */
  readonly countedBytes: number;
}

export async function benchMemory({ versions }: Effort, progress: Progress): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const valueBytes of VALUES) {
    progress(`values of ${valueBytes} bytes`);
    const { heapBytes, residentBytes, countedBytes } = await measure(versions, valueBytes);
    const what = `${versions} versions, ${valueBytes === 0 ? "of absent units" : `with values of ${valueBytes} bytes`}`;
    const goal = { atMost: versions * 200 * 1e-6 };
    figures.push(
      figure(`${what}: heap`, heapBytes / 1e6, "MB", goal),
      figure(`${what}: resident`, residentBytes / 1e6, "MB"),
      figure(`${what}: as the table counts`, countedBytes / 1e6, "MB"),
    );
  }
  return figures;
}

async function measure(versions: number, valueBytes: number): Promise<Memory> {
  const child = spawn(
    process.execPath,
    ["--conditions=source", "--expose-gc", CHILD, String(versions), String(valueBytes)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), "line"),
    once(child, "exit").then(() => {
      throw new Error("the process that is measured has ended");
    }),
  ])) as [string];
  return JSON.parse(line) as Memory;
}
