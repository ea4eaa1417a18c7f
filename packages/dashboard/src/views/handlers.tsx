/** What is known of each handler: its keys, its plan, and the slice that says them before it runs. */
import { computed, signal } from "@preact/signals";
import type { DashboardHandler, DashboardPattern, LifeUnit } from "@radical/protocol";
import { median } from "../model/central.ts";
import { unitsOf } from "../model/join.ts";
import { resolve } from "../model/patterns.ts";
import { clock, commitWords, counted, isHere, ms, pathWords, unitText } from "../model/words.ts";
import { app, calls, selected, view } from "../store.ts";
import { Code, Words } from "./code.tsx";
import { tried } from "./try-it.tsx";

const chosen = signal("");

const PLANS: Readonly<Record<DashboardHandler["plan"], string>> = {
  sliced: "derived",
  recorded: "recorded",
  given: "given by you",
  "near-storage": "at the primary",
  workflow: "workflow",
};

const SENTENCES: Readonly<Record<DashboardHandler["plan"], string>> = {
  sliced:
    "Radical has derived a function that says what the handler reads and writes before it runs. So it runs at the location while one message asks the primary.",
  recorded: "No function could be derived. A location runs the handler itself to find its set, and sends that.",
  given: "You have written the function that says what the handler reads and writes.",
  "near-storage": "You have chosen that the handler runs at the primary only.",
  workflow: "A workflow: it touches no items itself, and its steps are executions of their own.",
};

const current = computed(() => {
  const handlers = app.value?.handlers ?? [];
  return handlers.find(({ name }) => name === chosen.value) ?? handlers[0] ?? null;
});

