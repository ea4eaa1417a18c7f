/** How often each location's cache was right, and the versions of items there beside the primary's. */
import { type ShownVersion, type UnitId } from "@radical/protocol";
import { useSignal } from "@preact/signals";
import { cacheCounts, type SeenUnit, seenUnits } from "../model/caches.ts";
import { placeName } from "../model/places.ts";
import { commitWords, shortUnit } from "../model/words.ts";
import { calls, isDeployment, looked, state } from "../store.ts";
import { AtLocations, StandingTag, Unseen, useLook } from "./at-locations.tsx";

const RECENT = 500;
const MOST_UNITS = 40;

export function Caches() {
  const places = (state.value?.locations ?? []).filter(({ isCentral }) => !isCentral).map(({ name }) => name);
  const recent = calls.value.slice(0, RECENT);
  const units = seenUnits(recent, MOST_UNITS);
  const chosen = looked.value ?? units[0]?.unit ?? null;
  return (
    <>
      <div class="cards">
        {cacheCounts(recent, places).map(({ place, here, stale, missing, other }) => {
          const all = here + stale + missing + other;
          const asked = here + stale + missing;
          const x = (count: number): string => `${all === 0 ? 0 : (count / all) * 100}%`;
          return (
            <section class="card mini" key={place} aria-label={`Cache of ${placeName(place)}`}>
              <div class="row">
                <b>{placeName(place)}</b> <span class="plc">{place}</span>
                <span class="grow" />
                <b class="num">{asked === 0 ? "cold" : `${Math.round((here / asked) * 100)} %`}</b>
              </div>
              <svg role="img" aria-label={`${here} confirmed, ${stale} stale, ${missing} missing`}>
                <rect x="0" width="100%" height="10" rx="2" class="f-sunken" />
                <rect x="0" width={x(here)} height="10" rx="2" class="f-here" />
                <rect x={x(here)} width={x(stale)} height="10" class="f-there" />
                <rect x={x(here + stale)} width={x(missing)} height="10" class="f-there2" />
              </svg>
              <span class="soft num">
                {here} confirmed, {stale} stale, {missing} missing
              </span>
            </section>
          );
        })}
      </div>
      {isDeployment.value ? (
        <Shown units={units} places={places} />
      ) : (
        <div class="two">
          <Held units={units} places={places} chosen={chosen} />
          <One unit={chosen} />
        </div>
      )}
    </>
  );
}

interface Versions {
  readonly units: readonly SeenUnit[];
  readonly places: readonly string[];
}

/** In `radical dev`: what the caches have now. */
function Held({ units, places, chosen }: Versions & { readonly chosen: UnitId | null }) {
  const look = useLook(units.map(({ unit }) => unit));
  return (
    <section class="card held" aria-label="Items at every location">
      <div class="hd wrap">
        <h2>Items at every location</h2>
        <span class="muted">those of the last calls, as the caches have them now</span>
      </div>
      {units.length === 0 ? (
        <p class="pad soft">No call has read an item yet. Name one beside to look at it.</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>item</th>
                <th>primary</th>
                {places.map((place) => (
                  <th key={place} title={placeName(place)}>
                    {place}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {units.map(({ unit }) => {
                const item = look?.answer.items.find((one) => one.unit === unit);
                return (
                  <tr key={unit} class={unit === chosen ? "chosen" : ""}>
                    <td>
                      <button
                        type="button"
                        class="link mono"
                        aria-pressed={unit === chosen}
                        onClick={() => (looked.value = unit)}
                      >
                        {shortUnit(unit)}
                      </button>
                    </td>
                    <td class="mono there">{item === undefined ? "" : versionWords(item.primary)}</td>
                    {places.map((place) => (
                      <td key={place}>
                        {item !== undefined && (
                          <StandingTag held={item.held.find((one) => one.place === place)} primary={item.primary} />
                        )}
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <p class="pad muted note">
        Equal: the version of the primary. Leased: equal, and read without a question. Behind: the next call there finds
        out, and runs at the primary. A look counts as no use of the cache.
      </p>
    </section>
  );
}

function versionWords({ commit, isThere }: ShownVersion): string {
  return isThere ? commitWords(commit) : "absent";
}

function One({ unit }: { readonly unit: UnitId | null }) {
  const text = useSignal("");
  return (
    <section class="card pad stack" aria-label="One item at every location">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const named = text.value.trim();
          if (/^[^/]+\/./.test(named)) looked.value = named as UnitId;
        }}
      >
        <input
          class="field mono grow"
          aria-label="Item to look at"
          placeholder="table/key"
          autocomplete="off"
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
        <button type="submit" class="btn">
          Look
        </button>
      </form>
      {unit === null ? (
        <p class="soft">Name an item, or choose one of the list.</p>
      ) : (
        <>
          <h2 class="mono wrap-any">{unit}</h2>
          <AtLocations unit={unit} />
        </>
      )}
    </section>
  );
}

/** Of a deployment: what calls have shown. */
function Shown({ units, places }: Versions) {
  return (
    <section class="card" aria-label="An item's version at every location">
      <div class="hd wrap">
        <h2>An item’s version at every location</h2>
        <span class="muted">as its last call has shown it, of {calls.value.length} calls</span>
      </div>
      {units.length === 0 ? (
        <p class="pad soft">No call has shown an item yet.</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>item</th>
                <th>newest</th>
                {places.map((place) => (
                  <th key={place}>{place}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {units.map(({ unit, newest, had }) => (
                <tr key={unit}>
                  <td class="mono">{shortUnit(unit)}</td>
                  <td class="mono there">{commitWords(newest)}</td>
                  {places.map((place) => (
                    <td key={place}>
                      <Version had={had.get(place)} newest={newest} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div class="pad">
        <Unseen />
      </div>
    </section>
  );
}

function Version({ had, newest }: { readonly had: string | null | undefined; readonly newest: string | null }) {
  if (had === undefined) return <span class="muted">not asked</span>;
  if (had === null) return <span class="muted">not held</span>;
  if (had === newest) return <span class="tag h">newest</span>;
  return <span class="tag t">{commitWords(had)}</span>;
}
