/** The stored items: tables, pages of keys, and changes through executions. */
import { signal } from "@preact/signals";
import type { CommitId, DataPage, UnitId } from "@radical/protocol";
import { useEffect } from "preact/hooks";
import { api, ApiError } from "../api.ts";
import type { Call } from "../model/join.ts";
import { placeName } from "../model/places.ts";
import { clock, commitWords } from "../model/words.ts";
import { calls, selected, view } from "../store.ts";
import { AtLocations } from "./at-locations.tsx";

const MOST_WRITERS = 20;
type Item = Extract<DataPage, { kind: "page" }>["items"][number];

const tables = signal<readonly { readonly name: string; readonly items: number }[]>([]);
const table = signal<string | null>(null);
const prefix = signal("");
const items = signal<readonly Item[]>([]);
const isMore = signal(false);
const chosen = signal<Item | null>(null);
const isNew = signal(false);
const text = signal("");
const newKey = signal("");
/** The item as somebody has written it since the chosen one was read. The text of the person stays. */
const conflict = signal<{
  readonly key: string;
  readonly value: string | null;
  readonly commit: CommitId | null;
} | null>(null);
const problem = signal("");
const done = signal("");

async function attempt(work: () => Promise<void>): Promise<void> {
  try {
    problem.value = "";
    await work();
  } catch (error) {
    done.value = "";
    problem.value = error instanceof ApiError ? `${error.message}: ${error.hint}` : String(error);
  }
}

function load(more = false): Promise<void> {
  return attempt(async () => {
    const listed = await api.data({ kind: "tables" });
    if (listed.kind === "tables") {
      tables.value = listed.tables;
      table.value ??= listed.tables[0]?.name ?? null;
    }
    if (table.value === null) return;
    const after = more ? (items.value.at(-1)?.key ?? null) : null;
    const page = await api.data({ kind: "page", table: table.value, prefix: prefix.value, after });
    if (page.kind !== "page") return;
    items.value = more ? [...items.value, ...page.items] : page.items;
    isMore.value = page.isMore;
  });
}

function choose(item: Item | null, fresh = false): void {
  chosen.value = item;
  conflict.value = null;
  isNew.value = fresh;
  text.value = item === null ? "{\n  \n}" : pretty(item.value);
  newKey.value = "";
  problem.value = "";
  done.value = "";
}

function save(value: string | null): Promise<void> {
  const name = table.value;
  const key = isNew.value ? newKey.value : (chosen.value?.key ?? "");
  if (name === null) return Promise.resolve();
  return attempt(async () => {
    const seen = conflict.value ?? chosen.value;
    const answer = await api.write({ table: name, key, value, expects: seen?.commit ?? null });
    if (answer.kind === "conflict") {
      conflict.value = { key, value: answer.value, commit: answer.commit };
      done.value = "";
      return load();
    }
    await load();
    choose(items.value.find((item) => item.key === key) ?? null);
    done.value = value !== null ? `${name}/${key} is written.` : `${name}/${key} is deleted.`;
  });
}

