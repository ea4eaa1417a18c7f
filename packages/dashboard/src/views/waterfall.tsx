/** One call on a time axis: what its location did, what the primary did meanwhile, and what the same would have taken elsewhere. */
import type { ComponentChildren } from "preact";
import { idealUs } from "../model/central.ts";
import type { Call } from "../model/join.ts";
import { placeName } from "../model/places.ts";
import { type Bar, type RoundTrip, roundTripOf, spansOf, waitOf } from "../model/spans.ts";
import { ms, shortUnit, tickWords } from "../model/words.ts";
import { central, isNarrow, state } from "../store.ts";

const AT_PRIMARY: Readonly<Record<string, string>> = {
  "look-up": "look up",
  lock: "wait for locks",
  leases: "wait for leases",
  load: "load items",
  worker: "wait for a worker",
  run: "run",
  intent: "keep the intent",
  apply: "commit",
  "re-execute": "run again",
};

export function Waterfall({ call }: { readonly call: Call }) {
  const { life, primary } = call;
  const trip = roundTripOf(call, central.value.roundTripOf(life.place));
  const reckoned = central.value.of(call);
  const measured = central.value.measuredUs(call);
  const ideal = idealUs(call);
  const later = laterOf(call, trip);
  const longest = Math.max(
    life.tookUs,
    reckoned?.totalUs ?? 0,
    measured ?? 0,
    later === null ? 0 : Math.min(later.startUs + later.tookUs, life.tookUs * 1.9),
  );
  const fullUs = niceUs(longest * 1.04);
  const x = (us: number): string => `${Math.min(100, (us / fullUs) * 100).toFixed(2)}%`;
  const ticks = [0, 1, 2, 3].map((tick) => (tick * fullUs) / 4);
  const waits = waitOf(life);
  const runs = spansOf(life, "run");
  const isOut = life.path !== "speculative" && life.path !== "leased";
  const place = placeName(life.place);
  const label = `${life.handler} at ${place} took ${ms(life.tookUs)} ms${
    trip === null
      ? ""
      : `, of which ${ms(trip.there.tookUs + trip.back.tookUs)} ms were the way to the primary and back`
  }`;

  const row = (name: string, value: ComponentChildren, bars: ComponentChildren, className = "") => (
    <div class={className} key={name}>
      <span class="lab">{name}</span>
      <svg aria-hidden="true">
        {ticks.map((tick) => (
          <line key={tick} x1={x(tick)} x2={x(tick)} y1="0" y2="100%" class="gl" />
        ))}
        {bars}
        <line x1={x(life.tookUs)} x2={x(life.tookUs)} y1="0" y2="100%" class="s-ans" />
      </svg>
      <span class="val num">{value}</span>
    </div>
  );
  const bar = ({ startUs, tookUs }: Bar, className: string, height = 11) => (
    <rect
      x={x(startUs)}
      y={14 - height / 2}
      width={x(Math.max(tookUs, fullUs / 250))}
      height={height}
      rx="2"
      class={className}
    />
  );
  const line = ({ startUs, tookUs }: Bar, className: string) => (
    <line x1={x(startUs)} x2={x(startUs + tookUs)} y1="14" y2="14" class={className} />
  );
  const spans = (names: readonly string[]) =>
    life.spans.filter(([name]) => names.includes(name)).map(([, startUs, tookUs]) => ({ startUs, tookUs }));
  const total = (bars: readonly Bar[]): string => ms(bars.reduce((sum, { tookUs }) => sum + tookUs, 0));
  const sets = spans(["set"]);
  const fetches = spans(["fetch"]);
  const inside = primary === null || trip === null ? [] : insideOf(primary, trip.at);

  return (
    <div class="wf" role="img" aria-label={label}>
      <div class="axis">
        <span class="lab" />
        <svg aria-hidden="true">
          {ticks
            .filter((tick) => !isHidden(tick / fullUs, life.tookUs / fullUs))
            .map((tick) => (
              <text key={tick} x={x(tick)} y="18" text-anchor={tick === 0 ? "start" : "middle"}>
                {tickWords(tick)}
              </text>
            ))}
          <text x={x(life.tookUs)} y="18" text-anchor={endsAt(life.tookUs / fullUs) ? "end" : "middle"} class="t-good">
            answered
          </text>
        </svg>
        <span class="val muted">ms</span>
      </div>
      {row(place, "", null, "grp")}
      {sets.length > 0 &&
        row(
          "find its set",
          total(sets),
          sets.map((each) => bar(each, "f-here")),
        )}
      {fetches.length > 0 &&
        row(
          "read the cache",
          total(fetches),
          fetches.map((each) => bar(each, "f-here2")),
        )}
      {runs.length > 0 &&
        row(
          `run ${life.handler}`,
          total(spans(["run"])),
          <>
            {spans(["run"]).map((each) => bar(each, isOut ? "f-soft" : "f-here"))}
            {life.fuel !== null && (
              <text x={x((runs.at(-1)?.[1] ?? 0) + (runs.at(-1)?.[2] ?? 0))} dx="5" y="18">
                {isOut ? "not used" : `${fuelWords(life.fuel)} fuel`}
              </text>
            )}
          </>,
        )}
      {waits !== null && waits.tookUs > 0 && row("wait for the primary", ms(waits.tookUs), line(waits, "s-wait"))}
      {trip !== null && primary !== null && (
        <>
          {row(`Primary, ${ms(trip.there.tookUs + trip.back.tookUs)} ms away`, "", null, "grp")}
          {trip.before > 0 &&
            row(
              "sent before",
              `${trip.before} ×`,
              earlier(call).map((each) => line(each, "s-wait-there")),
            )}
          {row("way there", ms(trip.there.tookUs), line(trip.there, "s-there"))}
          {inside.length === 0
            ? row(
                "check",
                ms(trip.at.tookUs),
                <>
                  {bar(trip.at, "f-there")}
                  <text x={x(trip.at.startUs + trip.at.tookUs)} dx="6" y="18">
                    {primary.reason === "valid" ? "versions equal" : (primary.code ?? primary.reason ?? "")}
                  </text>
                </>,
              )
            : inside.map(({ name, bars }) =>
                row(
                  name === "run" ? `run ${life.handler}` : (AT_PRIMARY[name] ?? name),
                  total(bars),
                  <>
                    {bars.map((each) => bar(each, name === "lock" || name === "leases" ? "f-there2" : "f-there"))}
                    {name === "lock" && primary.waited[0] !== undefined && (
                      <text x={x((bars.at(-1)?.startUs ?? 0) + (bars.at(-1)?.tookUs ?? 0))} dx="6" y="18">
                        {primary.waited[0][0] === "" ? "" : shortUnit(primary.waited[0][0])}
                      </text>
                    )}
                  </>,
                ),
              )}
          {row("way back", ms(trip.back.tookUs), line(trip.back, "s-there"))}
          {trip.unread.tookUs >= 500 &&
            row("waits to be read", ms(trip.unread.tookUs), line(trip.unread, "s-wait-there"))}
          {later !== null &&
            row(
              "followup, commit",
              <span class="muted">later</span>,
              <>
                {line({ startUs: life.tookUs, tookUs: later.startUs - life.tookUs }, "s-wait-there")}
                {bar(later, "f-there")}
              </>,
            )}
        </>
      )}
      {primary === null && life.attempt > 0 && (
        <>
          {row("Primary", "", null, "grp")}
          {row(
            "asked",
            ms(spansOf(life, "send").reduce((sum, [, , tookUs]) => sum + tookUs, 0)),
            spans(["send"]).map((each) => line(each, "s-there")),
          )}
          <p class="note muted">{missingHalf(call)}</p>
        </>
      )}
      {row("The same caller", "", null, "grp")}
      {row("this call", <b>{ms(life.tookUs)}</b>, bar({ startUs: 0, tookUs: life.tookUs }, "f-here", 15), "sum")}
      {reckoned !== null &&
        row(
          "central, about",
          ms(reckoned.totalUs),
          <>
            {bar({ startUs: 0, tookUs: reckoned.totalUs }, "f-there2", 15)}
            {bar({ startUs: reckoned.roundTripUs / 2, tookUs: reckoned.runUs + reckoned.restUs }, "f-there", 15)}
          </>,
          "sum",
        )}
      {measured !== null &&
        row("central, measured", ms(measured), bar({ startUs: 0, tookUs: measured }, "f-there2", 15), "sum")}
      {ideal !== null &&
        row("ideal, not consistent", ms(ideal), bar({ startUs: 0, tookUs: ideal }, "f-soft", 15), "sum")}
    </div>
  );
}

