/** The timeline of a workflow: a row for each step, in the order in which its code asked for them. */
import { useSignal } from "@preact/signals";
import type { DashboardWorkflow, ExecutionId } from "@radical/protocol";
import type { ComponentChildren } from "preact";
import { fromNow, lengthWords } from "../model/tasks.ts";
import {
  kindWords,
  spanBetween,
  STEP_WORDS,
  type StepState,
  type Timeline as Steps,
  type TimelineStep,
} from "../model/timeline.ts";
import { counted, timeWords } from "../model/words.ts";
import { isRecorded, openReplay } from "./replay.tsx";
import { openTask } from "./tasks.tsx";

/** A workflow may have thousands: the last ones are shown. */
const MOST_STEPS = 200;

interface TimelineProps {
  readonly history: NonNullable<DashboardWorkflow>;
  readonly steps: Steps;
  readonly onChoose: (workflow: ExecutionId) => void;
}

export function Timeline({ history, steps: timeline, onChoose }: TimelineProps) {
  const showsAll = useSignal(false);
  const { workflow, timeMs: nowMs } = history;
  const startMs = workflow.createdAtMs;
  const { steps, undos, cancelled } = timeline;
  const leftOut = showsAll.value ? 0 : Math.max(0, steps.length - MOST_STEPS);
  const shown = steps.slice(leftOut);
  const seenMs = cancelled?.seenMs ?? null;
  const cut = seenMs === null ? shown.length : shown.filter(({ beganMs }) => beganMs < seenMs).length;
  const row = (step: TimelineStep): ComponentChildren => (
    <Step key={step.number} step={step} startMs={startMs} nowMs={nowMs} onChoose={onChoose} />
  );
  return (
    <ol class="timeline" aria-label="Timeline">
      <Row atMs={startMs} startMs={startMs} tone="mark">
        <p>
          <span class="b">Started</span> <span class="muted">{timeWords(startMs)}</span>
        </p>
      </Row>
      {leftOut > 0 && (
        <Row atMs={null} startMs={startMs} tone="">
          <button type="button" class="link" onClick={() => (showsAll.value = true)}>
            Show the {leftOut} steps before
          </button>
        </Row>
      )}
      {shown.slice(0, cut).map(row)}
      {seenMs !== null && (
        <Row atMs={seenMs} startMs={startMs} tone="fail">
          Somebody asked it to end
        </Row>
      )}
      {shown.slice(cut).map(row)}
      <End history={history} timeline={timeline} />
      {undos.map((undo) => (
        <Row
          key={`undo ${undo.number}`}
          atMs={null}
          startMs={startMs}
          tone={TONES[undo.state]}
          isNow={undo.state === "undoing"}
        >
          <p>
            <span class="muted">undo</span> <code class="b">{undo.name}</code> <StepTag of={undo.state} />
          </p>
          <Attempts step={undo} />
        </Row>
      ))}
      {workflow.state === "ended" && undos.length > 0 && (
        <Row atMs={workflow.endedAtMs} startMs={startMs} tone="mark">
          <span class="b">Ended</span>
        </Row>
      )}
      <Now history={history} timeline={timeline} />
    </ol>
  );
}

const TONES: Readonly<Record<StepState, string>> = {
  done: "good",
  failed: "fail",
  unknown: "fail",
  over: "there",
  open: "there open",
  kept: "",
  undoing: "there open",
  undone: "good",
  dropped: "",
};

interface RowProps {
  /** Null: nobody has noted when. */
  readonly atMs: number | null;
  readonly startMs: number;
  readonly tone: string;
  readonly isNow?: boolean;
  readonly children: ComponentChildren;
}

function Row({ atMs, startMs, tone, isNow = false, children }: RowProps) {
  return (
    <li class={tone} aria-current={isNow ? "step" : undefined}>
      {atMs === null ? (
        <span />
      ) : (
        <time dateTime={new Date(atMs).toISOString()} title={new Date(atMs).toLocaleString()}>
          {atMs === startMs ? "" : `+${spanBetween(startMs, atMs)}`}
        </time>
      )}
      <div>{children}</div>
    </li>
  );
}

interface StepProps {
  readonly step: TimelineStep;
  readonly startMs: number;
  readonly nowMs: number;
  readonly onChoose: (workflow: ExecutionId) => void;
}

function Step({ step, startMs, nowMs, onChoose }: StepProps) {
  const { kind, name, state: is, beganMs, endedMs, args, failure, value, isAwaited } = step;
  const took = endedMs === null ? null : spanBetween(beganMs, endedMs);
  const shownState = kind === "undo" && is !== "kept" && is !== "dropped" ? "kept" : is;
  return (
    <Row atMs={beganMs} startMs={startMs} tone={TONES[shownState]} isNow={isAwaited}>
      <p>
        <span class="muted">{kindWords(step)}</span> {name !== "" && <code class="b">{name}</code>}{" "}
        <StepTag of={shownState} /> {took !== null && <span class="muted num">{took}</span>}
        {isAwaited && took === null && kind !== "sleep" && kind !== "signal" && (
          <span class="muted num">{spanBetween(beganMs, nowMs)} so far</span>
        )}
      </p>
      {args !== null && <Value of={args} />}
      {failure !== null && <p class="fail note wrap-any">{failure}</p>}
      {value !== null && kind !== "undo" && (
        <p class="note">
          <span class="muted">→ </span>
          <Value of={value} />
        </p>
      )}
      <Attempts step={step} />
      <Links step={step} onChoose={onChoose} />
    </Row>
  );
}

