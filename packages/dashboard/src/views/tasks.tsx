/** Tasks: the calls that the primary owes itself, by handler and lane, and orders to one of them. Schedules stand below. */
import { signal, useSignal } from "@preact/signals";
import {
  type DashboardTask,
  type ExecutionId,
  type ScheduleAction,
  type ScheduleList,
  TASK_STATES,
  type TaskAction,
  type TaskState,
} from "@radical/protocol";
import { useEffect } from "preact/hooks";
import { api, problemOf } from "../api.ts";
import {
  ACTION_WORDS,
  actionsOf,
  fromNow,
  isFinal,
  OUTCOME_WORDS,
  STATE_WORDS,
  stateCounts,
  taskGroups,
} from "../model/tasks.ts";
import { counted } from "../model/words.ts";
import { calls, isDeployment, isPaused, selected, view } from "../store.ts";
import { Schedules } from "./schedules.tsx";
import { Time } from "./time.tsx";

const TICK_MS = 2_000;
const MOST_GROUPS = 100;
const MOST_ROWS = 200;

/** Null: not known yet. */
const tasks = signal<readonly DashboardTask[] | null>(null);
const isMore = signal(false);
const schedules = signal<ScheduleList | null>(null);
/** Of all of these: null, any. */
const state = signal<TaskState | null>(null);
const group = signal<{ readonly handler: string; readonly lane: string | null } | null>(null);
const chosen = signal<ExecutionId | null>(null);
/** The chosen task with its arguments; null: it is gone; undefined: the primary is asked. */
const detail = signal<DashboardTask | null | undefined>(undefined);
/** The task whose service may have acted for it, as an order has told. */
const mayHaveActed = signal<ExecutionId | null>(null);
const now = signal(Date.now());
/** Of what the reader has done. */
const problem = signal("");
/** Of the newest look at the tasks. */
const unseen = signal("");
const done = signal("");

async function load(): Promise<void> {
  // A primary of a release without schedules has none.
  const loading = api.schedules().then(
    (known) => (schedules.value = known),
    () => (schedules.value = null),
  );
  try {
    const listed = await api.tasks({ task: null });
    tasks.value = listed.tasks;
    isMore.value = listed.isMore;
    now.value = listed.timeMs;
    if (chosen.value !== null) await loadDetail(chosen.value);
    unseen.value = "";
  } catch (error) {
    unseen.value = problemOf(error);
  }
  await loading;
}

async function loadDetail(task: ExecutionId): Promise<void> {
  const { tasks: found } = await api.tasks({ task });
  // Another one may have been chosen meanwhile.
  if (chosen.value === task) detail.value = found.find(({ id }) => id === task) ?? null;
}

async function attempt(work: () => Promise<string>): Promise<void> {
  try {
    problem.value = "";
    done.value = await work();
    await load();
  } catch (error) {
    done.value = "";
    problem.value = problemOf(error);
  }
}

function choose(task: ExecutionId, known?: DashboardTask): void {
  mayHaveActed.value = null;
  chosen.value = task;
  detail.value = known;
  problem.value = "";
  done.value = "";
  loadDetail(task).catch((error: unknown) => {
    if (chosen.value === task) unseen.value = problemOf(error);
  });
}

/** Shows a task, or says that it is gone. */
export function openTask(task: ExecutionId): void {
  view.value = "tasks";
  choose(task);
}

/** `callAgain`: also a service that may have acted already. */
function order(action: TaskAction, { id, handler }: DashboardTask, callAgain = false): Promise<void> {
  return attempt(async () => {
    const { results } = await api.orderTasks({ action, ids: [id], callAgain });
    const outcome = results[0]?.outcome ?? "unknown";
    mayHaveActed.value = outcome === "may-have-acted" ? id : null;
    return outcome === "done"
      ? `${ACTION_WORDS[action].name}: the task of ${handler} ${DONE_WORDS[action]}.`
      : OUTCOME_WORDS[outcome];
  });
}

function changeSchedule(handler: string, action: ScheduleAction): Promise<void> {
  return attempt(async () => {
    await api.changeSchedule({ handler, action });
    return { run: `${handler} is called.`, pause: `${handler} is paused.`, resume: `${handler} goes on.` }[action];
  });
}

const DONE_WORDS: Readonly<Record<TaskAction, string>> = {
  retry: "begins at once",
  run: "begins at once",
  discard: "is removed",
  cancel: "is removed",
};

