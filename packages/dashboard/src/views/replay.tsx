/** Recorded executions, run again on the values that they read: step by step, and in the present build. */
import { signal } from "@preact/signals";
import type { DashboardRecord, Replay as Run, ReplayQuestion, ReplayStep } from "@radical/protocol";
import { useEffect } from "preact/hooks";
import { api, problemOf } from "../api.ts";
import { placeName } from "../model/places.ts";
import { clock, commitWords, counted, shortUnit } from "../model/words.ts";
import { calls, state, view } from "../store.ts";

const MOST_ROWS = 200;
const TICK_MS = 2_000;

const records = signal<readonly DashboardRecord[]>([]);
const leftOut = signal(0);
const isLoaded = signal(false);
const chosen = signal<string | null>(null);
const filter = signal("");
const recorded = signal<Run | null>(null);
const present = signal<Run | null>(null);
const problem = signal("");
/** The step that is looked at. */
const at = signal(0);

const STEPS: Readonly<Record<ReplayStep["kind"], string>> = {
  get: "reads",
  has: "looks for",
  scan: "reads",
  count: "counts",
  write: "writes",
  caller: "asks for caller",
  now: "asks for time",
  draw: "draws",
  log: "logs",
  abort: "aborts",
  enqueue: "enqueues",
  cancel: "cancels",
  send: "sends",
  start: "starts",
  undo: "may undo",
  sleep: "sleeps",
  signal: "waits for signal",
  wait: "waits for",
  settled: "has result of",
};

/** Whether there is something to see of the execution, as far as the records are loaded. */
export function isRecorded(execution: string): boolean {
  return records.value.some((record) => record.execution === execution);
}

export async function loadRecords(): Promise<void> {
  try {
    const answer = await api.records();
    records.value = answer.records;
    leftOut.value = answer.leftOut;
    isLoaded.value = true;
  } catch (error) {
    problem.value = problemOf(error);
  }
}

async function run(build: ReplayQuestion["build"]): Promise<void> {
  const execution = chosen.value;
  if (execution === null) return;
  try {
    problem.value = "";
    const answer = await api.replay({ execution, build });
    // Another one may have been chosen meanwhile.
    if (chosen.value !== execution) return;
    if (build === "present") present.value = answer;
    else recorded.value = answer;
  } catch (error) {
    problem.value = problemOf(error);
  }
}

function choose(execution: string): void {
  chosen.value = execution;
  recorded.value = null;
  present.value = null;
  at.value = 0;
  void run("recorded");
}

/** Shows the execution in the view. */
export function openReplay(execution: string): void {
  view.value = "replay";
  choose(execution);
}

