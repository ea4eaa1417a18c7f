/** A form for each handler, from its types. A call goes to one place, or to two at once. */
import { signal, useSignal } from "@preact/signals";
import {
  type CommitId,
  compareCommits,
  type DashboardHandler,
  type Parameter,
  type ValueType,
} from "@radical/protocol";
import { ApiError } from "../api.ts";
import { placeName } from "../model/places.ts";
import { commitWords, pathWords } from "../model/words.ts";
import { app, callFrom, callingFrom, calls, selected, state, view } from "../store.ts";
import { again, isSending, lastSent } from "./again.ts";
import { CallBars } from "./call-bars.tsx";
import { Words } from "./code.tsx";

/** The handler that is tried. */
export const tried = signal("");
/** By handler and parameter: what stands in the fields. */
const texts = signal<Readonly<Record<string, string>>>({});
const key = signal("");
const authorization = signal("");

export function TryIt() {
  const known = app.value?.handlers ?? [];
  const [first] = known;
  if (first === undefined)
    return (
      <section class="card pad">
        <h2>No build serves yet</h2>
      </section>
    );
  return (
    <div class="two">
      <section class="card pad stack">
        <CallForm />
      </section>
      <Outcome />
    </div>
  );
}

export function CallForm() {
  const known = app.value?.handlers ?? [];
  const handler = known.find(({ name }) => name === tried.value) ?? known[0];
  const problem = useSignal("");
  const other = useSignal("");
  if (handler === undefined) return null;
  const places = state.value?.locations.map(({ name }) => name) ?? [];
  const others = places.filter((name) => name !== callingFrom.value);
  const second = others.includes(other.value) ? other.value : others.at(-1);
  const send = (sentTo: readonly string[]): void => {
    try {
      const args = argumentsText(handler);
      problem.value = "";
      const common = {
        key: key.value === "" ? null : key.value,
        authorization: authorization.value === "" ? null : authorization.value,
      };
      void again({ handler: handler.name, args, sends: sentTo.map((place) => ({ place, ...common })) });
    } catch (error) {
      problem.value = String(error instanceof Error ? error.message : error);
    }
  };
  return (
    <>
      <div class="row">
        <h2 class="grow">Call from {placeName(callingFrom.value)}</h2>
        <kbd class="m-hide">c</kbd>
      </div>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          send([callingFrom.value]);
        }}
      >
        <div class="form">
          <label for="from">from</label>
          <select
            id="from"
            class="field"
            value={callingFrom.value}
            onChange={({ currentTarget }) => callFrom(currentTarget.value)}
          >
            {places.map((name) => (
              <option key={name} value={name}>
                {placeName(name)}
              </option>
            ))}
          </select>
          <label for="handler">handler</label>
          <select
            id="handler"
            class="field"
            value={handler.name}
            onChange={({ currentTarget }) => (tried.value = currentTarget.value)}
          >
            {known.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
          {handler.parameters.map((parameter) => (
            <Field key={`${handler.name}.${parameter.name}`} handler={handler} parameter={parameter} />
          ))}
          <label for="key">key</label>
          <input
            id="key"
            class="field mono"
            placeholder="Idempotency-Key: the same one again is the same call"
            value={key.value}
            onInput={({ currentTarget }) => (key.value = currentTarget.value)}
          />
          <label for="caller">caller</label>
          <input
            id="caller"
            class="field mono"
            placeholder="Authorization, as your application reads it"
            autocomplete="off"
            value={authorization.value}
            onInput={({ currentTarget }) => (authorization.value = currentTarget.value)}
          />
        </div>
        {problem.value !== "" && (
          <p class="fail" role="alert">
            {problem.value}
          </p>
        )}
        <div class="row">
          <button type="submit" class="btn pri" disabled={isSending.value}>
            Call
          </button>
          {second !== undefined && (
            <>
              <button
                type="button"
                class="btn"
                disabled={isSending.value}
                onClick={() => send([callingFrom.value, second])}
              >
                Call here and in {placeName(second)} at once
              </button>
              {others.length > 1 && (
                <select
                  class="field short"
                  aria-label="The other place"
                  value={second}
                  onChange={({ currentTarget }) => (other.value = currentTarget.value)}
                >
                  {others.map((name) => (
                    <option key={name} value={name}>
                      {placeName(name)}
                    </option>
                  ))}
                </select>
              )}
            </>
          )}
        </div>
      </form>
      {handler.description !== null && (
        <p class="soft">
          <Words text={handler.description} />
        </p>
      )}
    </>
  );
}

