/** The version of an item at every location beside the primary's: a look into the caches of `radical dev`. */
import { useSignal } from "@preact/signals";
import { type CachedAnswer, MAX_LOOKED_AT, type ShownVersion, type UnitId } from "@radical/protocol";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { placeName } from "../model/places.ts";
import { ageWords, type Standing, standingOf } from "../model/versions.ts";
import { commitWords } from "../model/words.ts";
import { isDeployment, isPaused, state } from "../store.ts";

const TICK_MS = 2_000;

export interface Looked {
  readonly answer: CachedAnswer;
  readonly atMs: number;
}

/** What the caches have of these items now, and again every two seconds. Null: not known, or a deployment is shown. */
export function useLook(units: readonly UnitId[]): Looked | null {
  const looked = useSignal<Looked | null>(null);
  const asked = units.slice(0, MAX_LOOKED_AT);
  const key = asked.join("\n");
  useEffect(() => {
    if (asked.length === 0 || isDeployment.value) return undefined;
    let isOver = false;
    const look = async (): Promise<void> => {
      const answer = await api.cached(asked).catch(() => null);
      if (!isOver && answer !== null) looked.value = { answer, atMs: Date.now() };
    };
    void look();
    const timer = setInterval(() => {
      if (!document.hidden && !isPaused.value) void look();
    }, TICK_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [key]);
  return looked.value;
}

export type HeldThere = CachedAnswer["items"][number]["held"][number];

/** `of`: for people who see no colours, and as a tip. */
const STANDINGS: Readonly<Record<Standing, { readonly words: string; readonly tone: string; readonly of: string }>> = {
  equal: { words: "equal", tone: "h", of: "the version of the primary" },
  behind: { words: "behind", tone: "t", of: "an older version than that of the primary" },
  ahead: { words: "ahead", tone: "h", of: "a write of this location that the primary has not applied yet" },
  other: { words: "differs", tone: "t", of: "there at one of the two, and absent at the other" },
};

export function StandingTag({
  held,
  primary,
}: {
  readonly held: HeldThere | undefined;
  readonly primary: ShownVersion;
}) {
  if (held === undefined)
    return (
      <span class="muted" title="Nothing is held there.">
        –
      </span>
    );
  const { words, tone, of } = STANDINGS[standingOf(held, primary)];
  return (
    <span class={`tag ${tone}`} title={`${commitWords(held.commit)}: ${of}${held.isLeased ? ", leased" : ""}.`}>
      {held.isLeased && words === "equal" ? "leased" : words}
    </span>
  );
}

/** Of `radical dev` only. */
export function AtLocations({ unit }: { readonly unit: UnitId }) {
  const looked = useLook([unit]);
  const item = looked?.answer.items.find((one) => one.unit === unit);
  if (looked === null || item === undefined) return <p class="soft">The caches are asked …</p>;
  const { primary, held } = item;
  const places = (state.value?.locations ?? []).filter(({ isCentral }) => !isCentral);
  const age = (version: ShownVersion) => (
    <td class="num right muted">{ageWords(version.writtenAtMs, looked.atMs) ?? "earlier"}</td>
  );
  return (
    <table class="history places" aria-label={`Versions of ${unit}`}>
      <thead>
        <tr>
          <th>at</th>
          <th>version</th>
          <th>is</th>
          <th class="right">written</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <td class="b there">Primary</td>
          <td class="mono there">{primary.isThere ? commitWords(primary.commit) : "absent"}</td>
          <td class="muted">stored</td>
          {primary.commit === null ? <td class="right muted">–</td> : age(primary)}
        </tr>
        {places.map(({ name }) => {
          const own = held.find(({ place }) => place === name);
          const unseen = looked.answer.unseen.find(({ place }) => place === name);
          return (
            <tr key={name}>
              <td>{placeName(name)}</td>
              {own === undefined ? (
                <td class="muted" colSpan={3}>
                  {unseen?.reason ?? "Nothing of it is held."}
                </td>
              ) : (
                <>
                  <td class="mono">
                    {own.isThere ? commitWords(own.commit) : <>absent at {commitWords(own.commit)}</>}
                  </td>
                  <td>
                    <StandingTag held={own} primary={primary} />
                    {own.tier === "behind" && (
                      <span class="muted" title="The isolate has not read it since its start.">
                        {" "}
                        stored
                      </span>
                    )}
                  </td>
                  {age(own)}
                </>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Why the caches of a deployment are not looked into. */
export function Unseen() {
  return (
    <p class="muted note">
      Nobody can list the caches of a deployment: a location has many isolates, each with a memory of its own. A version
      stands here when a call has shown it. Versions of other isolates, ages and leases of an item are not seen.
    </p>
  );
}
