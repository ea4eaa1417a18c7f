/** Items that several calls want at once: who waited, for how long, and behind whom. */
import { signal, useSignal } from "@preact/signals";
import { type ContentionReport, isSpan, type UnitId } from "@radical/protocol";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { type Contended, contended, queueOf, staleWords, withTally } from "../model/contention.ts";
import { ms, shortUnit } from "../model/words.ts";
import { calls, isDeployment } from "../store.ts";
import { AtLocations } from "./at-locations.tsx";

const MINUTES = 2;
const MOST_ROWS = 12;
const MOST_WAITERS = 14;
const TICK_MS = 2_000;
const chosen = signal<UnitId | null>(null);
/** The tally of the primary; null: it has not answered. */
const tally = signal<ContentionReport | null>(null);

async function load(): Promise<void> {
  // A server of an earlier release has none: then the page shows its own lives alone.
  tally.value = await api.contention().catch(() => null);
}

const nameOf = (unit: UnitId): string => (unit === "" ? "(to run alone)" : shortUnit(unit));

export function Contention() {
  const now = useSignal(Date.now());
  useEffect(() => {
    void load();
    const timer = setInterval(() => {
      now.value = Date.now();
      void load();
    }, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const rows = withTally(contended(calls.value, now.value - MINUTES * 60_000), tally.value).slice(0, MOST_ROWS);
  const one = rows.find(({ unit }) => unit === chosen.value) ?? rows[0];
  if (one === undefined)
    return (
      <section class="card pad empty">
        <h2>Nobody waits for anybody</h2>
        <p class="soft">
          In the last {MINUTES} minutes no call has waited for an item that another one held, and no location had an old
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
            <span class="muted">
              the last {MINUTES} minutes, {tally.value === null ? "of the calls shown here" : "as the primary counts"}
              {tally.value?.hasLeftOut === true && "; some are left out"}
            </span>
          </div>
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>item</th>
                  <th class="right">calls</th>
                  <th class="right">waited</th>
                  <th class="right m-hide">longest</th>
                  <th class="right">stale</th>
                  <th class="right m-hide">hot</th>
                  <th class="m-hide">leased to</th>
                  <th class="m-hide">by</th>
                </tr>
              </thead>
              <tbody>
                {rows.map(({ unit, calls: count, waits, longestUs, stale, hot, leasedTo, handlers }) => (
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
                    <td class="num right m-hide">{waits === 0 ? "–" : `${ms(longestUs)} ms`}</td>
                    <td class="num right">{stale}</td>
                    <td class="num right m-hide">{hot}</td>
                    <td class="m-hide">{leasedTo.length === 0 ? "–" : leasedTo.join(" ")}</td>
                    <td class="mono m-hide">{handlers.join(" ")}</td>
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
            <Advice one={one} />
          </div>
          {one.unit !== "" && !isSpan(one.unit) && !isDeployment.value && (
            <div>
              <h3>At the locations</h3>
              <AtLocations unit={one.unit} />
            </div>
          )}
          {one.last.length > 0 && (
            <div>
              <h3>The last waits, as the primary tells</h3>
              <table class="history">
                <tbody>
                  {one.last.toReversed().map(({ execution, behind, handler, location, waitedMs }) => (
                    <tr key={execution}>
                      <td>
                        <code>{handler ?? "a run"}</code> {location !== null && <span class="plc">{location}</span>}{" "}
                        <span class="mono muted">{execution.slice(0, 7)}</span>
                      </td>
                      <td class="mono muted">{behind === null ? "" : `behind ${behind.slice(0, 7)}`}</td>
                      <td class="num right">{ms(waitedMs * 1_000)} ms</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </section>
      </div>
      {one.waits > 0 && <Queue unit={one.unit} />}
    </>
  );
}

function Advice({ one }: { readonly one: Contended }) {
  const writers = one.writers.length === 0 ? null : one.writers.join(" and ");
  if (one.unit === "")
    return (
      <>
        <p class="b">An execution had to run alone.</p>
        <p class="soft">
          A handler that keeps meeting other items than it expected ends up alone. Read the keys that it needs from as
          few items as possible, or give it a set with <code>@readwrite</code>.
        </p>
      </>
    );
  if (one.waits > 0)
    return (
      <>
        <p class="b">Calls want this item one after another.</p>
        <p class="soft">
          {writers === null
            ? "Calls that read it wait until a write of it is applied. "
            : `${writers} ${one.writers.length === 1 ? "writes" : "write"} it, and each call waits for the one before. `}
          {isCounterLike(one)
            ? "Use a Counter for a number that many calls add to, or split it into an item for each caller."
            : "Move the fields that change often into an item of their own, or give each caller an item and read them as a range."}
        </p>
        {one.leasedTo.length > 0 && (
          <p class="soft">
            {one.leasedTo.join(", ")} {one.leasedTo.length === 1 ? "holds" : "hold"} a lease of it, so a write waits
            until they have heard of it.
          </p>
        )}
      </>
    );
  return (
    <>
      <p class="b">It changes between two calls of a location.</p>
      <p class="soft">
        {staleWords(one)} That is right, and as slow as central. Keep what changes often apart from what is read often.
      </p>
    </>
  );
}

/** Every handler that touches it writes it. */
function isCounterLike({ handlers, writers }: Contended): boolean {
  return writers.length > 0 && writers.length === handlers.length;
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
                <text class="m-hide" x={x(startUs + waitedUs + heldUs)} dx="8" y="18">
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
