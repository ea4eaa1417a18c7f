/** The last seconds: a dot for each request, as high as it took long. Lines are the round trips of the locations. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { central, current, isNarrow, isPaused, selected, shown, state } from "../store.ts";
import { isHere, pathWords } from "../model/words.ts";

const SECONDS = 30;
const HEIGHT = 120;
/** The strip moves on so often. */
const TICK_MS = 250;
const MOST_DOTS = 1_500;

export function Strip() {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!isPaused.value && !document.hidden) now.value = Date.now();
    }, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const fromMs = now.value - SECONDS * 1_000;
  const recent = shown.value.slice(0, MOST_DOTS).filter(({ life }) => life.atMs >= fromMs);
  const here = recent.filter(isHere).length;
  const ways = (state.value?.locations ?? []).map(({ name, roundTripMs }) => ({
    name,
    tookMs: (central.value.roundTripOf(name) ?? (roundTripMs ?? 0) * 1_000) / 1_000,
  }));
  const most = Math.max(20, ...ways.map(({ tookMs }) => tookMs * 1.4));
  const longest = Math.max(most, Math.min(most * 3, percentile(recent.map(({ life }) => life.tookUs / 1_000))));
  const step = niceStep(longest / 3);
  const y = (tookMs: number): number => HEIGHT - (Math.min(tookMs, longest) / longest) * (HEIGHT - 12) - 2;
  const share = recent.length === 0 ? null : Math.round((here / recent.length) * 100);
  const labels = labelled(ways, y);
  return (
    <section class="card strip" aria-label={`The last ${SECONDS} seconds`}>
      <div class="hd">
        <h2>Last {SECONDS} seconds</h2>
        <span class="muted num">
          {recent.length === 0 ? "no request" : `${recent.length} request${recent.length === 1 ? "" : "s"}`}
          {share !== null && `, ${share} % ran here`}
        </span>
        <span class="grow" />
        <span class="row muted m-hide legend">
          <svg width="12" height="12" aria-hidden="true">
            <circle cx="6" cy="6" r="4" class="f-here" />
          </svg>
          ran here
          <svg width="12" height="12" aria-hidden="true">
            <circle cx="6" cy="6" r="3.6" class="o-there" />
          </svg>
          ran at the primary
        </span>
      </div>
      <div class="plot">
        <svg aria-hidden="true">
          {[0, step, 2 * step].map((tick) => (
            <text key={tick} x="100%" dx="-8" dy="4" text-anchor="end" y={y(tick)}>
              {tick}
            </text>
          ))}
        </svg>
        <svg
          role="img"
          aria-label={`${recent.length} requests of the last ${SECONDS} seconds, ${here} of them ran at their locations`}
        >
          {ways.map(({ name, tookMs }) => (
            <line key={name} x1="0" x2="100%" y1={y(tookMs)} y2={y(tookMs)} class="gl" />
          ))}
          {recent.map((call) => {
            const { side } = pathWords(call);
            const x = `${(((call.life.atMs - fromMs) / (SECONDS * 1_000)) * 100).toFixed(2)}%`;
            const at = y(call.life.tookUs / 1_000);
            return (
              <g key={call.id} onClick={() => (selected.value = call.id)}>
                {call.id === current.value?.id && <circle cx={x} cy={at} r="7" class="o-ink" />}
                <circle cx={x} cy={at} r={side === "here" ? 3 : 2.8} class={side === "here" ? "f-here" : `o-${side}`} />
              </g>
            );
          })}
        </svg>
        <svg aria-hidden="true">
          {labels.map(({ names, at }) => (
            <text key={names} x="8" y={at} dy="4">
              {names}
            </text>
          ))}
        </svg>
      </div>
    </section>
  );
}

/** The round trips as words beside their lines, those that are near each other together. */
function labelled(
  ways: readonly { readonly name: string; readonly tookMs: number }[],
  y: (tookMs: number) => number,
): readonly { readonly names: string; readonly at: number }[] {
  const labels: { names: string; first: string; at: number }[] = [];
  for (const { name, tookMs } of ways.toSorted((a, b) => b.tookMs - a.tookMs)) {
    const words = isNarrow.value ? name : `${name} ${Math.round(tookMs)}`;
    const last = labels.at(-1);
    // There is room for two.
    if (last === undefined || y(tookMs) - last.at >= 13) labels.push({ names: words, first: words, at: y(tookMs) });
    else last.names = last.names === last.first ? `${last.first}, ${words}` : `${last.first} … ${words}`;
  }
  return labels;
}

function percentile(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.98)] ?? 0;
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? rough;
}
