/** The live list of requests, the last seconds as dots, and one request as a waterfall. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { soonerUs } from "../model/central.ts";
import { type Call, unitsOf } from "../model/join.ts";
import { clock, commitWords, ms, pathWords, sentenceOf, shortUnit, unitText } from "../model/words.ts";
import { placeName } from "../model/places.ts";
import { again, repeatable } from "./again.ts";
import { calls, central, current, filter, isNarrow, selected, shown, state, view } from "../store.ts";
import { Shape } from "./icons.tsx";
import { isWorkflow, openWorkflow } from "./workflows.tsx";
import { openReplay } from "./replay.tsx";
import { Strip } from "./strip.tsx";
import { Waterfall } from "./waterfall.tsx";

const ROW_PX = 37;
const NARROW_ROW_PX = 58;
const UNKNOWN = "Too few runs of this handler at the primary were seen.";
/** Rows outside of what is seen. */
const MORE = 8;

export function Requests() {
  return (
    <>
      <Strip />
      <LeftOut />
      {calls.value.length === 0 ? (
        <Nothing />
      ) : (
        <div class="split">
          <List />
          <Detail />
        </div>
      )}
    </>
  );
}

/** Where lives of the primary are missing, and why. */
function LeftOut() {
  const count = state.value?.livesLeftOut ?? 0;
  if (count === 0) return null;
  return (
    <p class="card pad soft" role="status">
      The primary has left out the halves of <b class="num">{count.toLocaleString("en")}</b> executions: it tells 1,000
      a second. The way of such a request ends at the question, and its commit is not shown.
    </p>
  );
}

function Nothing() {
  return (
    <section class="card pad empty">
      <h2>No request yet</h2>
      <p class="soft">
        Call a handler, and it stands here with the way that it took. Use your application, or{" "}
        <button type="button" class="link" onClick={() => (view.value = "try")}>
          try a handler
        </button>
        .
      </p>
    </section>
  );
}

/** The rows that can be seen, of as many as there are. While one is chosen the list stands still under it. */
function List() {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const rows = shown.value;
  const rowPx = isNarrow.value ? NARROW_ROW_PX : ROW_PX;
  const first = Math.max(0, Math.floor(top.value / rowPx) - MORE);
  const seen = rows.slice(first, first + Math.ceil(height.value / rowPx) + 2 * MORE);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => (height.value = element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // New rows come above: who has scrolled, or chosen, goes on seeing the same.
  const before = useRef<number>(rows[0]?.id ?? 0);
  useEffect(() => {
    const element = box.current;
    const newest = rows[0]?.id ?? 0;
    const added = rows.findIndex(({ id }) => id <= before.current);
    before.current = newest;
    if (element !== null && added > 0 && (element.scrollTop > 0 || selected.value !== null))
      element.scrollTop += added * rowPx;
  }, [rows[0]?.id]);
  useSignalEffect(() => {
    const at = shown.value.findIndex(({ id }) => id === selected.value);
    const element = box.current;
    if (element === null || at < 0) return;
    if (at * rowPx < element.scrollTop) element.scrollTop = at * rowPx;
    else if ((at + 1) * rowPx > element.scrollTop + element.clientHeight)
      element.scrollTop = (at + 1) * rowPx - element.clientHeight;
  });
  const chosen = current.value?.id;
  return (
    <section class="card list" aria-label="Requests">
      <div class="req head" aria-hidden="true">
        <span>time</span>
        <span>at</span>
        <span>call</span>
        <span>path</span>
        <span class="right">took</span>
        <span class="right">vs central</span>
      </div>
      <div
        class="rows"
        ref={box}
        role="listbox"
        aria-label="Requests, the latest first"
        tabIndex={0}
        aria-activedescendant={chosen === undefined ? undefined : `call-${chosen}`}
        onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}
      >
        <svg class="space" width="1" height={Math.max(1, first * rowPx)} aria-hidden="true" />
        {seen.map((call) => (
          <Row key={call.id} call={call} isChosen={call.id === chosen} />
        ))}
        <svg
          class="space"
          width="1"
          height={Math.max(1, (rows.length - first - seen.length) * rowPx)}
          aria-hidden="true"
        />
      </div>
      {rows.length === 0 && <p class="pad soft">No request fits “{filter.value}”.</p>}
    </section>
  );
}

function Row({ call, isChosen }: { readonly call: Call; readonly isChosen: boolean }) {
  const { life } = call;
  const { shape, side, words } = pathWords(call);
  const sooner = soonerUs(call, central.value.centralUs(call));
  const [unit] = unitsOf(call);
  return (
    <div
      class="req"
      role="option"
      id={`call-${call.id}`}
      aria-selected={isChosen}
      onClick={() => (selected.value = call.id)}
    >
      <span class="t num muted">{clock(life.atMs)}</span>
      <span class="plc" title={life.place}>
        {life.place}
      </span>
      <span class="call">
        <b>{life.handler}</b>
        {unit !== undefined && <i>{shortUnit(unit[0])}</i>}
      </span>
      <span class="why">
        <Shape shape={shape} side={side} />
        {words}
      </span>
      <span class="ms num">{ms(life.tookUs)} ms</span>
      <Save sooner={sooner} />
    </div>
  );
}