function Field({
  handler,
  parameter: { name, type, optional, secret },
}: {
  readonly handler: DashboardHandler;
  readonly parameter: Parameter;
}) {
  const id = `arg-${name}`;
  const at = `${handler.name}.${name}`;
  const text = texts.value[at] ?? "";
  const set = (value: string): void => void (texts.value = { ...texts.value, [at]: value });
  const words = `${typeWords(type)}${optional ? ", may be left out" : ""}`;
  const bare = type.kind === "nullable" ? type.inner : type;
  return (
    <>
      <label for={id}>{name}</label>
      {bare.kind === "bool" ? (
        <select id={id} class="field" value={text} onChange={({ currentTarget }) => set(currentTarget.value)}>
          {(optional || type.kind === "nullable") && <option value="">(left out)</option>}
          <option value="false">false</option>
          <option value="true">true</option>
        </select>
      ) : bare.kind === "string" && bare.oneOf !== undefined ? (
        <select id={id} class="field" value={text} onChange={({ currentTarget }) => set(currentTarget.value)}>
          <option value="">{optional ? "(left out)" : "choose"}</option>
          {bare.oneOf.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : isPlain(bare) ? (
        <input
          id={id}
          class="field mono"
          type={secret === true || /passw/i.test(name) ? "password" : "text"}
          autocomplete="off"
          inputMode={bare.kind === "string" ? "text" : "decimal"}
          placeholder={words}
          value={text}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      ) : (
        <textarea
          id={id}
          class="field mono"
          rows={3}
          placeholder={`${words}, as JSON`}
          value={text}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      )}
    </>
  );
}

function isPlain({ kind }: ValueType): boolean {
  return kind !== "array" && kind !== "tuple" && kind !== "map" && kind !== "record" && kind !== "nullable";
}

function typeWords(type: ValueType): string {
  switch (type.kind) {
    case "nullable":
      return `${typeWords(type.inner)} or null`;
    case "array":
      return `list of ${typeWords(type.element)}`;
    case "tuple":
      return `list of ${type.elements.length}`;
    case "map":
      return `object of ${typeWords(type.value)}`;
    case "record":
      return type.name;
    case "string":
      return "text";
    default:
      return type.kind;
  }
}

/** JSON text, so that large numbers keep their digits. Throws an Error that names the field. */
function argumentsText({ name: handler, parameters }: DashboardHandler): string {
  const fields = parameters.flatMap(({ name, type, optional }) => {
    const text = texts.value[`${handler}.${name}`] ?? "";
    const bare = type.kind === "nullable" ? type.inner : type;
    if (text === "" && optional) return [];
    return [`${JSON.stringify(name)}:${valueText(name, text, bare, type.kind === "nullable")}`];
  });
  return `{${fields.join(",")}}`;
}

function valueText(name: string, text: string, type: ValueType, isNullable: boolean): string {
  if (text === "" && isNullable) return "null";
  switch (type.kind) {
    case "string":
      return JSON.stringify(text);
    case "bool":
      return text === "true" ? "true" : "false";
    default:
      try {
        JSON.parse(text);
        return text;
      } catch {
        throw new Error(`${name} must be ${isPlain(type) ? "a number" : "JSON"}.`);
      }
  }
}

/** What came of the last call. */
export function Outcome() {
  const last = lastSent.value;
  if (isSending.value)
    return (
      <section class="card pad" aria-live="polite">
        <p class="soft">Waiting for the answer …</p>
      </section>
    );
  if (last === null)
    return (
      <section class="card pad">
        <h2>No call yet</h2>
        <p class="soft">The answer stands here, with the way that it took.</p>
      </section>
    );
  if (last instanceof ApiError)
    return (
      <section class="card pad" role="alert">
        <h2 class="fail">{last.message}</h2>
        <p class="soft">{last.hint}</p>
      </section>
    );
  const found = last.answers.map((answer) => ({
    answer,
    call:
      calls.value.find(
        ({ life }) =>
          life.place === answer.place && answer.execution !== null && answer.execution.endsWith(life.execution),
      ) ?? null,
  }));
  const commits = found
    .flatMap(({ answer: { place }, call }) => {
      const commit = call?.primary?.commit ?? call?.life.commit ?? null;
      return commit === null ? [] : [{ place, commit }];
    })
    .toSorted((a, b) => compareCommits(a.commit, b.commit));
  return (
    <section class="card pad stack" aria-label="Answers" aria-live="polite">
      {found.map(({ answer, call }) => (
        <div class="stack answer" key={answer.place}>
          <div class="ans">
            <span class="big num">{answer.tookMs.toFixed(1)} ms</span>
            <span class="b">{placeName(answer.place)}</span>
            {call !== null && (
              <span
                class={`tag ${pathWords(call).side === "here" ? "h" : pathWords(call).side === "there" ? "t" : "f"}`}
              >
                {pathWords(call).words}
              </span>
            )}
            <span class={`tag ${answer.status < 400 && answer.status > 0 ? "g" : "f"}`}>
              {answer.status === 0 ? "no answer" : answer.status}
            </span>
            <span class="grow" />
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
          </div>
          {call !== null && <CallBars call={call} />}
          <pre class="json" tabIndex={0} aria-label="Body of the answer">
            {pretty(answer.body)}
          </pre>
        </div>
      ))}
      {found.length > 1 && <Order commits={commits} count={new Set(commits.map(({ commit }) => commit)).size} />}
      <div class="row">
        <button type="button" class="btn" onClick={() => void again(last.calls)}>
          Send again
        </button>
      </div>
    </section>
  );
}

function Order({
  commits,
  count,
}: {
  readonly commits: readonly { readonly place: string; readonly commit: CommitId }[];
  readonly count: number;
}) {
  if (commits.length === 0) return <p class="order">Neither has written, so that they have no order.</p>;
  if (count === 1)
    return (
      <p class="order">
        One commit, <code>{commitWords(commits[0]?.commit ?? null)}</code>: it happened once.
      </p>
    );
  return (
    <p class="order">
      {commits.map(({ place, commit }, index) => (
        <span key={place}>
          {index > 0 && ", then "}
          {placeName(place)} <code>{commitWords(commit)}</code>
        </span>
      ))}
      : everybody sees them in this order.
    </p>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
