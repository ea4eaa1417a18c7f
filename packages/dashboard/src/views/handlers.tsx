/** What is known of each handler: its keys, its plan, and the slice that says them before it runs. */
import { computed, signal } from "@preact/signals";
import type { DashboardHandler } from "@radical/protocol";
import { app, calls, view } from "../store.ts";
import { median } from "../model/central.ts";
import { isHere, ms } from "../model/words.ts";
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
                <th class="right">calls</th>
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
                        onClick={() => (chosen.value = name)}
                      >
                        {name}
                      </button>{" "}
                      {readOnly && <span class="muted">reads</span>}
                    </td>
                    <td>
                      <span class={`tag ${plan === "near-storage" ? "t" : "h"}`}>{PLANS[plan]}</span>
                    </td>
                    <td class="num right">{own.length}</td>
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
  const { name, plan, reason, reads, writes, source, slice, file, line, description } = handler;
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
          {SENTENCES[plan]}
          {reason !== null && ` The reason: ${reason}`}
        </p>
        <dl class="kv">
          <dt>Reads</dt>
          <dd>
            <Patterns patterns={reads} plan={plan} />
          </dd>
          <dt>Writes</dt>
          <dd>
            <Patterns patterns={writes} plan={plan} />
          </dd>
        </dl>
        {source !== null && (
          <div>
            <h3>The handler</h3>
            <Code text={source} kept={slice === null ? null : keptLines(source, slice)} label={`Source of ${name}`} />
            {slice !== null && <p class="muted note">Marked lines stand in the derived function too.</p>}
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

function Patterns({
  patterns,
  plan,
}: {
  readonly patterns: readonly string[];
  readonly plan: DashboardHandler["plan"];
}) {
  if (patterns.length === 0)
    return <>{plan === "sliced" || plan === "given" ? "nothing" : "not known before it runs"}</>;
  return (
    <ul class="patterns">
      {patterns.map((pattern) => (
        <li key={pattern}>
          <code>{pattern}</code>
        </li>
      ))}
    </ul>
  );
}

/** Lines that the slice has too, whatever their indentation. */
function keptLines(source: string, slice: string): ReadonlySet<number> {
  const known = new Set(slice.split("\n").map((text) => text.trim()));
  return new Set(
    source.split("\n").flatMap((text, at) => (text.trim().length > 3 && known.has(text.trim()) ? [at] : [])),
  );
}