export function Tasks() {
  useEffect(() => {
    void load();
    const timer = setInterval(() => {
      if (!document.hidden && !isPaused.value) void load();
    }, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const all = tasks.value;
  const wrong = problem.value === "" ? unseen.value : problem.value;
  return (
    <>
      <Time />
      {all !== null && all.length === 0 && chosen.value === null ? <Nothing /> : <All tasks={all ?? []} />}
      <p class={`status ${wrong === "" ? "soft" : "fail"}`} role="status">
        {wrong === "" ? done.value : wrong}
      </p>
      {schedules.value !== null && <Schedules known={schedules.value} onChange={changeSchedule} />}
    </>
  );
}

function Nothing() {
  return (
    <section class="card pad empty">
      <h2>No task waits</h2>
      <p class="soft">
        A handler asks for a task with <code>enqueue(…)</code>. It stands here until it has succeeded. Then it is an
        execution like others: Replay has it.
      </p>
    </section>
  );
}

function All({ tasks: all }: { readonly tasks: readonly DashboardTask[] }) {
  const counts = stateCounts(all);
  const rows = all.filter(
    (task) =>
      (state.value === null || task.state === state.value) &&
      (group.value === null || (task.handler === group.value.handler && task.lane === group.value.lane)),
  );
  return (
    <>
      <div class="row states" role="group" aria-label="States">
        <StateButton of={null} count={all.length} />
        {TASK_STATES.map((one) => (
          <StateButton key={one} of={one} count={counts[one]} />
        ))}
        {isMore.value && <span class="muted">these are the first {all.length}: there are more</span>}
      </div>
      <div class="two">
        <div class="stack">
          <Groups tasks={all} />
          <Rows rows={rows} />
        </div>
        <One />
      </div>
    </>
  );
}

function StateButton({ of, count }: { readonly of: TaskState | null; readonly count: number }) {
  return (
    <button
      type="button"
      class={`btn state${of === "dead" && count > 0 ? " dead" : ""}`}
      aria-pressed={state.value === of}
      title={of === null ? undefined : STATE_WORDS[of]}
      onClick={() => (state.value = of)}
    >
      {of ?? "all"} <b class="num">{count}</b>
    </button>
  );
}

function Groups({ tasks: all }: { readonly tasks: readonly DashboardTask[] }) {
  const groups = taskGroups(all);
  return (
    <section class="card" aria-label="Tasks by handler and lane">
      <div class="hd wrap">
        <h2>By handler and lane</h2>
        <span class="grow" />
        {group.value !== null && (
          <button type="button" class="link" onClick={() => (group.value = null)}>
            Show all
          </button>
        )}
      </div>
      <div class="scroll groups">
        <table>
          <thead>
            <tr>
              <th>handler</th>
              <th>lane</th>
              {TASK_STATES.map((one) => (
                <th key={one} class={`right${one === "waiting" || one === "delayed" ? " m-hide" : ""}`}>
                  {one}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {groups.slice(0, MOST_GROUPS).map(({ handler, lane, counts }) => {
              const isChosen = group.value?.handler === handler && group.value.lane === lane;
              return (
                <tr key={`${handler} ${lane}`} class={isChosen ? "chosen" : ""}>
                  <td>
                    <button
                      type="button"
                      class="link mono"
                      aria-pressed={isChosen}
                      aria-label={lane === null ? `${handler}, in no lane` : `${handler}, lane ${lane}`}
                      onClick={() => (group.value = isChosen ? null : { handler, lane })}
                    >
                      {handler}
                    </button>
                  </td>
                  <td class="mono wrap-any">{lane ?? <span class="muted">–</span>}</td>
                  {TASK_STATES.map((one) => (
                    <td
                      key={one}
                      class={`num right${one === "waiting" || one === "delayed" ? " m-hide" : ""}${one === "dead" && counts.dead > 0 ? " fail b" : ""}`}
                    >
                      {counts[one]}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Rows({ rows }: { readonly rows: readonly DashboardTask[] }) {
  return (
    <section class="card" aria-label="Tasks">
      <div class="hd wrap">
        <h2>{counted(rows.length, "task")}</h2>
        {rows.length > MOST_ROWS && <span class="muted">the first {MOST_ROWS} are shown</span>}
      </div>
      <div class="scroll items">
        <table>
          <thead>
            <tr>
              <th>task</th>
              <th>state</th>
              <th class="m-hide">lane</th>
              <th class="right">attempts</th>
              <th class="right">begins</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map((task) => (
              <tr key={task.id} class={task.id === chosen.value ? "chosen" : ""}>
                <td>
                  <button
                    type="button"
                    class="link mono"
                    aria-pressed={task.id === chosen.value}
                    aria-label={`${task.handler}, task ${task.id.slice(-7)}`}
                    onClick={() => choose(task.id, task)}
                  >
                    {task.handler}
                  </button>{" "}
                  <span class="mono muted">{task.id.slice(-7)}</span>
                </td>
                <td>
                  <StateTag of={task.state} />
                </td>
                <td class="mono m-hide wrap-any">{task.lane ?? <span class="muted">–</span>}</td>
                <td class="num right">{task.attempts === 0 ? "–" : task.attempts}</td>
                <td class="num right muted">{beginsWords(task)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p class="pad soft">No task is so.</p>}
      </div>
    </section>
  );
}

function StateTag({ of }: { readonly of: TaskState }) {
  const tone = of === "dead" ? "f" : of === "running" ? "t" : of === "ready" ? "g" : "";
  return (
    <span class={`tag ${tone}`} title={STATE_WORDS[of]}>
      {of}
    </span>
  );
}

function beginsWords({ state: is, dueMs }: DashboardTask): string {
  return is === "delayed" ? fromNow(dueMs, now.value) : is === "ready" ? "next" : "–";
}

function One() {
  const task = detail.value;
  if (chosen.value === null)
    return (
      <section class="card pad" aria-label="One task">
        <p class="soft">Choose a task to see its attempts, its error and its arguments.</p>
      </section>
    );
  if (task === undefined)
    return (
      <section class="card pad" aria-label="One task">
        <p class="soft">Looking for the task …</p>
      </section>
    );
  if (task === null)
    return (
      <section class="card pad stack" aria-label="One task">
        <h2>The task is gone</h2>
        <p class="soft">It has succeeded, or was removed. If it ran, Replay has its execution.</p>
      </section>
    );
  const parent = calls.value.find(({ life }) => life.execution === task.parent);
  return (
    <section class="card pad stack" aria-label="One task">
      <div class="row">
        <h2>
          <code>{task.handler}</code>
        </h2>
        <StateTag of={task.state} />
      </div>
      <p class="soft">{STATE_WORDS[task.state]}</p>
      {task.error !== null && (
        <div class="advice warn">
          <p class="b">
            <code>{task.error.code}</code>
            {task.error.atMs !== null && <span class="muted"> {fromNow(task.error.atMs, now.value)}</span>}
          </p>
          <p class="soft wrap-any">{task.error.message}</p>
        </div>
      )}
      <dl class="kv">
        <dt>Attempts</dt>
        <dd>
          {task.attempts === 0 ? "none yet" : `${task.attempts} without effect`}; failures that count: {task.failures}
          {task.mostFailures === null ? ": it undoes, so it has no last attempt" : ` of ${task.mostFailures}`}
        </dd>
        <dt>Asked for</dt>
        <dd>
          {fromNow(task.createdAtMs, now.value)} by{" "}
          {parent === undefined ? (
            <code>{task.parent}</code>
          ) : (
            <button
              type="button"
              class="link mono"
              onClick={() => {
                selected.value = parent.id;
                view.value = "requests";
              }}
            >
              {parent.life.handler} {task.parent.slice(0, 7)}
            </button>
          )}
        </dd>
        <dt>Begins</dt>
        <dd>{task.state === "dead" ? "never by itself" : `${fromNow(task.dueMs, now.value)} at the earliest`}</dd>
        <dt>Lane</dt>
        <dd class="mono wrap-any">{task.lane ?? "none"}</dd>
        <dt>Caller</dt>
        <dd>{task.arguments === null ? "not shown" : (task.caller ?? "nobody")}</dd>
        <dt>Arguments</dt>
        <dd class="mono wrap-any">{task.arguments ?? `${task.argumentBytes} bytes, not shown`}</dd>
        <dt>Task</dt>
        <dd>
          <code>{task.id}</code>
        </dd>
      </dl>
      {isDeployment.value ? (
        <p class="muted note">
          Orders are for <code>radical tasks</code>: this page changes nothing of a deployment.
        </p>
      ) : (
        <Orders key={task.id} task={task} />
      )}
    </section>
  );
}

/** An order that can't be taken back is asked twice. */
function Orders({ task }: { readonly task: DashboardTask }) {
  const asked = useSignal<TaskAction | null>(null);
  const actions = actionsOf(task);
  if (actions.length === 0) return <p class="muted note">While an attempt is under way there is nothing to order.</p>;
  const isAsked = asked.value !== null && actions.includes(asked.value);
  if (mayHaveActed.value === task.id)
    return (
      <div class="advice warn">
        <p class="soft">
          The answer of its service was lost. Look there whether it has acted: another call may have its effect twice.
        </p>
        <div class="row">
          <button type="button" class="btn danger" onClick={() => void order("retry", task, true)}>
            Call it again
          </button>
          <button type="button" class="btn" onClick={() => (mayHaveActed.value = null)}>
            Leave it
          </button>
        </div>
      </div>
    );
  return (
    <dl class="orders">
      {actions.map((action, at) => {
        const { name, does } = ACTION_WORDS[action];
        return (
          <>
            <dt>
              {isAsked && asked.value === action ? (
                <button type="button" class="btn danger" onClick={() => void order(action, task)}>
                  {name} for good
                </button>
              ) : (
                <button
                  type="button"
                  class={`btn${at === 0 && !isFinal(action) ? " pri" : ""}`}
                  onClick={() => (isFinal(action) ? (asked.value = action) : void order(action, task))}
                >
                  {name}
                </button>
              )}
            </dt>
            <dd class="soft">
              {does}{" "}
              {isAsked && asked.value === action && (
                <button type="button" class="link" onClick={() => (asked.value = null)}>
                  Keep it
                </button>
              )}
            </dd>
          </>
        );
      })}
    </dl>
  );
}
