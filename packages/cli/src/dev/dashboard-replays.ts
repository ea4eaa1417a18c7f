/** Recorded executions, run again for the dashboard's page: in the build that carried them out, or in the present one. */
import { type ModuleHash, type RedactionQuestion, type Replay, type ReplayQuestion } from "@radical/protocol";
import type { HandlerModule } from "@radical/wasm-host";
import { CommandError } from "@radical/app/command-error";
import { replaySample } from "../replay/replay-steps.ts";
import type { SampleRing } from "../replay/sample-ring.ts";

/** Most modules that are kept compiled. */
const MAX_MODULES = 4;

export interface ReplayPorts {
  readonly samples: SampleRing;
  /** As the primary has it. */
  readonly module: (hash: ModuleHash) => Promise<HandlerModule>;
  /** The build that serves now. Throws a CommandError if none does. */
  readonly present: () => ModuleHash | Promise<ModuleHash>;
  /** The redaction of samples by the primary. */
  readonly redact: RedactionQuestion;
}

export class DashboardReplays {
  readonly #ports: ReplayPorts;
  readonly #modules = new Map<ModuleHash, HandlerModule>();

  constructor(ports: ReplayPorts) {
    this.#ports = ports;
  }

  /** Throws a CommandError if the execution is not recorded. */
  async replay({ execution, build }: ReplayQuestion): Promise<Replay> {
    const { samples, present, redact } = this.#ports;
    const sample = samples.get(execution);
    if (sample === null)
      throw new CommandError(
        "not_recorded",
        `The execution ${execution.slice(0, 32)} is not recorded, or not any more.`,
        "Choose one of the list: it has the last executions whose values the primary knew.",
      );
    const recordedIn = await this.#module(sample.module);
    if (build === "recorded") return replaySample({ sample, recordedIn, present: null, redact });
    const hash = await present();
    return replaySample({ sample, recordedIn, present: { hash, module: await this.#module(hash) }, redact });
  }

  async #module(hash: ModuleHash): Promise<HandlerModule> {
    const known = this.#modules.get(hash) ?? (await this.#ports.module(hash));
    this.#modules.set(hash, known);
    for (const oldest of this.#modules.keys()) if (this.#modules.size > MAX_MODULES) this.#modules.delete(oldest);
    return known;
  }
}