export function Handlers() {
  const handlers = app.value?.handlers ?? [];
  const handler = current.value;
  if (handler === null) return null;
  return (
    <div class="split narrow">
      <section class="card" aria-label="Handlers">
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>handler</th>
                <th>set</th>
                <th class="right m-hide">calls</th>
                <th class="right">ran here</th>
                <th class="right">median</th>
              </tr>
            </thead>
            <tbody>
              {handlers.map(({ name, plan, readOnly }) => {
                const own = calls.value.filter(({ life }) => life.handler === name);
                const middle = median(own.filter(({ life }) => life.code === null).map(({ life }) => life.tookUs));
                return (
                  <tr key={name} class={name === handler.name ? "chosen" : ""}>
                    <td>
                      <button
                        type="button"
                        class="link b"
                        aria-pressed={name === handler.name}
                        onClick={() => {
                          chosen.value = name;
                          resolvedFor.value = null;
                        }}
                      >
                        {name}
                      </button>{" "}
                      {readOnly && <span class="muted">reads</span>}
                    </td>
                    <td>
                      <span class={`tag ${plan === "near-storage" ? "t" : "h"}`}>{PLANS[plan]}</span>
                    </td>
                    <td class="num right m-hide">{own.length}</td>
                    <td class="num right">
                      {own.length === 0 ? "–" : `${Math.round((own.filter(isHere).length / own.length) * 100)} %`}
                    </td>
                    <td class="num right">{middle === null ? "–" : `${ms(middle)} ms`}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      </section>
      <One handler={handler} />
    </div>
  );
}

function One({ handler }: { readonly handler: DashboardHandler }) {
  const { name, plan, reason, givenBy, speculative, source, keptLines, slice, file, line, description } = handler;
  return (
    <section class="card" aria-label={`Handler ${name}`}>
      <div class="hd">
        <h2>
          <code>{name}</code>
        </h2>
        <span class="muted mono">
          {file}:{line}
        </span>
        <span class="grow" />
        <button
          type="button"
          class="btn"
          onClick={() => {
            tried.value = name;
            view.value = "try";
          }}
        >
          Try it
        </button>
      </div>
      <div class="pad stack">
        {description !== null && (
          <p class="lead">
            <Words text={description} />
          </p>
        )}
        <p class="soft">
          {plan === "near-storage" && reason !== null ? reason : SENTENCES[plan]}
          {givenBy !== null && (
            <>
              {" "}
              It is <code>{givenBy}</code>.
            </>
          )}
          {plan === "recorded" && reason !== null && ` The reason: ${reason}`} <Cost handler={handler} />
          {speculative && " Clients may see its result before the confirmation: it has the tag @speculative."}
        </p>
        <Keys handler={handler} />
        <Transformations handler={handler} />
        {source !== null && (
          <div>
            <h3>The handler</h3>
            <Code text={source} kept={new Set(keptLines)} label={`Source of ${name}`} />
            {slice !== null && (
              <p class="muted note">The derived function keeps the marked lines, or a part of them.</p>
            )}
          </div>
        )}
        {slice !== null && (
          <details>
            <summary>The derived function</summary>
            <Code text={slice} kept={null} label={`What ${name} reads and writes`} />
          </details>
        )}
      </div>
    </section>
  );
}

/** A call of the handler whose items stand at the patterns; null: the last one. */
const resolvedFor = signal<number | null>(null);
const MOST_CALLS = 30;
/** Items of a pattern that are shown. */
const MOST_SHOWN = 6;

function Keys({ handler: { name, reads, writes, plan } }: { readonly handler: DashboardHandler }) {
  const own = calls.value.filter(({ life }) => life.handler === name && life.path !== null).slice(0, MOST_CALLS);
  const call = own.find(({ id }) => id === resolvedFor.value) ?? own[0] ?? null;
  const units = call === null ? [] : unitsOf(call);
  const leftOut = call === null ? 0 : Math.max(call.life.unitsLeftOut, call.primary?.unitsLeftOut ?? 0);
  return (
    <div class="stack tight">
      <label class="row">
        <span class="soft">Keys, resolved for</span>
        {call === null ? (
          <span class="muted">no call yet: call it, and its items stand here</span>
        ) : (
          <select
            class="field mono calls"
            aria-label="The call whose items are shown"
            value={String(call.id)}
            onChange={({ currentTarget }) => (resolvedFor.value = Number(currentTarget.value))}
          >
            {own.map((one) => (
              <option key={one.id} value={String(one.id)}>
                {clock(one.life.atMs)} {one.life.place} {pathWords(one).words}
              </option>
            ))}
          </select>
        )}
        {call !== null && (
          <button
            type="button"
            class="link"
            onClick={() => {
              selected.value = call.id;
              view.value = "requests";
            }}
          >
            Show its way
          </button>
        )}
      </label>
      <dl class="kv">
        <dt>Reads</dt>
        <dd>
          <Patterns patterns={reads} plan={plan} units={units.filter(([, mode]) => mode !== "write")} />
        </dd>
        <dt>Writes</dt>
        <dd>
          <Patterns patterns={writes} plan={plan} units={units.filter(([, mode]) => mode !== "read")} />
        </dd>
      </dl>
      {leftOut > 0 && <p class="muted note">{counted(leftOut, "further item")} of that call are not told.</p>}
    </div>
  );
}

function Patterns({
  patterns,
  plan,
  units,
}: {
  readonly patterns: readonly DashboardPattern[];
  readonly plan: DashboardHandler["plan"];
  readonly units: readonly LifeUnit[];
}) {
  const { patterns: resolved, others } = resolve(
    patterns.map(({ pattern }) => pattern),
    units,
  );
  const nothing = plan === "sliced" || plan === "given" ? "nothing" : "not known before it runs";
  return (
    <>
      {patterns.length === 0 && <span class="soft">{nothing}</span>}
      <ul class="patterns">
        {resolved.map(({ pattern, units: own }, at) => (
          <li key={pattern}>
            <code class="wrap-any">{pattern}</code>
            {patterns[at]?.isDependent === true && (
              <span class="tag" title="The value that is read there decides on further items.">
                dependent
              </span>
            )}
            <Items units={own} />
          </li>
        ))}
        {others.length > 0 && (
          <li>
            <span class="soft">{patterns.length === 0 ? "that call" : "besides, such as entries of indexes"}</span>
            <Items units={others} />
          </li>
        )}
      </ul>
    </>
  );
}

function Items({ units }: { readonly units: readonly LifeUnit[] }) {
  if (units.length === 0) return null;
  return (
    <ul class="resolved">
      {units.slice(0, MOST_SHOWN).map(([unit, , had]) => (
        <li key={unit}>
          <code class="wrap-any">{unitText(unit)}</code>
          {had !== null && <span class="muted mono"> {commitWords(had)}</span>}
        </li>
      ))}
      {units.length > MOST_SHOWN && <li class="muted">and {units.length - MOST_SHOWN} more</li>}
    </ul>
  );
}

function Transformations({ handler: { transformations } }: { readonly handler: DashboardHandler }) {
  if (transformations.length === 0) return null;
  return (
    <div>
      <h3>Transformations: the derived function says more than the handler touches</h3>
      <ul class="stack tight">
        {transformations.map(({ kind, words, place, steps, makesWriter }) => (
          <li key={`${kind} ${place}`} class="advice">
            <p>
              <span class="tag t">{kind}</span> {words} <span class="mono muted">{place}</span>
            </p>
            <p class="soft">
              It saves about {steps.toLocaleString("en")} steps before the request leaves.{" "}
              {makesWriter && "Executions that write nothing take locks as if they did. "}
              To refuse it, write <code>{`/** @refuse ${kind} */`}</code> before the handler.
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The work that a call waits for before its request to the primary leaves. */
function Cost({ handler: { plan, steps } }: { readonly handler: DashboardHandler }) {
  const about = (count: number | null): string =>
    count === null ? "a number of steps that is not known" : `about ${count.toLocaleString("en")} steps`;
  switch (plan) {
    case "sliced":
      return (
        <>
          The request leaves after {about(steps.readWriteSet)}. The handler itself takes {about(steps.handler)}.
        </>
      );
    case "given":
      return <>The request leaves after {about(steps.readWriteSet)}.</>;
    case "recorded":
      return <>The request leaves when the handler has run, which takes {about(steps.handler)}.</>;
    case "near-storage":
      return <>The handler runs when the request has come to the primary. It takes {about(steps.handler)}.</>;
    case "workflow":
      return <>The workflow begins when the request has come to the primary. Its steps are executions of their own.</>;
  }
}
