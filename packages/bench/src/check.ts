/** The checks of all that a deployment has done: a benchmark whose systems did something else than the handlers say measures nothing. */
import { contentHash, isSpan, type UnitId } from "@radical/protocol";
import type { HandlerModule } from "@radical/wasm-host";
import type { AppBuild } from "@radical/app";
import { argumentsOf } from "./arguments.ts";
import { EXECUTION_HEADER } from "./bench-requests.ts";
import { type Answered, executionOf } from "./client.ts";
import type { Deployment, Sample } from "./deployment.ts";
import type { Placed, Versioned } from "./history.ts";
import type { Items } from "./model.ts";
import { type Problems, replayPlaced, replayVersioned } from "./replay-check.ts";
import type { CheckRow, System } from "./result.ts";
import { orderOf } from "./strict-serializability.ts";

/** Problems that are told. */
const MOST_PROBLEMS = 10;

export interface Checked {
  readonly app: AppBuild;
  readonly module: HandlerModule;
  readonly initial: Items;
  /** Everything that was ever sent to the deployment. */
  readonly answered: readonly Answered[];
  /** The last run on it. */
  readonly run: number;
}

/** What executions have been, by system; of `ideal` each location has its own order. */
export interface Histories {
  readonly radical: readonly Versioned[];
  readonly central: readonly Placed[];
  readonly "edge-direct": readonly Placed[];
  readonly ideal: ReadonlyMap<string, readonly Placed[]>;
  /** Of putting them together. */
  readonly problems: Problems;
}

/** When everything is settled. */
export function historiesOf({ samples }: Pick<Deployment, "samples">, { app, answered }: Checked): Histories {
  const of = (system: System): readonly Answered[] =>
    answered.filter((one) => one.system === system && hasOutcome(one));
  const placed = (those: readonly Answered[]): readonly Placed[] => those.map((one) => placedOf(one, app));
  const { history: radical, problems } = versionedOf(of("radical"), samples);
  const ideal = new Map(
    Array.from(
      Map.groupBy(of("ideal"), ({ location }) => location),
      ([location, those]) => [location, placed(those)],
    ),
  );
  return { radical, central: placed(of("central")), "edge-direct": placed(of("edge-direct")), ideal, problems };
}

export async function checkDeployment(deployment: Deployment, checked: Checked): Promise<readonly CheckRow[]> {
  const { initial, module, run } = checked;
  const histories = historiesOf(deployment, checked);
  const rows: CheckRow[] = [];
  const add = (system: System, kind: CheckRow["kind"], executions: number, problems: Problems): void => {
    rows.push({
      run,
      system,
      kind,
      passed: problems.length === 0,
      executions,
      units: initial.size,
      problems: problems.slice(0, MOST_PROBLEMS),
    });
  };
  for (const system of deployment.options.systems) {
    switch (system) {
      case "radical": {
        const { radical: history, problems } = histories;
        const final = await deployment.stored("radical");
        const { problems: violations, order } = orderOf(history, deployment.initial);
        const differences = replayVersioned(history, order, module, initial, final);
        add(system, "replay", history.length, [...problems, ...differences]);
        add(system, "strict-serializability", history.length, violations);
        break;
      }
      case "central":
      case "edge-direct": {
        const history = histories[system];
        add(system, "replay", history.length, replayPlaced(history, module, initial, await deployment.stored(system)));
        break;
      }
      case "ideal": {
        const problems = [...histories.ideal].flatMap(([location, history]) =>
          replayPlaced(history, module, initial, null).map((problem) => `${location}: ${problem}`),
        );
        const executions = [...histories.ideal.values()].reduce((sum, { length }) => sum + length, 0);
        add(system, "replay", executions, problems);
      }
    }
  }
  return rows;
}

/** Whether the handler has answered, be it with an error. */
export function hasOutcome({ system, headers }: Answered): boolean {
  return headers[system === "radical" ? "x-radical-path" : EXECUTION_HEADER] !== undefined;
}

/** What the server, or a location for its leased answers, knows of each execution, and what its client was told. */
function versionedOf(
  answered: readonly Answered[],
  samples: readonly Sample[],
): { readonly history: readonly Versioned[]; readonly problems: Problems } {
  const answers = new Map(answered.map((one) => [executionOf(one), one]));
  // Who was validated again after an answer was lost is told of again.
  const executions = new Map(samples.map((sample) => [sample.execution, sample]));
  const problems = [...answers].flatMap(([execution, { handler }]) =>
    executions.has(execution)
      ? []
      : [`${handler} ${execution} was answered, and neither the primary nor its location knows of it`],
  );
  const history = Array.from(executions.values(), (sample): Versioned => {
    const answer = answers.get(sample.execution);
    return {
      id: sample.execution,
      handler: sample.handler,
      args: bytesOf(sample.args),
      environment: { timeMs: sample.timeMs, seed: bytesOf(sample.seed), caller: sample.caller },
      answer: answer ?? null,
      invokedAtMs: answer?.sentAtMs ?? Number.NEGATIVE_INFINITY,
      answeredAtMs: answer?.answeredAtMs ?? Infinity,
      commit: sample.commit,
      reads: new Map(
        sample.versions.flatMap(([unit, commit]) =>
          isSpan(unit as UnitId) ? [] : [[unit as UnitId, commit] as const],
        ),
      ),
      scans: new Map(
        sample.versions.flatMap(([unit, , digest]) =>
          digest === undefined ? [] : [[unit as UnitId, digest] as const],
        ),
      ),
      writes: new Map(
        sample.ended?.writes.map(([unit, value]) => [
          unit as UnitId,
          value === null ? null : contentHash(bytesOf(value)),
        ]),
      ),
    };
  });
  return { history, problems };
}

function placedOf(answered: Answered, { manifest }: AppBuild): Placed {
  const { handler, args, caller = null, sentAtMs: invokedAtMs, answeredAtMs, headers } = answered;
  const [position, wrote, timeMs, seed = ""] = headers[EXECUTION_HEADER]!.split(";");
  return {
    id: `${answered.location}/${answered.place}`,
    handler,
    args: argumentsOf(manifest, handler, args),
    environment: { timeMs: Number(timeMs), seed: new Uint8Array(Buffer.from(seed, "hex")), caller },
    answer: answered,
    invokedAtMs,
    answeredAtMs,
    position: Number(position),
    wrote: wrote === "1",
  };
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}
