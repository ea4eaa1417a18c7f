/** Items that several calls want at once: who waited, for how long, and behind whom. */
import { signal, useSignal } from "@preact/signals";
import type { UnitId } from "@radical/protocol";
import { useEffect } from "preact/hooks";
import { contended, queueOf } from "../model/contention.ts";
import { ms, shortUnit } from "../model/words.ts";
import { calls } from "../store.ts";

const MINUTES = 2;
const MOST_ROWS = 12;
const MOST_WAITERS = 14;
const TICK_MS = 2_000;
const chosen = signal<UnitId | null>(null);

const nameOf = (unit: UnitId): string => (unit === "" ? "(to run alone)" : shortUnit(unit));

export function Contention() {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const rows = contended(calls.value, now.value - MINUTES * 60_000).slice(0, MOST_ROWS);
  const one = rows.find(({ unit }) => unit === chosen.value) ?? rows[0];
  if (one === undefined)
    return (
      <section class="card pad empty">
        <h2>Nobody waits for anybody</h2>
        <p class="soft">
          Of the last {MINUTES} minutes no call has waited for an item that another one held, and no location had an old
          version.
        </p>
      </section>
    );
  return (
    <>
      <div class="two">
        <section class="card" aria-label="Items that wait most">
          <div class="hd">
            <h2>Items that wait most</h2>
            <span class="muted">the last {MINUTES} minutes</span>
          </div>
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>item</th>
                  <th class="right">calls</th>
                  <th class="right">waited</th>
                  <th class="right">longest</th>
                  <th class="right">old at a location</th>
                  <th>by</th>
                </tr>
              </thead>
              <tbody>
                {rows.map(({ unit, calls: count, waits, longestUs, atPrimary, handlers }) => (
                  <tr key={unit} class={unit === one.unit ? "chosen" : ""}>
                    <td>
                      <button
                        type="button"
                        class="link mono"
                        aria-pressed={unit === one.unit}
                        onClick={() => (chosen.value = unit)}
                      >
                        {nameOf(unit)}
                      </button>
                    </td>
                    <td class="num right">{count}</td>
                    <td class="num right b">{waits}</td>
                    <td class="num right">{waits === 0 ? "–" : `${ms(longestUs)} ms`}</td>
                    <td class="num right">{atPrimary}</td>
                    <td class="mono">{handlers.join(" ")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
        <section class="card pad stack">
          <h2>
            About <code>{nameOf(one.unit)}</code>
          </h2>
          <div class="advice">
            {one.waits > 0 ? (
              <>
                <p class="b">Calls want this item one after another.</p>
                <p class="soft">
                  {one.writers.length === 0
                    ? "Those that read it wait until a write of it is applied. "
                    : `${one.writers.join(" and ")} ${one.writers.length === 1 ? "writes" : "write"} it, and each call waits for the one before it. `}
                  A counter that adds without reading, or an item for each caller, has no such queue.
                </p>
              </>
            ) : (
              <>
                <p class="b">It changes between two calls of a location.</p>
                <p class="soft">
                  A location had an old version {one.atPrimary} times, so these calls ran at the primary. That is right,
                  and as slow as central. Keep what changes often in an item of its own.
                </p>
              </>
            )}
          </div>
        </section>
      </div>
      {one.waits > 0 && <Queue unit={one.unit} />}
    </>
  );
}

function Queue({ unit }: { readonly unit: UnitId }) {
  const waiters = queueOf(calls.value, unit, MOST_WAITERS);
  const longest =
    Math.max(1_000, ...waiters.map(({ startUs, waitedUs, heldUs }) => startUs + waitedUs + heldUs)) * 1.15;
  const x = (us: number): string => `${((us / longest) * 100).toFixed(2)}%`;
  return (
    <section class="card pad stack" aria-label="Who waited for whom">
      <div class="row">
        <h2>Who waited for whom</h2>
        <span class="muted mono">{nameOf(unit)}</span>
      </div>
      <div class="wf">
        {waiters.map(({ call, startUs, waitedUs, heldUs, behind }) => (
          <div key={call.id}>
            <span class="lab">
              <span class="plc">{call.life.place}</span> <code>{call.life.execution.slice(0, 7)}</code>
            </span>
            <svg role="img" aria-label={waitedUs === 0 ? "did not wait" : `waited ${ms(waitedUs)} ms`}>
              <rect x={x(startUs)} y="11" width={x(waitedUs)} height="6" class="f-there2" />
              <rect
                x={x(startUs + waitedUs)}
                y="8"
                width={x(Math.max(heldUs, longest / 200))}
                height="12"
                rx="2"
                class="f-there"
              />
              {behind !== null && (
                <text x={x(startUs + waitedUs + heldUs)} dx="8" y="18">
                  for {behind.slice(0, 7)}
                </text>
              )}
            </svg>
            <span class="val num">{waitedUs === 0 ? "–" : ms(waitedUs)}</span>
          </div>
        ))}
      </div>
      <p class="muted note">
        Light: in the queue. Solid: at the primary, until its answer or its commit. The times are those of the primary’s
        clock, in milliseconds; arrivals are whole ones.
      </p>
    </section>
  );
}
