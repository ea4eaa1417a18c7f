/** The locations: where they are, how far, what went on there, and faults to switch. */
import { signal } from "@preact/signals";
import { api, problemOf } from "../api.ts";
import { median } from "../model/central.ts";
import { placeName } from "../model/places.ts";
import { faultWords, isFaulty } from "../model/services.ts";
import { counted, isHere, ms } from "../model/words.ts";
import { callFrom, callingFrom, calls, state } from "../store.ts";
import { lastSent } from "./again.ts";
import { Places } from "./map.tsx";
import { ServiceFaults } from "./service-faults.tsx";
import { CallForm, Outcome } from "./try-it.tsx";

/** Calls that the table looks at. */
const RECENT = 200;
const problem = signal("");
const done = signal("");

async function change(faults: Readonly<Record<string, unknown>>, words = ""): Promise<void> {
  try {
    problem.value = "";
    await api.faults(faults);
    if ("distances" in faults && words !== "") distances.value = {};
    done.value = words;
  } catch (error) {
    problem.value = problemOf(error);
  }
}

export function heal(): Promise<void> {
  return change(
    { primaryDown: false, dropFollowups: false, partitioned: [], distances: {}, services: {} },
    "Everything is healed, and the distances are those of the configuration.",
  );
}

export function faultCount(): number {
  const known = state.value;
  if (known === null) return 0;
  return (
    known.locations.filter(({ isCut }) => isCut).length +
    (known.primary.down ? 1 : 0) +
    (known.dropFollowups ? 1 : 0) +
    known.services.filter(isFaulty).length
  );
}

export function Locations() {
  return (
    <div class="stack">
      <div class="two">
        <div class="stack">
          <Places />
          <Effects />
        </div>
        {isOfDev() ? <Caller /> : <Served />}
      </div>
      <Table />
      {isOfDev() && <ServiceFaults onChange={change} />}
    </div>
  );
}

function isOfDev(): boolean {
  return state.value?.source.kind === "dev";
}

function Served() {
  return (
    <section class="card pad stack">
      <h2>About these locations</h2>
      <p class="soft">
        A location stands here when it has sent a request since the page is open, or holds read leases. Its distance is
        the shortest round trip of late, as the primary has measured it. Faults are switched in <code>radical dev</code>
        , never in a deployment.
      </p>
    </section>
  );
}

function Caller() {
  return (
    <div class="stack">
      <section class="card pad stack">
        <CallForm />
      </section>
      {lastSent.value !== null && <Outcome />}
    </div>
  );
}

/** What the faults do, in words. */
function Effects() {
  const known = state.value;
  if (known === null || faultCount() === 0) return null;
  const cut = known.locations.filter(({ isCut }) => isCut);
  const waiting = cut.reduce((sum, { open }) => sum + open, 0);
  const names = cut.map(({ name }) => placeName(name)).join(", ");
  return (
    <section class="card pad stack" aria-live="polite">
      <h2>What the {faultCount() === 1 ? "fault does" : "faults do"}</h2>
      {known.primary.down && (
        <p class="lead soft">
          The primary is down: every connection to it is refused. Calls wait for up to 20 s, and then answer{" "}
          <code>503 primary_unreachable</code>.
        </p>
      )}
      {cut.length > 0 && (
        <p class="lead soft">
          {names} can’t ask the primary. Calls there wait for up to 20 s, and then answer{" "}
          <code>503 primary_unreachable</code>; nothing stale is ever answered. {counted(waiting, "call")}{" "}
          {waiting === 1 ? "waits" : "wait"} there now. The other locations notice nothing, but for units that were
          leased there.
        </p>
      )}
      {known.services.filter(isFaulty).map((service) => (
        <p key={service.name} class="lead soft">
          {faultWords(service)}
        </p>
      ))}
      {known.dropFollowups && (
        <p class="lead soft">
          Followups get lost. The primary runs each handler again, with the same arguments, time and seed: it writes the
          same, some seconds later, or as soon as somebody waits for it.
        </p>
      )}
    </section>
  );
}

function Switch({
  label,
  isOn,
  onChange,
}: {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}) {
  return (
    <button
      type="button"
      role="switch"
      class="sw"
      aria-checked={isOn}
      aria-label={label}
      onClick={() => onChange(!isOn)}
    />
  );
}

/** To choose from, in percent. */
const LOSSES = [0, 0.1, 1, 5, 20];
/** Of the slider: twice the way around the world. */
const MOST_MS = 400;

/** What has another distance than the configuration says, as far as the page has changed it. */
const distances = signal<Readonly<Record<string, Readonly<Record<string, number>>>>>({});

function move(name: string, part: Readonly<Record<string, number>>): Promise<void> {
  distances.value = { ...distances.value, [name]: { ...distances.value[name], ...part } };
  return change({ distances: distances.value });
}

function Distance({ name, roundTripMs }: { readonly name: string; readonly roundTripMs: number }) {
  return (
    <label class="row distance">
      <input
        type="range"
        min="0"
        max={Math.max(MOST_MS, roundTripMs)}
        value={roundTripMs}
        aria-label={`Round trip between ${placeName(name)} and the primary, in milliseconds`}
        onChange={({ currentTarget }) => void move(name, { roundTripMs: Number(currentTarget.value) })}
      />
      <span class="num">{roundTripMs} ms</span>
    </label>
  );
}