export function Replay() {
  useEffect(() => {
    void loadRecords();
    const timer = setInterval(() => void loadRecords(), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const { source } = state.value ?? {};
  if (source?.kind === "deployment" && !source.hasRecords)
    return (
      <section class="card pad empty">
        <h2>Nothing is recorded</h2>
        <p class="soft">
          Records hold values that users have sent. Start the command with <code>--values</code> to record them: the
          primary redacts them before they leave it.
        </p>
      </section>
    );
  const rows = records.value.filter((record) => fits(record, filter.value)).slice(0, MOST_ROWS);
  if (isLoaded.value && records.value.length === 0)
    return (
      <section class="card pad empty">
        <h2>Nothing is recorded yet</h2>
        <p class="soft">
          Call a handler. The last 500 executions that reach the primary are kept here with the values that they read.
          Reads that a lease has answered do not reach it.
        </p>
      </section>
    );
  return (
    <div class="split replay">
      <section class="card" aria-label="Recorded executions">
        <div class="hd wrap">
          <h2>Recorded executions</h2>
          <span class="muted">
            {counted(records.value.length, "execution")}
            {leftOut.value > 0 && `, ${leftOut.value} could not be recorded`}
          </span>
          <span class="grow" />
          <input
            class="field mono short"
            aria-label="Filter of records"
            placeholder="handler, location, id"
            value={filter.value}
            onInput={({ currentTarget }) => (filter.value = currentTarget.value)}
          />
        </div>
        <div class="scroll items">
          <table>
            <thead>
              <tr>
                <th>call</th>
                <th>at</th>
                <th class="m-hide">path</th>
                <th>commit</th>
                <th class="right">began</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((record) => (
                <tr key={record.execution} class={record.execution === chosen.value ? "chosen" : ""}>
                  <td>
                    <button
                      type="button"
                      class="link mono"
                      aria-pressed={record.execution === chosen.value}
                      aria-label={`${record.handler}, execution ${record.execution.slice(0, 7)}`}
                      onClick={() => choose(record.execution)}
                    >
                      {record.handler}
                    </button>{" "}
                    <span class="mono muted">{record.execution.slice(0, 7)}</span>
                  </td>
                  <td>
                    <span class="plc">{record.location}</span>
                  </td>
                  <td class="m-hide muted">{record.path}</td>
                  <td class="mono there">{record.commit === null ? "–" : commitWords(record.commit)}</td>
                  <td class="num right muted">{clock(record.timeMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {rows.length === 0 && isLoaded.value && <p class="pad soft">No record fits “{filter.value}”.</p>}
        </div>
      </section>
      <One />
    </div>
  );
}

function fits({ handler, location, execution, path }: DashboardRecord, words: string): boolean {
  const all = [handler, location, placeName(location), execution, path].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

function One() {
  const record = records.value.find(({ execution }) => execution === chosen.value);
  if (record === undefined)
    return (
      <section class="card pad empty" aria-label="One execution">
        <p class="soft">Choose an execution to go through its steps.</p>
        {problem.value !== "" && (
          <p class="fail" role="alert">
            {problem.value}
          </p>
        )}
      </section>
    );
  const isOfPresent = record.module === state.value?.module;
  const call = calls.value.find(({ life }) => life.execution === record.execution);
  return (
    <section class="card" aria-label="One execution">
      <div class="hd wrap">
        <h2>
          <code>{record.handler}</code> at {placeName(record.location)}
        </h2>
        <span class="tag">build {record.module.slice(0, 8)}</span>
        <span class="grow" />
        <button type="button" class="btn pri" onClick={() => void run("present")}>
          Run it in the present build
        </button>
      </div>
      <div class="pad stack">
        {problem.value !== "" && (
          <p class="fail" role="alert">
            {problem.value}
          </p>
        )}
        {present.value !== null && <Compared run={present.value} isSameBuild={isOfPresent} />}
        {recorded.value === null ? (
          problem.value === "" && <p class="soft">It runs …</p>
        ) : (
          <Steps run={recorded.value} />
        )}
        {call === undefined && (
          <p class="muted note">Its request is not among those that the page has, so its way is not known.</p>
        )}
      </div>
    </section>
  );
}

function Compared({
  run: { module, differences, reason },
  isSameBuild,
}: {
  readonly run: Run;
  readonly isSameBuild: boolean;
}) {
  return (
    <div class="advice" role="status">
      <p class="b">
        {differences.length === 0
          ? "The present build does the same: the same outcome, writes and effects."
          : `The present build differs in ${counted(differences.length, "field")}.`}
      </p>
      {isSameBuild && <p class="soft">It is the build in which the execution was carried out.</p>}
      {reason !== null && <p class="soft">{reason}</p>}
      {differences.length > 0 && (
        <dl class="kv diff">
          {differences.map(({ path, was, is }) => (
            <>
              <dt class="mono">{path}</dt>
              <dd>
                <del>{was ?? "nothing"}</del> <ins>{is ?? "nothing"}</ins>
              </dd>
            </>
          ))}
        </dl>
      )}
      <p class="muted note">Build {module.slice(0, 8)}, on the values of the record. Nothing was stored.</p>
    </div>
  );
}

/** The reason why a run may differ from its call; null: it has the same values. */
function redactedWords(redacted: readonly string[]): string | null {
  if (redacted.length === 0) return null;
  const parts = redacted.includes("*") ? "texts and numbers" : redacted.join(", ").replaceAll("@arguments.", "");
  return `It ran on other values in the place of ${parts}, which the primary does not tell. So its steps may differ from those of the call.`;
}

function Steps({ run: { args, caller, redacted, steps, stepsLeftOut, outcome, reason, fuel } }: { readonly run: Run }) {
  const words = redactedWords(redacted);
  const last = steps.length - 1;
  const go = (to: number): void => void (at.value = Math.max(0, Math.min(last, to)));
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: at.value + 1, ArrowUp: at.value - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    go(to);
    event.preventDefault();
  };
  const step = steps[at.value];
  return (
    <>
      <dl class="kv">
        <dt>Arguments</dt>
        <dd class="mono wrap-any">{args}</dd>
        <dt>Caller</dt>
        <dd>{caller ?? "nobody"}</dd>
      </dl>
      {words !== null && <p class="soft">{words}</p>}
      <div class="row">
        <h3>{counted(steps.length + stepsLeftOut, "step")}</h3>
        {stepsLeftOut > 0 && <span class="muted">the first {steps.length} are shown</span>}
        <span class="grow" />
        <button type="button" class="btn" disabled={at.value <= 0} onClick={() => go(at.value - 1)}>
          Back
        </button>
        <button type="button" class="btn" disabled={at.value >= last} onClick={() => go(at.value + 1)}>
          Next step
        </button>
      </div>
      {step === undefined ? (
        <p class="soft">It asks its host for nothing: its outcome depends on its arguments alone.</p>
      ) : (
        <>
          <ol
            class="steps"
            role="listbox"
            aria-label="Steps of the run"
            tabIndex={0}
            aria-activedescendant={`step-${at.value}`}
            onKeyDown={onKeyDown}
          >
            {steps.map((one, index) => (
              <li
                key={index}
                id={`step-${index}`}
                role="option"
                aria-selected={index === at.value}
                onClick={() => go(index)}
              >
                <span class="num muted">{index + 1}</span>
                <span class={`tag ${tone(one)}`}>{STEPS[one.kind]}</span>
                <span class="mono subject">{subjectOf(one)}</span>
                <span class="mono muted brief">{one.value}</span>
              </li>
            ))}
          </ol>
          <div class="stack tight" aria-live="polite">
            <p>
              <b>
                {STEPS[step.kind]} {["log", "abort", "draw"].includes(step.kind) ? "" : shortUnit(step.subject)}
              </b>{" "}
              {step.version !== null && <span class="mono there">version {commitWords(step.version)}</span>}
              {step.kind === "draw" && <span class="mono muted">at {step.subject}</span>}
            </p>
            <pre class="json" tabIndex={0} aria-label="Value of the step">
              {pretty(step.value)}
            </pre>
          </div>
        </>
      )}
      <div class="stack tight">
        <h3>Outcome {fuel !== null && <span class="muted num">{fuel.toLocaleString("en")} fuel</span>}</h3>
        <pre class="json" tabIndex={0} aria-label="Outcome">
          {outcome === null ? reason : pretty(outcome)}
        </pre>
      </div>
    </>
  );
}

function tone({ kind }: ReplayStep): string {
  if (kind === "write" || kind === "enqueue" || kind === "cancel" || kind === "send") return "t";
  if (kind === "abort") return "f";
  return kind === "get" || kind === "has" || kind === "scan" || kind === "count" ? "h" : "";
}

function subjectOf({ kind, subject }: ReplayStep): string {
  return kind === "get" || kind === "has" || kind === "write" ? shortUnit(subject) : subject;
}

/** Numbers that a parse would round stay as they are. */
function pretty(text: string): string {
  if (/\d{16,}|\d\.0\b/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text) as unknown, null, 2);
  } catch {
    return text;
  }
}
