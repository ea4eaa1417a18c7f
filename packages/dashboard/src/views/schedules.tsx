/** Schedules of handlers: their next ticks, and calls by hand. */
import type { ScheduleAction, ScheduleList, ScheduleStatus } from "@radical/protocol";
import { fromNow, scheduleWords } from "../model/tasks.ts";
import { isDeployment } from "../store.ts";

interface Changing {
  /** Tells what came of it. */
  readonly onChange: (handler: string, action: ScheduleAction) => Promise<void>;
}

export function Schedules({ known, onChange }: Changing & { readonly known: ScheduleList }) {
  return (
    <section class="card" aria-label="Schedules">
      <div class="hd wrap">
        <h2>Schedules</h2>
        <span class="muted">handlers that the primary calls by time</span>
      </div>
      {known.schedules.length === 0 ? (
        <p class="pad soft">
          No handler has a schedule. <code>@every 5m</code> or <code>@cron 0 6 * * *</code> in its comment gives it one.
        </p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>handler</th>
                <th>schedule</th>
                <th class="m-hide">last tick</th>
                <th>next tick</th>
                {!isDeployment.value && <th class="right">do</th>}
              </tr>
            </thead>
            <tbody>
              {known.schedules.map((schedule) => (
                <Schedule key={schedule.handler} schedule={schedule} timeMs={known.timeMs} onChange={onChange} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Schedule({
  schedule,
  timeMs,
  onChange,
}: Changing & { readonly schedule: ScheduleStatus; readonly timeMs: number }) {
  const { handler, lastMs, nextMs, isPaused: isStill, isOpen } = schedule;
  return (
    <tr>
      <td class="mono">{handler}</td>
      <td>
        <code>{scheduleWords(schedule)}</code>
      </td>
      <td class="num m-hide">
        {lastMs === null ? <span class="muted">none yet</span> : fromNow(lastMs, timeMs)}{" "}
        {isOpen && <span class="tag t">not done yet</span>}
      </td>
      <td class="num">
        {isStill ? (
          <span class="tag">paused</span>
        ) : nextMs === null ? (
          <span class="muted">none</span>
        ) : (
          <span title={new Date(nextMs).toLocaleString()}>{fromNow(nextMs, timeMs)}</span>
        )}
      </td>
      {!isDeployment.value && (
        <td class="right">
          <span class="row end">
            <button
              type="button"
              class="btn"
              aria-label={`Run now: ${handler}`}
              onClick={() => void onChange(handler, "run")}
            >
              Run now
            </button>
            <button
              type="button"
              class="btn"
              aria-label={isStill ? `Resume ${handler}` : `Pause ${handler}`}
              onClick={() => void onChange(handler, isStill ? "resume" : "pause")}
            >
              {isStill ? "Resume" : "Pause"}
            </button>
          </span>
        </td>
      )}
    </tr>
  );
}