export function Data() {
  useEffect(() => void load(), []);
  return (
    <div class="data">
      <section class="card" aria-label="Tables">
        <ul class="tables">
          {tables.value.map(({ name, items: count }) => (
            <li key={name}>
              <button
                type="button"
                aria-pressed={name === table.value}
                onClick={() => {
                  table.value = name;
                  prefix.value = "";
                  choose(null);
                  void load();
                }}
              >
                <span class="mono">{name}</span>
                <span class="num muted">{count}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="card" aria-label={`Items of ${table.value ?? ""}`}>
        <div class="hd wrap">
          <h2 class="mono">{table.value}</h2>
          <span class="grow" />
          <input
            class="field mono short"
            aria-label="Keys that begin with"
            placeholder="key begins with"
            value={prefix.value}
            onInput={({ currentTarget }) => {
              prefix.value = currentTarget.value;
              void load();
            }}
          />
          <button type="button" class="btn" onClick={() => void load()}>
            Read again
          </button>
          <button type="button" class="btn" onClick={() => choose(null, true)}>
            New item
          </button>
        </div>
        <div class="scroll items">
          <table>
            <thead>
              <tr>
                <th>key</th>
                <th>value</th>
                <th>version</th>
              </tr>
            </thead>
            <tbody>
              {items.value.map((item) => (
                <tr key={item.key} class={item.key === chosen.value?.key ? "chosen" : ""}>
                  <td>
                    <button
                      type="button"
                      class="link mono"
                      aria-pressed={item.key === chosen.value?.key}
                      onClick={() => choose(item)}
                    >
                      {item.key === "" ? "(empty)" : item.key}
                    </button>
                  </td>
                  <td class="mono value">{item.value}</td>
                  <td class="mono there">{commitWords(item.commit)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {items.value.length === 0 && <p class="pad soft">There is no item.</p>}
        </div>
        {isMore.value && (
          <p class="pad">
            <button type="button" class="btn" onClick={() => void load(true)}>
              100 more
            </button>
          </p>
        )}
      </section>
      {(chosen.value !== null || isNew.value) && <Editor />}
      {chosen.value === null && !isNew.value && done.value !== "" && (
        <p class="soft" role="status">
          {done.value}
        </p>
      )}
    </div>
  );
}

function Editor() {
  const item = chosen.value;
  const unit = item === null ? null : `${table.value}/${item.key}`;
  const writers = calls.value
    .filter(({ life, primary }) =>
      [...life.units, ...(primary?.units ?? [])].some(([named, mode]) => named === unit && mode !== "read"),
    )
    .slice(0, MOST_WRITERS);
  return (
    <section class="card pad stack" aria-label="One item">
      <h2 class="mono wrap-any">{item === null ? `New item of ${table.value}` : unit}</h2>
      {item === null && (
        <input
          class="field mono"
          aria-label="Key"
          placeholder="key"
          value={newKey.value}
          onInput={({ currentTarget }) => (newKey.value = currentTarget.value)}
        />
      )}
      <textarea
        class="field mono"
        rows={12}
        spellcheck={false}
        aria-label="Value as JSON"
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      {problem.value !== "" && (
        <p class="fail" role="alert">
          {problem.value}
        </p>
      )}
      {conflict.value !== null && <Conflict />}
      <p class="soft" role="status">
        {done.value}
      </p>
      <div class="row">
        <button type="button" class="btn pri" onClick={() => void save(text.value)}>
          {conflict.value !== null ? "Write mine over it" : item === null ? "Write" : "Write the change"}
        </button>
        {item !== null && (
          <button type="button" class="btn" onClick={() => void save(null)}>
            Delete
          </button>
        )}
      </div>
      <p class="muted note">
        A change is an execution at the primary: every cache hears of it. It writes only if nobody has written the item
        since you read it.
      </p>
      {unit !== null && (
        <>
          <div>
            <h3>At the locations</h3>
            <AtLocations unit={unit as UnitId} />
          </div>
          <History writers={writers} />
        </>
      )}
    </section>
  );
}

function Conflict() {
  const now = conflict.value;
  if (now === null) return null;
  return (
    <div class="advice warn" role="alert">
      <p class="b">
        {now.value === null
          ? "Somebody has deleted the item since you read it. Nothing was written."
          : "Somebody has written the item since you read it. Nothing was written, and your text is still here."}
      </p>
      {now.value !== null && (
        <>
          <p class="soft">
            As it is now, <span class="mono there">{commitWords(now.commit)}</span>:
          </p>
          <pre class="json" tabIndex={0} aria-label="The item as it is now">
            {pretty(now.value)}
          </pre>
          <div class="row">
            <button
              type="button"
              class="btn"
              onClick={() => choose({ key: now.key, value: now.value ?? "", commit: now.commit })}
            >
              Take theirs
            </button>
          </div>
        </>
      )}
    </div>
  );
}

function History({ writers }: { readonly writers: readonly Call[] }) {
  return (
    <div>
      <h3>Written by</h3>
      {writers.length > 0 && (
        <table class="history" aria-label="Executions that have written the item">
          <tbody>
            {writers.map(({ id, life, primary }) => (
              <tr key={id}>
                <td class="mono there">{commitWords(primary?.commit ?? life.commit)}</td>
                <td>
                  <button
                    type="button"
                    class="link mono"
                    onClick={() => {
                      selected.value = id;
                      view.value = "requests";
                    }}
                  >
                    {life.handler}
                  </button>{" "}
                  at {placeName(life.place)}
                </td>
                <td class="num right muted">{clock(life.atMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="muted note">
        {writers.length === 0
          ? "No request that the page has wrote it. "
          : writers.length === MOST_WRITERS
            ? "Earlier ones are not shown. "
            : "Before that: not recorded. "}
        Changes by <code>radical data</code> and by this page are not among the requests.
      </p>
    </div>
  );
}

/** Numbers keep their digits: the text is only broken into lines where it is safe. */
function pretty(value: string): string {
  try {
    const parsed = JSON.parse(value) as unknown;
    // Rounded by the parse: shown as it is.
    return JSON.stringify(parsed) === value.replaceAll(/(\d)\.0(?=[,}\]])/g, "$1") && !/\d\.0[,}\]]/.test(value)
      ? JSON.stringify(parsed, null, 2)
      : value;
  } catch {
    return value;
  }
}
