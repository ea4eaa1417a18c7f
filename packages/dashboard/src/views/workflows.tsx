/** Workflows: those that have not ended, and one of them as a timeline of its journal. */
import { signal } from "@preact/signals";
import type { DashboardListedWorkflow, DashboardWorkflow, ExecutionId, WorkflowAction } from "@radical/protocol";
import { useEffect } from "preact/hooks";
import { api, problemOf } from "../api.ts";
import { lengthWords } from "../model/tasks.ts";
import { waitWords, WORKFLOW_ACTION_NAMES, WORKFLOW_OUTCOME_WORDS } from "../model/timeline.ts";
import { counted } from "../model/words.ts";
import { app, calls, isDeployment, isPaused, view } from "../store.ts";
import { loadRecords } from "./replay.tsx";
import { Time } from "./time.tsx";
import { OneWorkflow, StateTag } from "./workflow.tsx";

const TICK_MS = 2_000;
/** A deployment pays for each question. */
const DEPLOYED_TICK_MS = 5_000;
const MOST_ENDED = 12;
const ID = /^[0-9a-f]{32}$/;

/** Null: not known yet. */
const workflows = signal<readonly DashboardListedWorkflow[] | null>(null);
const isMore = signal(false);
/** Of the primary. */
const now = signal(Date.now());
/** Seen by this page, and ended since: the latest first. */
const gone = signal<readonly Ended[]>([]);
const chosen = signal<ExecutionId | null>(null);
/** Null: there is none of this id. Undefined: it is being asked for. */
const detail = signal<DashboardWorkflow | undefined>(undefined);
const problem = signal("");
const unseen = signal("");
const done = signal("");

interface Ended {
  readonly id: ExecutionId;
  readonly handler: string;
}

async function load(): Promise<void> {
  try {
    const listed = await api.workflows();
    takeList(listed.workflows, listed.isMore);
    now.value = listed.timeMs;
    if (chosen.value !== null) await Promise.all([loadDetail(chosen.value), loadRecords()]);
    unseen.value = "";
  } catch (error) {
    unseen.value = problemOf(error);
  }
}

function takeList(listed: readonly DashboardListedWorkflow[], isCut: boolean): void {
  const open = new Set(listed.map(({ id }) => id));
  // Of a list that is cut, nobody knows whether another one has ended.
  const ended = isCut ? [] : (workflows.value ?? []).filter(({ id }) => !open.has(id));
  gone.value = [...ended.toReversed(), ...gone.value].filter(({ id }) => !open.has(id)).slice(0, MOST_ENDED);
  workflows.value = listed;
  isMore.value = isCut;
}

async function loadDetail(workflow: ExecutionId): Promise<void> {
  const found = await api.workflow(workflow);
  // Another one may have been chosen meanwhile.
  if (chosen.value === workflow) detail.value = found;
}

function choose(workflow: ExecutionId): void {
  chosen.value = workflow;
  detail.value = undefined;
  problem.value = "";
  done.value = "";
  loadDetail(workflow).catch((error: unknown) => (problem.value = problemOf(error)));
}

export function openWorkflow(workflow: ExecutionId): void {
  view.value = "workflows";
  choose(workflow);
}

/** Whether the page knows that it is one. */
export function isWorkflow(handler: string): boolean {
  return app.value?.handlers.some(({ name, plan }) => name === handler && plan === "workflow") === true;
}

async function order(action: WorkflowAction, id: ExecutionId, handler: string): Promise<void> {
  try {
    problem.value = "";
    const { results } = await api.orderWorkflows({ action, ids: [id] });
    const outcome = results[0]?.outcome ?? "unknown";
    const isDone = outcome === "done";
    const words = action === "retry" ? "runs again" : "is asked to end";
    done.value = isDone ? `${WORKFLOW_ACTION_NAMES[action]}: ${handler} ${words}.` : WORKFLOW_OUTCOME_WORDS[outcome];
    await load();
  } catch (error) {
    done.value = "";
    problem.value = problemOf(error);
  }
}

