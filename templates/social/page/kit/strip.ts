/**
 * The strip at the foot of the page: where the last call ran, how long it took, and by which path. With `radical dev` the viewer
 * moves to another place there. In a deployment the network decides where a call arrives, and the strip only tells.
 */
import { h } from "./elements.ts";

interface Place {
  readonly name: string;
  readonly roundTripMs: number;
}

interface Told {
  readonly handler: string;
  readonly place: string;
  readonly ms: number;
  readonly path: string;
  /** Milliseconds of the handler's own run; null: not known. */
  readonly runMs: number | null;
}

const LOCATION = "x-radical-location";
const WORDS: Readonly<Record<string, string>> = {
  leased: "ran here, asked nobody",
  speculative: "ran here, confirmed",
  "near-storage": "ran next to the data",
};
const CITIES: Readonly<Record<string, string>> = {
  VA: "Virginia",
  CA: "California",
  IE: "Dublin",
  DE: "Frankfurt",
  JP: "Tokyo",
};
const CHOSEN = "place";

const strip = h("footer", { className: "strip", hidden: true, ariaLabel: "The last call" });
let places: readonly Place[] = [];

/** With `radical dev`: whether the page runs on the developer's own machine. */
export function isDevelopment(): boolean {
  return places.length > 0;
}

/** The strip, once it is known where it runs. */
export async function openStrip(): Promise<HTMLElement> {
  if (/^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname)) {
    const response = await fetch("/__radical/locations").catch(() => null);
    if (response?.ok === true) places = (await response.json()) as readonly Place[];
  }
  if (places.length > 0) show(null);
  return strip;
}

/** Sends calls from the chosen place. For the option `fetch` of `createClient`. */
export const sendUntold: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  const chosen = chosenPlace();
  if (chosen !== undefined) headers.set(LOCATION, chosen.name);
  return fetch(input, { ...init, headers });
};

/** Does that and tells of the call, which the reader knows of. */
export const send: typeof fetch = async (input, init) => {
  const beganAt = performance.now();
  const response = await sendUntold(input, init);
  void tell(new URL(String(input), location.href), response, performance.now() - beganAt);
  return response;
};

function chosenPlace(): Place | undefined {
  const chosen = sessionStorage.getItem(CHOSEN);
  return places.find(({ name }) => name === chosen) ?? places[0];
}

async function tell(url: URL, response: Response, headMs: number): Promise<void> {
  const handler = decodeURIComponent(url.pathname.replace("/api/", ""));
  const place = response.headers.get(LOCATION) ?? "";
  const times = response.headers.get("server-timing") ?? "";
  const path = response.headers.get("x-radical-path");
  const run = /(?:^|[\s,])f;[^,]*?dur=([\d.]+)/.exec(times)?.[1];
  if (path !== null) return show({ handler, place, ms: headMs, path, runMs: run === undefined ? null : Number(run) });
  // The first line had a result that was not confirmed; the last one says how it went.
  if (response.headers.get("content-type")?.startsWith("application/x-ndjson") !== true) return;
  const lines = (
    await response
      .clone()
      .text()
      .catch(() => "")
  )
    .trim()
    .split("\n");
  const last = JSON.parse(lines.at(-1) || "{}") as { readonly path?: string };
  if (last.path !== undefined) show({ handler, place, ms: headMs, path: last.path, runMs: null });
}

function show(told: Told | null): void {
  strip.hidden = false;
  strip.replaceChildren(
    h(
      "div",
      {},
      places.length > 0 ? chooser() : h("span", { className: "quiet" }, nameOf(told?.place ?? "")),
      ...(told === null
        ? [h("span", { className: "quiet" }, "No call yet")]
        : [
            h("b", {}, `${told.handler} `, h("span", { className: "ms" }, `${Math.max(1, Math.round(told.ms))} ms`)),
            h("span", { className: `path ${told.path}` }, WORDS[told.path] ?? told.path),
            h("span", { className: "quiet central" }, centralOf(told)),
          ]),
      h("span", { className: "gap" }),
      places.length > 0 ? h("a", { href: "/__radical/", target: "_blank" }, "See the calls") : null,
    ),
  );
}

function chooser(): HTMLElement {
  const select = h(
    "select",
    {},
    places.map(({ name }) => h("option", { value: name }, nameOf(name))),
  );
  select.value = chosenPlace()?.name ?? "";
  select.addEventListener("change", () => {
    sessionStorage.setItem(CHOSEN, select.value);
    dispatchEvent(new HashChangeEvent("hashchange"));
  });
  return h("label", {}, h("span", { className: "quiet" }, "You are in"), select);
}

function nameOf(place: string): string {
  return CITIES[place] ?? place;
}

/** The time of the same call without a location: the way to the data and back, and the run there. */
function centralOf({ place, runMs, path }: Told): string {
  const roundTripMs = places.find(({ name }) => name === place)?.roundTripMs;
  if (roundTripMs === undefined || path === "near-storage" || runMs === null) return "";
  return `next to the data: about ${Math.round(roundTripMs + runMs)} ms`;
}
