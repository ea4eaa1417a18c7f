/** The checks of all that a deployment has done: a benchmark whose systems did something else than the handlers say measures nothing. */
import type { UnitId } from "@radical/protocol";
import type { HandlerModule } from "@radical/wasm-host";
import type { AppBuild } from "../build/build-app.ts";
import { argumentsOf } from "./arguments.ts";
import { EXECUTION_HEADER } from "./bench-requests.ts";
import type { Answered } from "./client.ts";
import type { Deployment, Sample } from "./deployment.ts";
import type { Placed, Versioned } from "./history.ts";
import type { Items } from "./model.ts";
import { type Problems, replayPlaced, replayVersioned } from "./replay-check.ts";
import type { CheckRow, System } from "./result.ts";
import { checkStrictSerializability } from "./strict-serializability.ts";

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

/** `samples`: what the LVI server has told of executions. */
export async function checkDeployment(deployment: Deployment, checked: Checked): Promise<readonly CheckRow[]> {
  const { answered, initial, module, run } = checked;
  await deployment.settled();
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
    const own = answered.filter((one) => one.system === system && hasOutcome(one));
    switch (system) {
      case "radical": {
        const { history, problems } = versionedOf(own, deployment.samples);
        const final = await deployment.stored("radical");
        add(system, "replay", history.length, [...problems, ...replayVersioned(history, module, initial, final)]);
        const units: ReadonlySet<UnitId> = new Set(initial.keys());
        add(system, "strict-serializability", history.length, checkStrictSerializability(history, units));
        break;
      }
      case "central":
      case "edge-direct": {
        const history = own.map((one) => placedOf(one, checked.app));
        add(system, "replay", history.length, replayPlaced(history, module, initial, await deployment.stored(system)));
        break;
      }
      case "ideal": {
        const problems = [...Map.groupBy(own, ({ location }) => location)].flatMap(([location, there]) =>
          replayPlaced(
            there.map((one) => placedOf(one, checked.app)),
            module,
            initial,
            null,
          ).map((problem) => `${location}: ${problem}`),
        );
        add(system, "replay", own.length, problems);
      }
    }
  }
  return rows;
}

/** Whether the handler has answered, be it with an error. */
export function hasOutcome({ system, headers }: Answered): boolean {
  return headers[system === "radical" ? "x-radical-path" : EXECUTION_HEADER] !== undefined;
}

/** What the server knows of each execution, and what its client was told. */
function versionedOf(
  answered: readonly Answered[],
  samples: readonly Sample[],
): { readonly history: readonly Versioned[]; readonly problems: Problems } {
  const answers = new Map(answered.map((one) => [one.headers["x-radical-execution"]!, one]));
  // Who was validated again after an answer was lost is told of again.
  const executions = new Map(samples.map((sample) => [sample.execution, sample]));
  const problems = [...answers].flatMap(([execution, { handler }]) =>
    executions.has(execution) ? [] : [`${handler} ${execution} was answered, and the primary knows nothing of it`],
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
      reads: new Map(sample.versions.map(([unit, commit]) => [unit as UnitId, commit])),
      writes: new Map(sample.ended?.writes.map(([unit, value]) => [unit as UnitId, value !== null])),
    };
  });
  return { history, problems };
}

function placedOf(answered: Answered, { manifest }: AppBuild): Placed {
  const { handler, args, sentAtMs: invokedAtMs, answeredAtMs, headers } = answered;
  const [position, timeMs, seed = ""] = headers[EXECUTION_HEADER]!.split(";");
  return {
    id: `${answered.location}/${answered.place}`,
    handler,
    args: argumentsOf(manifest, handler, args),
    environment: { timeMs: Number(timeMs), seed: new Uint8Array(Buffer.from(seed, "hex")), caller: null },
    answer: answered,
    invokedAtMs,
    answeredAtMs,
    position: Number(position),
  };
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}