export function Workflows() {
  useEffect(() => {
    void load();
    const timer = setInterval(
      () => {
        if (!document.hidden && !isPaused.value) void load();
      },
      isDeployment.value ? DEPLOYED_TICK_MS : TICK_MS,
    );
    return () => clearInterval(timer);
  }, []);
  const all = workflows.value;
  const ended = endedLately();
  const isEmpty = all !== null && all.length === 0 && ended.length === 0 && chosen.value === null;
  const wrong = problem.value === "" ? unseen.value : problem.value;
  return (
    <>
      <Time />
      {isEmpty ? (
        <Nothing />
      ) : (
        <div class="flows">
          <div class="stack">
            <List all={all ?? []} />
            {ended.length > 0 && <EndedList ended={ended} />}
            <Find />
          </div>
          <OneWorkflow chosen={chosen.value} history={detail.value} onChoose={choose} onOrder={order} />
        </div>
      )}
      <p class={`status ${wrong === "" ? "soft" : "fail"}`} role="status">
        {wrong === "" ? done.value : wrong}
      </p>
    </>
  );
}

function Nothing() {
  return (
    <>
      <section class="card pad empty">
        <h2>No workflow is under way</h2>
        <p class="soft">
          A handler with <code>@workflow</code> is one. It stands here until it has ended; its id finds it for some time
          after that.
        </p>
      </section>
      <Find />
    </>
  );
}

function List({ all }: { readonly all: readonly DashboardListedWorkflow[] }) {
  return (
    <section class="card" aria-label="Workflows">
      <div class="hd wrap">
        <h2>{counted(all.length, "workflow")} under way</h2>
        {isMore.value && <span class="muted">the first ones: there are more</span>}
      </div>
      <div class="scroll items">
        <table>
          <thead>
            <tr>
              <th>workflow</th>
              <th>state</th>
              <th class="m-hide">waits for</th>
              <th class="right">age</th>
            </tr>
          </thead>
          <tbody>
            {all.map((workflow) => {
              const { id, handler, state, createdAtMs, error } = workflow;
              const waits = state === "stuck" ? (error?.message ?? null) : waitWords(workflow, now.value);
              return (
                <tr key={id} class={id === chosen.value ? "chosen" : ""}>
                  <td>
                    <Choose id={id} handler={handler} />
                    {waits !== null && <div class="m-only note soft wrap-any">{waits}</div>}
                  </td>
                  <td>
                    <StateTag of={state} />
                  </td>
                  <td class="m-hide soft wrap-any">{waits ?? <span class="muted">–</span>}</td>
                  <td class="num right muted">{lengthWords(Math.max(0, now.value - createdAtMs))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {all.length === 0 && <p class="pad soft">None at the moment.</p>}
      </div>
    </section>
  );
}

function Choose({ id, handler }: Ended) {
  return (
    <>
      <button
        type="button"
        class="link mono"
        aria-pressed={id === chosen.value}
        aria-label={`${handler}, workflow ${id.slice(-7)}`}
        onClick={() => choose(id)}
      >
        {handler}
      </button>{" "}
      <span class="mono muted">{id.slice(-7)}</span>
    </>
  );
}

/** Those that this page has seen end, and requests for workflows that it has. */
function endedLately(): readonly Ended[] {
  const open = new Set((workflows.value ?? []).map(({ id }) => id));
  const asked = calls.value
    .filter(({ life }) => isWorkflow(life.handler) && life.attempt > 0)
    .map(({ life }): Ended => ({ id: life.execution, handler: life.handler }));
  const found = new Map<ExecutionId, Ended>();
  for (const one of [...gone.value, ...asked]) if (!open.has(one.id)) found.set(one.id, one);
  return [...found.values()].slice(0, MOST_ENDED);
}

function EndedList({ ended }: { readonly ended: readonly Ended[] }) {
  return (
    <section class="card" aria-label="Ended lately">
      <div class="hd wrap">
        <h2>Ended lately</h2>
        <span class="muted">as this page has seen</span>
      </div>
      <ul class="pad chips">
        {ended.map(({ id, handler }) => (
          <li key={id}>
            <Choose id={id} handler={handler} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** One that is not in the list: its outcome is kept for a while. */
function Find() {
  return (
    <form
      class="row find"
      onSubmit={(event) => {
        event.preventDefault();
        const id = String(new FormData(event.currentTarget).get("id")).trim();
        if (ID.test(id)) choose(id as ExecutionId);
        else problem.value = "The id of a workflow has 32 hexadecimal digits.";
      }}
    >
      <input
        class="field mono"
        name="id"
        aria-label="Id of a workflow"
        placeholder="Id of a workflow, also of one that has ended"
        autocomplete="off"
        spellcheck={false}
      />
      <button type="submit" class="btn">
        Show
      </button>
    </form>
  );
}
