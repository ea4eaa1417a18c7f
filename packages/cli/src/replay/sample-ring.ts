/** The last executions that the primary has sampled with their values, to be run again: bounded, however large they are. */
import type { DashboardRecord, DashboardRecords, ExecutionId, SampleLine } from "@radical/protocol";

export type Sample = SampleLine & { readonly kind: "sample" };

const MAX_SAMPLES = 500;
/** Of their values and arguments, as they came. */
const MAX_BYTES = 16 * 1024 * 1024;

export class SampleRing {
  /** The oldest first. */
  readonly #samples = new Map<string, { readonly sample: Sample; readonly bytes: number }>();
  #bytes = 0;
  #leftOut = 0;

  add(line: SampleLine): void {
    if (line.kind === "left-out") this.#leftOut += line.count;
    if (line.kind !== "sample") return;
    this.#remove(line.execution);
    const bytes = sizeOf(line);
    this.#samples.set(line.execution, { sample: line, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#samples.keys()) {
      if (this.#samples.size <= MAX_SAMPLES && this.#bytes <= MAX_BYTES) break;
      this.#remove(oldest);
    }
  }

  /** Null: it was not sampled, or is not kept any more. */
  get(execution: string): Sample | null {
    return this.#samples.get(execution)?.sample ?? null;
  }

  get records(): DashboardRecords {
    const records = Array.from(this.#samples.values(), ({ sample }): DashboardRecord => {
      const { execution, handler, location, module, timeMs, path, commit } = sample;
      return { execution: execution as ExecutionId, handler, location, module, timeMs, path, commit };
    });
    return { records: records.toReversed(), leftOut: this.#leftOut };
  }

  #remove(execution: string): void {
    this.#bytes -= this.#samples.get(execution)?.bytes ?? 0;
    this.#samples.delete(execution);
  }
}

function sizeOf({ args, values, ended, activation }: Sample): number {
  const parts = [...(values ?? []), ...(ended?.writes ?? [])];
  const size = parts.reduce((sum, [unit, value]) => sum + unit.length + (value?.length ?? 0), args.length);
  const entries = activation?.entries.reduce((sum, entry) => sum + entry.length, 0) ?? 0;
  return size + entries + (ended?.outcome.length ?? 0) + (ended?.effects?.length ?? 0);
}
