/** What is around each view: the rail or the tabs, the bar on top, keys. */
import { signal } from "@preact/signals";
import type { ComponentChildren, FunctionComponent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { placeName } from "../model/places.ts";
import { counted } from "../model/words.ts";
import {
  announced,
  app,
  callFrom,
  callingFrom,
  calls,
  connection,
  filter,
  isDeployment,
  isPaused,
  pause,
  selected,
  shown,
  state,
  type View,
  view,
  views,
} from "../store.ts";
import { Caches } from "./caches.tsx";
import { Contention } from "./contention.tsx";
import { Data } from "./data.tsx";
import { Handlers } from "./handlers.tsx";
import { Icon, Mark } from "./icons.tsx";
import { faultCount, heal, Locations } from "./locations.tsx";
import { Replay } from "./replay.tsx";
import { Requests } from "./requests.tsx";
import { Tasks } from "./tasks.tsx";
import { Ahead } from "./time.tsx";
import { TryIt } from "./try-it.tsx";
import { Workflows } from "./workflows.tsx";

interface Part {
  readonly title: string;
  readonly content: FunctionComponent;
  readonly count?: () => number | null;
}

const PARTS: Readonly<Record<View, Part>> = {
  requests: { title: "Requests", content: Requests, count: () => calls.value.length },
  locations: { title: "Locations", content: Locations, count: () => state.value?.locations.length ?? null },
  try: { title: "Try it", content: TryIt },
  handlers: { title: "Handlers", content: Handlers, count: () => app.value?.handlers.length ?? null },
  tasks: { title: "Tasks", content: Tasks },
  workflows: { title: "Workflows", content: Workflows },
  contention: { title: "Contention", content: Contention },
  caches: { title: "Caches", content: Caches },
  data: { title: "Data", content: Data, count: () => app.value?.tables.length ?? null },
  replay: { title: "Replay", content: Replay },
};

/** Tabs of a narrow page; the others are behind the last one. */
const TABS: readonly View[] = ["requests", "locations", "try", "data"];
const isMoreShown = signal(false);
const help = signal(false);

const KEYS: readonly (readonly [string, string])[] = [
  ["j  k", "the next request, the one before"],
  ["Esc", "let go of the request: the list goes on"],
  ["/", "filter"],
  ["p", "pause, go on"],
  ["c", "call a handler"],
  ["h", "heal every fault"],
  ["1–9  0", "views"],
  ["d", "dark, light, as the system"],
  ["?", "these keys"],
];

export function Shell() {
  const { title, content: Content } = PARTS[view.value];
  useKeys();
  useEffect(() => {
    document.title = `${title} · ${nameOf()}`;
  });
  if (connection.value === "refused") return <Refused />;
  const tabs = TABS.filter((name) => views.value.includes(name));
  return (
    <div class="app">
      <nav class="rail" aria-label="Views">
        <div class="rail-in">
          <span class="brand">
            <Mark />
            <span>
              {nameOf()}
              <small>{isDeployment.value ? "radical dashboard" : "radical dev"}</small>
            </span>
          </span>
          {views.value.map((name) => (
            <ViewLink key={name} name={name}>
              <Count name={name} />
            </ViewLink>
          ))}
          <Foot />
        </div>
      </nav>
      <main>
        <Top title={title} />
        <div class="page">
          <Content />
        </div>
      </main>
      <nav class="tabs" aria-label="Views, narrow">
        {tabs.map((name) => (
          <ViewLink key={name} name={name} />
        ))}
        <button
          type="button"
          aria-expanded={isMoreShown.value}
          onClick={() => (isMoreShown.value = !isMoreShown.value)}
        >
          <Icon name="more" />
          More
        </button>
        {isMoreShown.value && (
          <div class="card more">
            {views.value
              .filter((name) => !tabs.includes(name))
              .map((name) => (
                <ViewLink key={name} name={name} />
              ))}
          </div>
        )}
      </nav>
      <p class="unseen" role="status">
        {announced.value}
      </p>
      <Help />
    </div>
  );
}

function nameOf(): string {
  const { source } = state.value ?? {};
  return source?.kind === "deployment" ? source.name : (app.value?.application ?? "Radical");
}

function ViewLink({ name, children }: { readonly name: View; readonly children?: ComponentChildren }) {
  return (
    <button
      type="button"
      aria-current={name === view.value ? "page" : undefined}
      onClick={() => {
        view.value = name;
        isMoreShown.value = false;
        scrollTo(0, 0);
      }}
    >
      <Icon name={name} />
      {PARTS[name].title}
      {children}
    </button>
  );
}

function Count({ name }: { readonly name: View }) {
  const count = PARTS[name].count?.() ?? null;
  return count === null ? null : <span class="n">{count}</span>;
}

function Foot() {
  const known = state.value;
  const build = known?.build.kind ?? "building";
  if (known?.source.kind === "deployment")
    return (
      <div class="foot">
        {known.source.lost.length === 0 ? (
          <span>
            <span class="dot" />
            Both halves are heard
          </span>
        ) : (
          known.source.lost.map((words) => (
            <span key={words}>
              <span class="dot f" />
              {words}
            </span>
          ))
        )}
        <span>Read-only: calls, faults, handlers and data are in radical dev</span>
        <span>
          <kbd>?</kbd> keys
        </span>
      </div>
    );
  return (
    <div class="foot">
      <span>
        <span class={`dot${build === "good" ? "" : " f"}`} />
        {build === "good"
          ? `Build ${known?.module?.slice(0, 8) ?? ""} serves`
          : build === "failed"
            ? `Build failed: ${known?.build.words ?? ""}`
            : "Building"}
      </span>
      <span>{known?.primary.isUp === false ? "Primary: being started" : "Primary serves"}</span>
      <span>Nothing leaves this machine</span>
      <span>
        <kbd>?</kbd> keys
      </span>
    </div>
  );
}

function Top({ title }: { readonly title: string }) {
  const faults = faultCount();
  const isOpen = connection.value === "open";
  return (
    <header class="top">
      <h1>{title}</h1>
      <span class={`pill opt${isOpen ? "" : " warn"}`}>
        <span class={`dot${isOpen && !isPaused.value ? "" : " f"}`} />
        {isOpen ? (isPaused.value ? "paused" : "live") : "the command is away"}
      </span>
      {faults > 0 && (
        <span class="pill warn">
          <span class="dot f" />
          {counted(faults, "fault")}
        </span>
      )}
      <Ahead />
      <span class="grow" />
      {view.value === "requests" && (
        <>
          <input
            id="filter"
            class="field mono opt filter"
            type="search"
            aria-label="Filter"
            placeholder="handler:like location:JP"
            value={filter.value}
            onInput={({ currentTarget }) => (filter.value = currentTarget.value)}
          />
          <kbd class="opt">/</kbd>
          <button type="button" class="btn opt" onClick={pause}>
            {isPaused.value ? "Go on" : "Pause"}
          </button>
        </>
      )}
      {!isDeployment.value && (faults > 0 || view.value === "locations") && (
        <button type="button" class="btn" onClick={() => void heal()}>
          Heal everything <kbd class="opt">h</kbd>
        </button>
      )}
      {isDeployment.value ? <span class="pill">read-only</span> : <CallingFrom />}
    </header>
  );
}

function CallingFrom() {
  return (
    <label class="pill from">
      <span class="opt">Calling from</span>
      <select
        aria-label="Calling from"
        value={callingFrom.value}
        onChange={({ currentTarget }) => callFrom(currentTarget.value)}
      >
        {(state.value?.locations ?? []).map(({ name }) => (
          <option key={name} value={name}>
            {placeName(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Refused() {
  return (
    <main class="refused">
      <section class="card pad stack">
        <Mark />
        <h1>This page has no token of the run</h1>
        <p class="soft">
          Each run of <code>radical dev</code> or <code>radical dashboard</code> has a page of its own. Open the address
          that it prints. Of <code>radical dev</code> it is also at <code>/__radical/</code> of your application.
        </p>
      </section>
    </main>
  );
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (help.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [help.value]);
  const close = (): void => void (help.value = false);
  // Escape cancels at once, and the event of the closing comes later: a key in between counts already.
  return (
    <dialog ref={dialog} class="card pad" aria-label="Keys" onCancel={close} onClose={close}>
      <div class="stack">
        <h2>Keys</h2>
        <dl class="kv">
          {KEYS.map(([key, words]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{words}</dd>
            </>
          ))}
        </dl>
        <button type="button" class="btn" onClick={() => (help.value = false)}>
          Close
        </button>
      </div>
    </dialog>
  );
}

const DIGITS = /^\d$/;

const SCHEMES = ["dark", "light", null] as const;

function nextScheme(): void {
  const { dataset } = document.documentElement;
  const at = SCHEMES.findIndex((scheme) => scheme === (dataset["theme"] ?? null));
  const next = SCHEMES[(at + 1) % SCHEMES.length] ?? null;
  if (next === null) delete dataset["theme"];
  else dataset["theme"] = next;
}

/** By so many rows. */
function move(by: number): void {
  const rows = shown.value;
  const at = rows.findIndex(({ id }) => id === selected.value);
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  if (next !== undefined) selected.value = next.id;
}

function useKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey) return;
      const isField = target instanceof Element && target.matches("input, textarea, select");
      if (isField) {
        if (key === "Escape") (target as HTMLElement).blur();
        return;
      }
      if (help.value && key !== "?") return;
      const isList = target instanceof Element && target.matches('[role="listbox"]');
      const named = DIGITS.test(key) ? views.value[(Number(key) + 9) % 10] : undefined;
      if (named !== undefined) view.value = named;
      else if (key === "j" || (isList && key === "ArrowDown")) move(1);
      else if (key === "k" || (isList && key === "ArrowUp")) move(-1);
      else if (key === "Escape") selected.value = null;
      else if (key === "p") pause();
      else if (key === "h" && !isDeployment.value) void heal();
      else if (key === "d") nextScheme();
      else if (key === "?") help.value = !help.value;
      else if (key === "/") {
        view.value = "requests";
        setTimeout(() => document.querySelector<HTMLElement>("#filter")?.focus());
      } else if (key === "c" && !isDeployment.value) {
        if (view.value !== "locations") view.value = "try";
        setTimeout(() => document.querySelector<HTMLElement>("#handler")?.focus());
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
