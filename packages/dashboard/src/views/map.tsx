/** Where the locations are, and how far from the primary; without known places a strip of distances. */
import type { DashboardLocation } from "@radical/protocol";
import { LAND, LAND_NORTH, LAND_STEP } from "../model/land.ts";
import { placeName, positionOf } from "../model/places.ts";
import { callFrom, callingFrom, isNarrow, state } from "../store.ts";

/** Units of a degree. */
const SCALE = 2.4;
const WIDTH = 360 * SCALE;
const HEIGHT = 120 * SCALE;
/** As near as the primary's own region. */
const NEAR_MS = 20;

const project = ([east, north]: readonly [number, number]): readonly [number, number] => [
  (east + 172) * SCALE,
  (LAND_NORTH - 3 - north) * SCALE,
];

/** One path: a line without length for each dot, whose round cap is the dot. */
const DOTS = LAND.flatMap((row, at) =>
  Array.from(BigInt(`0x${row}`).toString(2).padStart(120, "0")).flatMap((bit, column) => {
    if (bit === "0") return [];
    const [x, y] = project([-180 + (column + (at % 2) / 2) * LAND_STEP, LAND_NORTH - at * LAND_STEP]);
    return x < 0 || x > WIDTH || y < 0 || y > HEIGHT ? [] : [`M${x.toFixed(0)} ${y.toFixed(0)}h0`];
  }),
).join("");

export function Places() {
  const locations = (state.value?.locations ?? []).filter(({ isCentral }) => !isCentral);
  const nearest = locations.toSorted((a, b) => ms(a) - ms(b))[0];
  const home = nearest === undefined || ms(nearest) > NEAR_MS ? null : positionOf(nearest.name);
  const areKnown = !isNarrow.value && home !== null && locations.every(({ name }) => positionOf(name) !== null);
  return (
    <section class="card map" aria-label="Where the locations are">
      {areKnown && nearest !== undefined && home !== null ? (
        <WorldMap locations={locations} home={home} near={nearest} />
      ) : (
        <Distances locations={locations} />
      )}
    </section>
  );
}

interface Label {
  readonly location: DashboardLocation;
  readonly at: readonly [number, number];
  readonly words: readonly [string, string];
}

function WorldMap({
  locations,
  home,
  near,
}: {
  readonly locations: readonly DashboardLocation[];
  readonly home: readonly [number, number];
  readonly near: DashboardLocation;
}) {
  const [hx, hy] = project(home);
  const away = locations.filter(({ name }) => name !== near.name);
  const words = away.map((location): Label => {
    const isHere = location.name === callingFrom.value;
    const name = placeName(location.name);
    const distance = location.isCut ? "cut off" : distanceWords(location);
    return {
      location,
      at: project(positionOf(location.name) ?? [0, 0]),
      words: [isHere ? `You, in ${name}` : name, distance],
    };
  });
  const sentence = locations
    .map((location) => `${placeName(location.name)} ${location.isCut ? "cut off" : distanceWords(location)}`)
    .join(", ");
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={`Round trips to the primary: ${sentence}`}>
      <path class="dots" d={DOTS} />
      {words.map(({ location, at: [x, y] }) => {
        const lift = Math.min(90, Math.abs(x - hx) / 3 + 14);
        const className = `arc${location.isCut ? " cut" : ""}${location.name === callingFrom.value ? " you" : ""}`;
        return (
          <path
            key={location.name}
            class={className}
            d={`M${hx} ${hy}Q${(x + hx) / 2} ${Math.min(y, hy) - lift} ${x} ${y}`}
          />
        );
      })}
      <g class="place" onClick={() => callFrom(near.name)}>
        <rect class="f-there" x={hx - 6} y={hy - 6} width="12" height="12" rx="2" />
        <text x={hx + 12} y={hy + 13} class="halo">
          Primary, near {placeName(near.name)}
        </text>
        <text x={hx + 12} y={hy + 27} class="halo s">
          {near.name === callingFrom.value ? "you are" : `${near.name} is`}{" "}
          {near.isCut ? "cut off" : `${distanceWords(near)} away`}
        </text>
      </g>
      {words.map(({ location, at: [x, y], words: [name, distance] }) => {
        const isYou = location.name === callingFrom.value;
        const anchor = x < hx ? "end" : x > WIDTH * 0.8 ? "middle" : "start";
        const [tx, ty] =
          anchor === "middle" ? [x, y + 22] : [x + (anchor === "end" ? -11 : 11), y + labelShift(location, words)];
        return (
          <g key={location.name} class="place" onClick={() => callFrom(location.name)}>
            {isYou && <circle class="you" cx={x} cy={y} r="12" />}
            <circle class={location.isCut ? "o-fail" : "f-here"} cx={x} cy={y} r="5.5" />
            <text x={tx} y={ty} text-anchor={anchor} class="halo">
              {name}
            </text>
            <text x={tx} y={ty + 14} text-anchor={anchor} class={`halo s${location.isCut ? " cutt" : ""}`}>
              {distance}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** Of two places near each other the northern one has its words above. */
function labelShift(location: DashboardLocation, labels: readonly Label[]): number {
  const own = labels.find((label) => label.location === location)?.at ?? [0, 0];
  const close = labels.find(
    ({ location: other, at }) => other !== location && Math.abs(at[0] - own[0]) < 110 && Math.abs(at[1] - own[1]) < 30,
  );
  if (close === undefined) return 0;
  return own[0] < close.at[0] ? -22 : 12;
}

function Distances({ locations }: { readonly locations: readonly DashboardLocation[] }) {
  const longest = Math.max(10, ...locations.map(ms)) * 1.15;
  return (
    <div class="pad stack">
      <h2>Distances to the primary</h2>
      <div
        class="wf bars"
        role="img"
        aria-label={locations.map((location) => `${location.name} ${distanceWords(location)}`).join(", ")}
      >
        {locations.map((location) => (
          <div class="sum" key={location.name}>
            <span class="lab">{placeName(location.name)}</span>
            <svg aria-hidden="true">
              <line
                x1="0"
                x2={`${(ms(location) / longest) * 100}%`}
                y1="14"
                y2="14"
                class={location.isCut ? "s-cut" : "s-there"}
              />
              <circle
                cx={`${(ms(location) / longest) * 100}%`}
                cy="14"
                r="5"
                class={location.isCut ? "o-fail" : "f-here"}
              />
              <rect x="0" y="9" width="10" height="10" rx="2" class="f-there" />
            </svg>
            <span class="val num">{location.isCut ? "cut off" : distanceWords(location)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

function ms({ roundTripMs }: DashboardLocation): number {
  return roundTripMs ?? 0;
}

function distanceWords({ roundTripMs }: DashboardLocation): string {
  return roundTripMs === null ? "not measured" : `${Math.round(roundTripMs * 10) / 10} ms`;
}
