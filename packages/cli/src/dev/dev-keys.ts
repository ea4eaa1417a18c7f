/** The keys of `radical dev` in a terminal: each switches a fault, or moves time. */
import type { Control } from "./control-server.ts";
import { type DevFaultChange, NO_DEV_FAULTS } from "./service-faults.ts";
import { spanText } from "../operate/times.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** What is read, one key at a time: the terminal's standard input. */
export type KeyInput = Pick<NodeJS.ReadStream, "setRawMode" | "resume" | "pause"> & {
  on(event: "data", listener: (keys: Buffer) => void): unknown;
};

export interface KeyOptions {
  readonly control: Control;
  readonly terminal: Terminal;
  /** Ctrl-C, which comes as a key. */
  readonly onInterrupt: () => void;
  /** Called with what a change failed with. */
  readonly onError: (error: unknown) => void;
}

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

export const KEYS_HINT = "press ? for the keys: they switch faults, and move time";

/** By which a key moves time. */
const STEPS: Readonly<Record<string, number>> = { t: 3_600_000, T: 86_400_000 };

/** Listens until it is told to stop; then the terminal is as it was. */
export function listenToKeys(input: KeyInput, options: KeyOptions): () => void {
  const { control, terminal, onInterrupt, onError } = options;
  const press = (key: string): void => {
    if (key === CTRL_C || key === CTRL_D || key === "q") return onInterrupt();
    if (key === "?" || key === "h") return terminal.note(helpOf(control));
    const byMs = STEPS[key];
    if (byMs !== undefined) return void control.moveTime(byMs).catch(onError);
    const change = changeOf(key, control);
    if (change !== null) control.change(change).catch(onError);
  };
  input.setRawMode(true);
  input.resume();
  input.on("data", (keys) => {
    for (const key of keys.toString()) press(key);
  });
  return () => {
    input.setRawMode(false);
    input.pause();
  };
}

/** Null: the key means nothing. */
function changeOf(key: string, { locations, faults }: Control): DevFaultChange | null {
  const { primaryDown, partitioned, dropFollowups } = faults();
  switch (key) {
    case "p":
      return { primaryDown: !primaryDown };
    case "f":
      return { dropFollowups: !dropFollowups };
    case "w":
      return { wipeCaches: locations };
    case "k":
      return { killServer: true };
    case "r":
      return NO_DEV_FAULTS;
  }
  const location = /^[1-9]$/.test(key) ? locations[Number(key) - 1] : undefined;
  if (location === undefined) return null;
  const others = partitioned.filter((name) => name !== location);
  return { partitioned: others.length < partitioned.length ? others : [...partitioned, location] };
}

function helpOf({ locations, faults, time }: Control): string {
  const { aheadMs } = time();
  const { primaryDown, partitioned, dropFollowups } = faults();
  const state = (isOn: boolean): string => (isOn ? "  (on)" : "");
  return [
    "",
    `  p  the primary is down, or up again${state(primaryDown)}`,
    ...locations
      .slice(0, 9)
      .map((name, index) => `  ${index + 1}  ${name} is cut off from the primary${state(partitioned.includes(name))}`),
    `  f  followups are dropped${state(dropFollowups)}`,
    "  r  no faults any more",
    "  w  wipe the caches of all locations",
    `  t  move the time of tasks and handlers by an hour${aheadMs === 0 ? "" : `  (${spanText(aheadMs)} ahead)`}`,
    "  T  move it by a day",
    "  k  kill the LVI server, which is started again",
    "  ?  this help",
    "  q  stop everything, as Ctrl-C does",
    "",
  ].join("\n");
}
