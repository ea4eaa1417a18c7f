/** The time of tasks and handlers under `radical dev`: how far it is ahead, and how to move it on. */
import { signal } from "@preact/signals";
import { api, problemOf } from "../api.ts";
import { lengthWords } from "../model/tasks.ts";
import { timeWords } from "../model/words.ts";
import { state } from "../store.ts";

const HOUR_MS = 3_600_000;
const STEPS = [
  ["1 hour", HOUR_MS],
  ["1 day", 24 * HOUR_MS],
  ["3 days", 72 * HOUR_MS],
] as const;

const problem = signal("");
const isAsked = signal(false);

/** Another move must wait. */
export function isTimeMoving(): boolean {
  const time = state.value?.time ?? null;
  return isAsked.value || (time !== null && time.movesToMs !== null);
}

/** Resolves when all has ended that was due meanwhile. */
export async function moveTime(byMs: number): Promise<void> {
  problem.value = "";
  isAsked.value = true;
  try {
    await api.moveTime(byMs);
  } catch (error) {
    problem.value = problemOf(error);
  } finally {
    isAsked.value = false;
  }
}

export function Time() {
  const time = state.value?.time ?? null;
  if (time === null) return null;
  const { aheadMs, movesToMs } = time;
  const isMoving = isTimeMoving();
  return (
    <section class="card clock" aria-label="Time of tasks and handlers">
      <div class="row">
        <span>
          It is <b class="num">{timeWords(Date.now() + aheadMs)}</b> for tasks and handlers
        </span>
        {aheadMs > 0 && <span class="tag t m-hide">{lengthWords(aheadMs)} ahead</span>}
        <span class="grow" />
        <span class="row" role="group" aria-label="Move time by">
          <span class="muted">Move time by</span>
          {STEPS.map(([words, byMs]) => (
            <button key={words} type="button" class="btn" disabled={isMoving} onClick={() => void moveTime(byMs)}>
              {words}
            </button>
          ))}
        </span>
      </div>
      <p class={problem.value === "" ? "soft" : "fail"} role="status">
        {problem.value !== ""
          ? problem.value
          : movesToMs === null
            ? ""
            : `It moves: ${lengthWords(aheadMs)} of ${lengthWords(movesToMs)}. All that is due on the way runs first.`}
      </p>
    </section>
  );
}

/** On each view, if time is not this machine's. */
export function Ahead() {
  const { aheadMs, movesToMs } = state.value?.time ?? { aheadMs: 0, movesToMs: null };
  if (aheadMs === 0 && movesToMs === null) return null;
  return (
    <span class="pill ahead" title="The time of tasks and handlers is ahead of this machine’s.">
      {movesToMs === null ? `${lengthWords(aheadMs)} ahead` : `time moves to ${lengthWords(movesToMs)} ahead`}
    </span>
  );
}
