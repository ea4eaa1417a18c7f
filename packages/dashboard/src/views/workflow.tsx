/** One workflow: its state, its timeline, and orders to it. */
import { useSignal } from "@preact/signals";
import type { DashboardWorkflow, ExecutionId, ListedWorkflow, WorkflowAction } from "@radical/protocol";
import { fromNow, lengthWords } from "../model/tasks.ts";
import {
  effectOf,
  type Timeline as Steps,
  timelineOf,
  WORKFLOW_ACTION_NAMES,
  WORKFLOW_STATE_WORDS,
  workflowActionsOf,
} from "../model/timeline.ts";
import { calls, isDeployment, selected, state as dashboard, view } from "../store.ts";
import { isTimeMoving, moveTime } from "./time.tsx";
import { Timeline } from "./timeline.tsx";

type History = NonNullable<DashboardWorkflow>;

interface OneProps {
  readonly chosen: ExecutionId | null;
  readonly history: DashboardWorkflow | undefined;
  readonly onChoose: (workflow: ExecutionId) => void;
  readonly onOrder: (action: WorkflowAction, id: ExecutionId, handler: string) => Promise<void>;
}

export function OneWorkflow({ chosen, history, onChoose, onOrder }: OneProps) {
  if (chosen === null || history === undefined)
    return (
      <section class="card pad" aria-label="One workflow">
        <p class="soft">{chosen === null ? "Choose a workflow to see its steps." : "Looking for its journal …"}</p>
      </section>
    );
  if (history === null)
    return (
      <section class="card pad stack" aria-label="One workflow">
        <h2>There is no such workflow</h2>
        <p class="soft">
          It has ended long ago, or waits as a task until it begins. Its id is <code class="wrap-any">{chosen}</code>.
        </p>
      </section>
    );
  const { workflow } = history;
  const steps = timelineOf(history);
  return (
    <section class="card pad stack" aria-label="One workflow">
      <div class="row">
        <h2>
          <code>{workflow.handler}</code>
        </h2>
        <StateTag of={workflow.state} />
        <span class="grow" />
        <span class="muted num">
          {workflow.endedAtMs === null
            ? `for ${lengthWords(history.timeMs - workflow.createdAtMs)}`
            : `ended ${fromNow(workflow.endedAtMs, history.timeMs)}`}
        </span>
      </div>
      <p class="soft">{sentenceOf(history, steps)}</p>
      {workflow.error !== null && (
        <div class="advice warn">
          <p class="b">
            <code>{workflow.error.code}</code>
          </p>
          <p class="soft wrap-any">{workflow.error.message}</p>
        </div>
      )}
      <Timeline history={history} steps={steps} onChoose={onChoose} />
      <Facts history={history} onChoose={onChoose} />
      {isDeployment.value ? (
        <p class="muted note">
          Orders are for <code>radical workflows</code>: this page changes nothing of a deployment.
        </p>
      ) : (
        <Orders key={workflow.id} history={history} onOrder={onOrder} />
      )}
    </section>
  );
}

function sentenceOf({ workflow: { state, error } }: History, { endedRunMs }: Steps): string {
  if (state === "ended")
    return error === null ? "It has ended with a result." : "It has failed. What it had done is undone.";
  if (state === "running" && endedRunMs !== null)
    return "Its run has ended. It waits for the steps that are under way.";
  return WORKFLOW_STATE_WORDS[state];
}

function Facts({ history, onChoose }: { readonly history: History; readonly onChoose: OneProps["onChoose"] }) {
  const { workflow, args, caller } = history;
  const request = calls.value.find(({ life }) => life.execution === workflow.id);
  const { parent, module, id, entries, bytes, round } = workflow;
  return (
    <dl class="kv">
      {request !== undefined && (
        <>
          <dt>Request</dt>
          <dd>
            <button
              type="button"
              class="link"
              onClick={() => {
                selected.value = request.id;
                view.value = "requests";
              }}
            >
              the one that started it
            </button>
          </dd>
        </>
      )}
      {parent !== null && (
        <>
          <dt>Step of</dt>
          <dd>
            <button type="button" class="link mono" onClick={() => onChoose(parent)}>
              {parent}
            </button>
          </dd>
        </>
      )}
      <dt>Caller</dt>
      <dd>{args === undefined ? "not shown" : (caller ?? "nobody")}</dd>
      <dt>Arguments</dt>
      <dd class="mono">{args ?? "not shown"}</dd>
      <dt>Journal</dt>
      <dd>
        {entries === 1 ? "1 entry" : `${entries} entries`}, {bytes} bytes
        {round > 0 && `; round ${round + 1}: the journals of the rounds before are gone`}
      </dd>
      <dt>Build</dt>
      <dd>
        <code>{module.slice(0, 16)}</code>
      </dd>
      <dt>Workflow</dt>
      <dd>
        <code>{id}</code>
      </dd>
    </dl>
  );
}

/** An order that can't be taken back is asked twice. */
function Orders({ history, onOrder }: { readonly history: History; readonly onOrder: OneProps["onOrder"] }) {
  const isCancelling = useSignal(false);
  const { workflow, timeMs } = history;
  const actions = workflowActionsOf(workflow);
  const leftMs = workflow.untilMs === null || workflow.state !== "waiting" ? null : workflow.untilMs - timeMs;
  const canMove = leftMs !== null && leftMs > 0 && dashboard.value?.time !== null;
  if (actions.length === 0 && !canMove) return null;
  return (
    <dl class="orders">
      {actions.map((action) => {
        const name = WORKFLOW_ACTION_NAMES[action];
        const isAsked = action === "cancel" && isCancelling.value;
        const carryOut = (): void => void onOrder(action, workflow.id, workflow.handler);
        return (
          <>
            <dt>
              {isAsked ? (
                <button type="button" class="btn danger" onClick={carryOut}>
                  {name} for good
                </button>
              ) : (
                <button
                  type="button"
                  class={`btn${action === "retry" ? " pri" : ""}`}
                  onClick={() => (action === "cancel" ? (isCancelling.value = true) : carryOut())}
                >
                  {name}
                </button>
              )}
            </dt>
            <dd class="soft">
              {effectOf(action, workflow)}{" "}
              {isAsked && (
                <button type="button" class="link" onClick={() => (isCancelling.value = false)}>
                  Let it go on
                </button>
              )}
            </dd>
          </>
        );
      })}
      {canMove && (
        <>
          <dt>
            <button
              type="button"
              class="btn"
              disabled={isTimeMoving()}
              onClick={() => void moveTime(Math.ceil(leftMs))}
            >
              Move time
            </button>
          </dt>
          <dd class="soft">
            By {lengthWords(leftMs)}, to the end of its wait. All that is due before runs first, here and elsewhere.
          </dd>
        </>
      )}
    </dl>
  );
}

export function StateTag({ of }: { readonly of: ListedWorkflow["state"] }) {
  const tone = of === "stuck" ? "f" : of === "running" ? "g" : of === "undoing" || of === "cancelling" ? "t" : "";
  return (
    <span class={`tag ${tone}`} title={WORKFLOW_STATE_WORDS[of]}>
      {of}
    </span>
  );
}