function PrimaryRows() {
  const known = state.value;
  if (known === null) return null;
  return (
    <>
      <tr>
        <td>
          <b class="there">Primary</b>
        </td>
        <td class="muted">{known.primary.isUp ? "serves" : "is being started"}</td>
        <td class="right muted m-hide" colSpan={4}>
          {known.primary.restarts === 0 ? "" : `started again ${known.primary.restarts} ×`}
        </td>
        <td>
          <Switch
            label="Refuse connections to the primary"
            isOn={known.primary.down}
            onChange={(isOn) => void change({ primaryDown: isOn })}
          />
        </td>
        <td class="right">
          <button
            type="button"
            class="btn"
            onClick={() => void change({ killServer: true }, "The primary was killed, and serves again.")}
          >
            Kill
          </button>
        </td>
      </tr>
      <tr>
        <td>
          <b>Followups</b>
        </td>
        <td class="muted">from everywhere</td>
        <td class="m-hide" colSpan={4}></td>
        <td>
          <Switch
            label="Lose followups"
            isOn={known.dropFollowups}
            onChange={(isOn) => void change({ dropFollowups: isOn })}
          />
        </td>
        <td />
      </tr>
    </>
  );
}

function Table() {
  const known = state.value;
  if (known === null) return null;
  const isDev = isOfDev();
  const partitioned = known.locations.filter(({ isCut }) => isCut).map(({ name }) => name);
  return (
    <section class="card" aria-label={isDev ? "Distances and faults" : "Distances"}>
      <div class="hd wrap">
        <h2>{isDev ? "Distances and faults" : "Distances"}</h2>
        {isDev && <span class="muted">Switches act on the simulated network of this machine only</span>}
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>location</th>
              <th>to the primary</th>
              <th class="right m-hide">median call</th>
              <th class="right m-hide">ran here</th>
              {isDev && (
                <>
                  <th class="right m-hide">open</th>
                  <th class="m-hide">loss</th>
                  <th>cut off</th>
                  <th class="right">cache</th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {known.locations.map(({ name, roundTripMs, lossPercent, isCut, isCentral, open }) => {
              const own = calls.value.filter(({ life }) => life.place === name).slice(0, RECENT);
              const middle = median(own.filter(({ life }) => life.code === null).map(({ life }) => life.tookUs));
              const here = own.filter(isHere).length;
              return (
                <tr key={name}>
                  <td>
                    <button
                      type="button"
                      class="link b"
                      aria-pressed={name === callingFrom.value}
                      onClick={() => callFrom(name)}
                    >
                      {placeName(name)}
                    </button>{" "}
                    {placeName(name) !== name && <span class="plc">{name}</span>}
                    {isCentral && <span class="tag t">runs all at the primary</span>}
                  </td>
                  <td>
                    {isDev && roundTripMs !== null ? (
                      <Distance name={name} roundTripMs={roundTripMs} />
                    ) : (
                      <span class="num">{roundTripMs === null ? "not measured" : `${Math.round(roundTripMs)} ms`}</span>
                    )}
                  </td>
                  <td class={`num right m-hide ${isCut ? "fail b" : ""}`}>
                    {isCut ? "no answer" : middle === null ? "–" : `${ms(middle)} ms`}
                  </td>
                  <td class="num right m-hide">
                    {own.length === 0 ? "–" : `${Math.round((here / own.length) * 100)} %`}
                  </td>
                  {isDev && (
                    <>
                      <td class="num right m-hide">{open}</td>
                      <td class="m-hide">
                        <select
                          class="field"
                          aria-label={`Loss between ${placeName(name)} and the primary`}
                          value={String(lossPercent)}
                          onChange={({ currentTarget }) =>
                            void move(name, { lossPercent: Number(currentTarget.value) })
                          }
                        >
                          {[...new Set([...LOSSES, lossPercent])]
                            .toSorted((a, b) => a - b)
                            .map((percent) => (
                              <option key={percent} value={String(percent)}>
                                {percent} %
                              </option>
                            ))}
                        </select>
                      </td>
                      <td>
                        <Switch
                          label={`Cut ${placeName(name)} off from the primary`}
                          isOn={isCut}
                          onChange={(isOn) =>
                            void change({
                              partitioned: isOn
                                ? [...partitioned, name]
                                : partitioned.filter((other) => other !== name),
                            })
                          }
                        />
                      </td>
                      <td class="right">
                        <button
                          type="button"
                          class="btn"
                          aria-label={`Empty the cache of ${placeName(name)}`}
                          onClick={() =>
                            void change({ wipeCaches: [name] }, `The cache of ${placeName(name)} is empty.`)
                          }
                        >
                          Empty
                        </button>
                      </td>
                    </>
                  )}
                </tr>
              );
            })}
            {isDev && <PrimaryRows />}
          </tbody>
        </table>
      </div>
      <p class={`status ${problem.value === "" ? "soft" : "fail"}`} role="status">
        {problem.value === "" ? done.value : problem.value}
      </p>
    </section>
  );
}