function Save({ sooner }: { readonly sooner: number | null }) {
  if (sooner === null) return <span class="save muted">–</span>;
  if (sooner === 0) return <span class="save muted">same</span>;
  const text = `${sooner > 0 ? "−" : "+"}${Math.round(Math.abs(sooner) / 1_000)}`;
  return <span class={`save num ${sooner > 0 ? "good" : "there"}`}>{text}</span>;
}

function Detail() {
  const call = current.value;
  if (call === null) return null;
  const { life, primary } = call;
  const { side, words } = pathWords(call);
  const sooner = soonerUs(call, central.value.centralUs(call));
  const units = unitsOf(call);
  const leftOut = units === life.units ? life.unitsLeftOut : (primary?.unitsLeftOut ?? 0);
  const reads = units.filter(([, mode]) => mode !== "write");
  const writes = units.filter(([, mode]) => mode !== "read");
  const applied = primary?.spans.find(([name]) => name === "apply");
  const lateUs = applied === undefined || primary === null ? 0 : applied[1] + applied[2] - primary.tookUs;
  const commit = primary?.commit ?? life.commit;
  const repeat = repeatable(life.execution);
  return (
    <section class="card detail" aria-label="One request">
      <div class="hd">
        <h2>
          <code>{life.handler}</code> at {placeName(life.place)}
        </h2>
        <span class={`tag ${side === "here" ? "h" : side === "there" ? "t" : "f"}`}>{words}</span>
        <span class="grow" />
        {primary !== null && life.code === null && (
          <button type="button" class="btn" onClick={() => openReplay(life.execution)}>
            Replay
          </button>
        )}
        {isWorkflow(life.handler) && life.attempt > 0 && (
          <button type="button" class="btn" onClick={() => openWorkflow(life.execution)}>
            Timeline
          </button>
        )}
        {repeat !== null && (
          <button type="button" class="btn" onClick={() => void again(repeat)}>
            Send again
          </button>
        )}
      </div>
      <div class="pad stack">
        <div>
          <div class="ans">
            <span class="big num">{ms(life.tookUs)} ms</span>
            {sooner !== null && sooner !== 0 && (
              <span class={`b ${sooner > 0 ? "good" : "there"}`}>
                {ms(Math.abs(sooner))} ms {sooner > 0 ? "sooner" : "later"} than central
              </span>
            )}
            {sooner === 0 && <span class="soft b">the same as central</span>}
            {sooner === null && central.value.compares(call) && (
              <span class="soft" title={UNKNOWN}>
                central: not known yet
              </span>
            )}
          </div>
          <p class="lead soft">{sentenceOf(call)}</p>
        </div>
        <Waterfall call={call} />
        <dl class="kv">
          <dt>Read</dt>
          <dd>{reads.length === 0 ? "nothing" : <Units units={reads} leftOut={leftOut} />}</dd>
          <dt>Wrote</dt>
          <dd>
            {commit === null && writes.length === 0 ? (
              "nothing"
            ) : (
              <>
                <Units units={writes} leftOut={0} />
                {commit !== null && <> {commitWords(commit)}</>}
                {lateUs > 0 && `, applied ${ms(lateUs)} ms after the primary’s answer`}
              </>
            )}
          </dd>
          {primary !== null && primary.because !== null && (
            <>
              <dt>Because</dt>
              <dd>
                <code>{unitText(primary.because.unit)}</code>: had {commitWords(primary.because.had)}, the primary has{" "}
                {commitWords(primary.because.is)}
              </dd>
            </>
          )}
          {primary?.waited.map(([unit, behind, tookUs]) => (
            <>
              <dt>Waited</dt>
              <dd>
                {ms(tookUs)} ms for <code>{unit === "" ? "its turn to run alone" : unitText(unit)}</code>
                {behind !== null && (
                  <>
                    , behind <code>{behind.slice(0, 8)}</code>
                  </>
                )}
              </dd>
            </>
          ))}
          <dt>Execution</dt>
          <dd>
            <code>{life.execution}</code>
            {life.attempt > 1 && `, sent ${life.attempt} times`}
          </dd>
        </dl>
      </div>
    </section>
  );
}

function Units({ units, leftOut }: { readonly units: Call["life"]["units"]; readonly leftOut: number }) {
  const first = units.slice(0, 4);
  const more = units.length - first.length + leftOut;
  return (
    <>
      {first.map(([unit, mode, had], index) => (
        <span key={unit}>
          {index > 0 && ", "}
          <code>{unitText(unit)}</code>
          {mode !== "write" && <span class="muted"> {commitWords(had)}</span>}
        </span>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  );
}
