/** The knowledge of the page, as signals. */
import { batch, computed, signal } from "@preact/signals";
import {
  type DashboardApp,
  type DashboardLine,
  type DashboardState,
  MAX_KEPT_LIVES,
  type UnitId,
} from "@radical/protocol";
import { api, token } from "./api.ts";
import { type Call, unitsOf } from "./model/join.ts";
import { placeName } from "./model/places.ts";
import { Reckoner } from "./model/reckoner.ts";
import { join, type StreamMessage } from "./stream.worker.ts";

export const VIEWS = [
  "requests",
  "locations",
  "try",
  "handlers",
  "tasks",
  "workflows",
  "contention",
  "caches",
  "data",
  "replay",
] as const;
export type View = (typeof VIEWS)[number];

export const view = signal<View>("requests");
export const state = signal<DashboardState | null>(null);
export const app = signal<DashboardApp | null>(null);
export const connection = signal<"open" | "closed" | "refused" | "opening">(token === "" ? "refused" : "opening");
/** The latest first. */
export const calls = signal<readonly Call[]>([]);
export const selected = signal<number | null>(null);
export const filter = signal("");
export const isPaused = signal(false);
const narrow = matchMedia("(max-width: 700px)");
export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => (isNarrow.value = matches));
/** Said by screen readers: failures only. */
export const announced = signal("");
const chosen = signal<string | null>(null);
/** The item that the view Caches looks at; null: the first one of its list. */
export const looked = signal<UnitId | null>(null);

export const isDeployment = computed(() => state.value?.source.kind === "deployment");

/** The views of the source. Of a deployment nothing can be changed, and its items are not read. */
export const views = computed<readonly View[]>(() =>
  isDeployment.value ? ["requests", "locations", "tasks", "workflows", "contention", "caches", "replay"] : VIEWS,
);

/** The place that calls are made from. */
export const callingFrom = computed(() => {
  const names = state.value?.locations.map(({ name }) => name) ?? [];
  return chosen.value !== null && names.includes(chosen.value) ? chosen.value : (names[0] ?? "");
});

export function callFrom(place: string): void {
  chosen.value = place;
}

/** Words of the filter, `handler:like`, `location:JP` or any text of handler, path or unit; all of them must fit. */
export const shown = computed(() => {
  const words = filter.value.split(/\s+/).filter((word) => word !== "");
  return words.length === 0 ? calls.value : calls.value.filter((call) => words.every((word) => fits(call, word)));
});

function fits(call: Call, word: string): boolean {
  const { life, primary } = call;
  const [field, value = ""] = word.split(":");
  const like = (text: string, part: string): boolean =>
    text.toLowerCase().includes(part.toLowerCase().replaceAll("*", ""));
  if (field === "handler" && word.includes(":")) return like(life.handler, value);
  if (field === "location" && word.includes(":")) return like(`${life.place} ${placeName(life.place)}`, value);
  const all = [life.handler, life.place, life.path, life.reason, life.code, life.execution, primary?.because?.unit];
  return [...all, ...unitsOf(call).map(([unit]) => unit)].some((text) => typeof text === "string" && like(text, word));
}

/** The one that is looked at: the latest one until somebody chooses. */
export const current = computed(() => {
  const id = selected.value;
  return (id === null ? shown.value[0] : calls.value.find((call) => call.id === id)) ?? null;
});

function newReckoner(): Reckoner {
  const locationOf = (place: string) => state.peek()?.locations.find(({ name }) => name === place);
  return new Reckoner({
    most: MAX_KEPT_LIVES,
    isCentral: (place) => locationOf(place)?.isCentral === true,
    distances: (place) => {
      const roundTripMs = locationOf(place)?.roundTripMs ?? null;
      return roundTripMs === null ? null : roundTripMs * 1_000;
    },
  });
}

let reckoner = newReckoner();
export const central = signal(reckoner.central);
let isPlanned = false;

function take(lines: readonly DashboardLine[], isAnew: boolean): void {
  if (isAnew) {
    reckoner = newReckoner();
    central.value = reckoner.central;
    selected.value = null;
  }
  for (const line of lines) {
    if (line.kind === "state") takeState(line);
    else {
      reckoner.add(line);
      if (!isAnew && line.side === "location" && line.code !== null)
        announced.value = `${line.handler} at ${line.place} failed: ${line.code}`;
    }
  }
  plan();
}

/** Many lines may come between two frames. */
function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  setTimeout(() => {
    isPlanned = false;
    if (!isPaused.value) show();
  }, SHOW_MS);
}

const SHOW_MS = 100;

function show(): void {
  calls.value = reckoner.calls;
}

export function pause(): void {
  isPaused.value = !isPaused.value;
  if (!isPaused.value) show();
}

function takeState(next: DashboardState): void {
  const before = state.value?.module ?? null;
  batch(() => {
    state.value = next;
  });
  if (!views.value.includes(view.value)) view.value = "requests";
  if (next.source.kind === "dev" && next.module !== null && next.module !== before) void loadApp();
}

async function loadApp(): Promise<void> {
  try {
    app.value = await api.app();
  } catch {
    // The next state asks again.
  }
}

/** Begins to listen. */
export function open(): void {
  if (token === "") return;
  const heard = (message: StreamMessage): void => {
    if (message.kind === "connection") connection.value = message.is;
    else take(message.lines, message.isAnew);
  };
  if (typeof SharedWorker === "undefined") {
    join({ postMessage: heard }, token);
    return;
  }
  const worker = new SharedWorker(new URL("./stream.worker.ts", import.meta.url), { type: "module" });
  worker.port.addEventListener("message", ({ data }: MessageEvent<StreamMessage>) => heard(data));
  worker.port.start();
  worker.port.postMessage({ token });
  addEventListener("pagehide", () => worker.port.postMessage({ token: null }));
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) worker.port.postMessage({ token });
  });
}
