/** How often each location's cache was right, and the versions that it showed last. */
import { cacheCounts, seenUnits } from "../model/caches.ts";
import { placeName } from "../model/places.ts";
import { commitWords, shortUnit } from "../model/words.ts";
import { calls, state } from "../store.ts";

const RECENT = 500;
const MOST_UNITS = 40;

export function Caches() {
  const places = (state.value?.locations ?? []).filter(({ isCentral }) => !isCentral).map(({ name }) => name);
  const recent = calls.value.slice(0, RECENT);
  const units = seenUnits(recent, MOST_UNITS);
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
      <section class="card" aria-label="An item's version at every location">
        <div class="hd wrap">
          <h2>An item’s version at every location</h2>
          <span class="muted">as its last call has shown it, of {calls.value.length} calls</span>
        </div>
        {units.length === 0 ? (
          <p class="pad soft">No call has read an item yet.</p>
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
      </section>
    </>
  );
}

function Version({ had, newest }: { readonly had: string | null | undefined; readonly newest: string | null }) {
  if (had === undefined) return <span class="muted">not asked</span>;
  if (had === null) return <span class="muted">not held</span>;
  if (had === newest) return <span class="tag h">newest</span>;
  return <span class="tag t">{commitWords(had)}</span>;
}