/** Whether the word at the answer ends there, since there is no room behind it. Places are shares of the axis. */
function endsAt(answered: number): boolean {
  return answered > 0.85;
}

/** Whether the number of a tick would stand where the word at the answer does. */
function isHidden(tick: number, answered: number): boolean {
  const half = isNarrow.value ? 0.22 : 0.14;
  const [before, after] = endsAt(answered) ? [0.24, 0.04] : [half, half];
  return tick > answered - before && tick < answered + after;
}

/** Why the primary's half is not here. */
function missingHalf({ life }: Call): string {
  const { source, livesLeftOut = 0 } = state.value ?? {};
  if (life.code !== null) return "The primary has told nothing of it.";
  const every = source?.kind === "deployment" ? source.every : 1;
  if (every > 1) return `The primary tells one of ${every} executions, and has not told this one.`;
  const left = livesLeftOut > 0 ? ` It may be among the ${livesLeftOut.toLocaleString("en")} that were left out.` : "";
  return `The primary’s half is told when the followup is applied.${left}`;
}

/** What the primary did before its answer, from the start of the call. */
function insideOf(
  primary: NonNullable<Call["primary"]>,
  { startUs }: Bar,
): readonly { name: string; bars: readonly Bar[] }[] {
  const found = new Map<string, Bar[]>();
  for (const [name, spanUs, tookUs] of primary.spans) {
    if (name === "followup" || spanUs >= primary.tookUs) continue;
    const bars = found.get(name) ?? [];
    bars.push({ startUs: startUs + spanUs, tookUs });
    found.set(name, bars);
  }
  return Array.from(found, ([name, bars]) => ({ name, bars }));
}

/** The commit of what was told before it; null: there is none, or it was before the answer. */
function laterOf({ primary }: Call, trip: RoundTrip | null): Bar | null {
  const applied = primary?.spans.findLast(([name]) => name === "apply");
  if (primary === null || trip === null || applied === undefined || applied[1] < primary.tookUs) return null;
  return { startUs: trip.at.startUs + applied[1], tookUs: applied[2] };
}

function earlier({ life }: Call): readonly Bar[] {
  return spansOf(life, "send")
    .slice(0, -1)
    .map(([, startUs, tookUs]) => ({ startUs, tookUs }));
}

function fuelWords(fuel: number): string {
  return fuel >= 1e6
    ? `${(fuel / 1e6).toFixed(fuel < 1e7 ? 1 : 0)} M`
    : fuel >= 1e3
      ? `${Math.round(fuel / 1e3)} k`
      : String(fuel);
}

/** A whole number of quarters that is easy to read. */
function niceUs(us: number): number {
  const quarter = us / 4_000;
  const power = 10 ** Math.floor(Math.log10(Math.max(0.1, quarter)));
  const nice =
    [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((step) => step >= quarter) ?? quarter;
  return nice * 4_000;
}
