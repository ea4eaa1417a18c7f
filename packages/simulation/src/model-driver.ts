/** The driver of one server in the histories of tasks, schedules, services and workflows: all that they have in common. */
import { Driver, type Effect, type Event, type Halt, type LviCore, type Now } from "@radical/lvi-server/core";
import { noServices } from "./server.ts";

type Ports = ConstructorParameters<typeof Driver>[0]["ports"];

interface ModelDriver extends Pick<Ports, "now" | "wakeAt" | "storage" | "execute"> {
  readonly core: LviCore;
  readonly epoch: number;
  /** Carries an event out in the core. It may end before all effects have left. */
  readonly step: (now: Now, event: Event) => Iterable<Effect>;
  /** Default: there are no services. */
  readonly callService?: Ports["callService"];
  readonly noted?: Ports["observer"]["noted"];
  readonly sampled?: Ports["observer"]["sampled"];
  /** The server leads no more. Default: an error. */
  readonly takenOver?: () => void;
}

export function modelDriver({
  core,
  epoch,
  step,
  noted = ignore,
  sampled = ignore,
  takenOver,
  ...ports
}: ModelDriver): Driver {
  return new Driver({
    // The driver forgets at each step what the core does not need.
    lookAtOwed: 1,
    core: {
      step,
      get wakeAtMs() {
        return core.wakeAtMs;
      },
      isClear: true,
      get namesTask() {
        return core.namesTask;
      },
    },
    epoch,
    ports: {
      callService: noServices,
      ...ports,
      act: (act) => act(),
      observer: {
        replied: ignore,
        followed: ignore,
        noted,
        updated: ignore,
        sampled,
        collected: ignore,
        moduleRemoved: ignore,
        collectFailed: ignore,
      },
      halted: (halt: Halt) => {
        if (halt.kind === "broken") throw halt.error;
        if (takenOver === undefined) throw new Error(`the server has halted: ${halt.reason}`);
        takenOver();
      },
    },
  });
}

function ignore(): void {}