function StepTag({ of }: { readonly of: StepState }) {
  const tone =
    of === "failed" || of === "unknown" ? "f" : of === "open" || of === "undoing" || of === "over" ? "t" : "";
  return <span class={`tag ${of === "done" || of === "undone" ? "g" : tone}`}>{STEP_WORDS[of]}</span>;
}

const MOST_CHARACTERS = 300;

function Value({ of }: { readonly of: string }) {
  const isLong = of.length > MOST_CHARACTERS;
  return (
    <code class="value wrap-any soft" title={isLong ? of : undefined}>
      {isLong ? `${of.slice(0, MOST_CHARACTERS)} …` : of}
    </code>
  );
}

/** Of a call that has not ended. */
function Attempts({ step: { attempts } }: { readonly step: TimelineStep }) {
  if (attempts === null) return null;
  const { state: is, failures, error } = attempts;
  const words = is === "dead" ? "it is dead: radical tasks, or the view Tasks" : ATTEMPT_WORDS[is];
  return (
    <p class="note soft">
      {failures > 0 ? `${counted(failures, "attempt")} failed; ${words}.` : `${words}.`}
      {error !== null && (
        <span class="fail wrap-any">
          {" "}
          <code>{error.code}</code>: {error.message}
        </span>
      )}
    </p>
  );
}

const ATTEMPT_WORDS = {
  ready: "the next attempt begins as soon as there is room",
  running: "an attempt is under way",
  delayed: "the next attempt begins by itself",
  waiting: "others of its lane are before it",
} as const;

/** To what the step is elsewhere in the page. */
function Links({ step, onChoose }: Pick<StepProps, "step" | "onChoose">) {
  const { kind, callee, execution, state: is, attempts } = step;
  if (execution === null || (kind === "undo" && is === "kept")) return null;
  const link = (words: string, open: () => void): ComponentChildren => (
    <p class="note">
      <button type="button" class="link" onClick={open}>
        {words}
      </button>{" "}
      <span class="mono muted">{execution.slice(-7)}</span>
    </p>
  );
  if (kind === "enqueue") return link("Its task", () => openTask(execution));
  if (kind === "start" && callee === "workflow" && attempts === null)
    return link("Its timeline", () => onChoose(execution));
  if (kind === "start" && callee !== "handler" && is === "open") return link("Its task", () => openTask(execution));
  if (isRecorded(execution)) return link("Replay", () => openReplay(execution));
  return (
    <p class="note muted">
      execution <span class="mono">{execution.slice(-7)}</span>
    </p>
  );
}

/** The end of its run. */
function End({ history: { workflow, result }, timeline: { endedRunMs, undos } }: NowProps) {
  if (endedRunMs === null && workflow.state !== "ended") return null;
  const { error, createdAtMs, endedAtMs } = workflow;
  if (error === null)
    return (
      <Row atMs={endedRunMs ?? endedAtMs} startMs={createdAtMs} tone="mark">
        <p class="b">Ended</p>
        {result !== undefined && <Value of={result} />}
      </Row>
    );
  return (
    <Row atMs={endedRunMs ?? (undos.length === 0 ? endedAtMs : null)} startMs={createdAtMs} tone="fail">
      <p>
        <span class="b">Failed</span> <code class="fail">{error.code}</code>
      </p>
      {undos.length > 0 && <p class="note muted">It is undone, the newest first.</p>}
    </Row>
  );
}

interface NowProps {
  readonly history: NonNullable<DashboardWorkflow>;
  readonly timeline: Steps;
}

/** What it waits for. */
function Now({ history: { workflow, timeMs }, timeline: { steps, mode, cancelled, unseen } }: NowProps) {
  if (workflow.state === "ended") return null;
  const { createdAtMs: startMs, untilMs } = workflow;
  const awaited = steps.filter(({ isAwaited }) => isAwaited);
  const [one] = awaited;
  const words =
    one === undefined
      ? null
      : awaited.length > 1
        ? `Waits for ${mode === "any" ? "one" : "all"} of ${awaited.length} steps`
        : one.kind === "sleep"
          ? "Sleeps"
          : `Waits for ${one.kind === "signal" ? "the signal " : ""}${one.name}`;
  return (
    <>
      {unseen.map(({ name, value }, at) => (
        <Row key={`signal ${at}`} atMs={null} startMs={startMs} tone="there">
          <p>
            The signal <code class="b">{name}</code> was sent, and no wait has taken it yet
          </p>
          {value !== null && <Value of={value} />}
        </Row>
      ))}
      {cancelled !== null && cancelled.seenMs === null && (
        <Row atMs={null} startMs={startMs} tone="fail">
          Somebody asks it to end
        </Row>
      )}
      {workflow.state === "stuck" ? (
        <Row atMs={null} startMs={startMs} tone="fail">
          <span class="b">Stuck</span>
        </Row>
      ) : (
        words !== null && (
          <Row atMs={timeMs} startMs={startMs} tone="now" isNow>
            <p class="b">{words}</p>
            {untilMs !== null && (
              <p class="soft" title={new Date(untilMs).toLocaleString()}>
                until {timeWords(untilMs)},{" "}
                {untilMs > timeMs ? `in ${lengthWords(untilMs - timeMs)}` : fromNow(untilMs, timeMs)}
              </p>
            )}
          </Row>
        )
      )}
    </>
  );
}
