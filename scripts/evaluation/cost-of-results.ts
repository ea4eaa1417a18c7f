/** The cost of the applications, by the operations that the runs have counted. */
import type { BenchmarkResult, WorkloadRun } from "../../packages/bench/src/result.ts";
import {
  carried,
  centralLambdaBill,
  centralMachinesBill,
  type CentralRequest,
  centralWorkerBill,
  type Load,
  perMonth,
  radicalBill,
  type RadicalRequest,
} from "./cost.ts";
import { labelOf, type Results, rowOf, workloadRuns } from "./results.ts";

/** The paper's load, of items that are read. */
const PAPER_READS_PER_SECOND = 50_000;
const RATES = [1e6, 10e6, 100e6, 1_000e6] as const;
const LOCATIONS = 5;
const STORED_GB = 10;
const STORAGE_REQUEST_MS = 5;
const READ_UNIT_BYTES = 4_096;
const WRITE_UNIT_BYTES = 1_024;
/** The intent with its entry in the index, its end in the transaction, and the removal of the entry. */
const UNITS_OF_INTENT = 5;

/**
 * Assumptions about things that a run does not count: the bound of each where there is one, else a figure of the servers'
 * own benchmarks.
 */
const ASSUMED = {
  /** Beside the handler: of the location's Worker, with *f^rw*, and of a Worker near storage. */
  locationMs: 2,
  centralMs: 1,
  /** Of the primary's processor. */
  lviMs: 0.1,
  followupMs: 0.3,
  /** Of the units that it validates, those that it does not have in memory. */
  lookedUp: 0.01,
} as const;

/** In the words of the page. */
export const ASSUMED_WORDS: readonly string[] = [
  `A Worker computes for ${ASSUMED.locationMs} ms beside the handler at a location, and for ${ASSUMED.centralMs} ms near storage. The primary computes for ${ASSUMED.lviMs} ms for an LVI request, and for ${ASSUMED.followupMs} ms for a followup. Near storage it computes as long as the handler.`,
  "A cache is called once by each request, and once more by each that wrote or was repaired: the most there can be. All that is read are rows of it, and all that is written or repaired.",
  `The primary looks up 1 % of what it validates, or all items of the executions that it ran, whichever is more.`,
];

/** Dollars a month. Null: one server would not carry it. */
interface Monthly {
  readonly radical: number | null;
  readonly worker: number;
  readonly lambda: number;
  readonly machines: number;
}

export interface ApplicationCost {
  readonly label: string;
  readonly radical: RadicalRequest;
  readonly central: CentralRequest;
  readonly rates: readonly (Monthly & { readonly requestsPerMonth: number })[];
  /** Infrastructure alone, at the paper's rate: with the storage's capacity paid in the way that is worse for Radical. */
  readonly paperRate: {
    readonly requestsPerSecond: number;
    readonly capacity: Load["capacity"];
    readonly radical: number;
    readonly lambda: number;
  } | null;
}

/** Of each application whose operations were counted, at its own speed if that was measured. */
export function costOf(results: Results): readonly ApplicationCost[] {
  const measured = [results["end-to-end-native"], results["end-to-end-paper"]];
  const counted = measured.map((result) => (result === undefined ? [] : costsIn(result)));
  return counted.find((costs) => costs.length > 0) ?? [];
}

function costsIn(result: BenchmarkResult): readonly ApplicationCost[] {
  return workloadRuns(result).flatMap((run): readonly ApplicationCost[] => {
    const requests = requestsOf(result, run);
    if (requests === null) return [];
    const { radical, central } = requests;
    const rates = RATES.map((requestsPerMonth) => {
      const load: Load = { requestsPerMonth, locations: LOCATIONS, storedGb: STORED_GB, capacity: "on demand" };
      return {
        requestsPerMonth,
        radical: carried(radical, load) ? radicalBill(radical, load).dollars : null,
        worker: centralWorkerBill(central, load).dollars,
        lambda: centralLambdaBill(central, load).dollars,
        machines: centralMachinesBill(central, load).dollars,
      };
    });
    return [{ label: labelOf(run, result), radical, central, rates, paperRate: atPaperRate(radical, central) }];
  });
}

function atPaperRate(radical: RadicalRequest, central: CentralRequest): ApplicationCost["paperRate"] {
  const requestsPerSecond = PAPER_READS_PER_SECOND / central.readUnits;
  const [worst = null] = (["on demand", "provisioned"] as const)
    .flatMap((capacity) => {
      const load: Load = {
        requestsPerMonth: perMonth(requestsPerSecond),
        locations: LOCATIONS,
        storedGb: STORED_GB,
        capacity,
      };
      if (!carried(radical, load)) return [];
      const [ours, theirs] = [
        radicalBill(radical, load).infrastructure,
        centralLambdaBill(central, load).infrastructure,
      ];
      return [{ requestsPerSecond, capacity, radical: ours, lambda: theirs }];
    })
    .toSorted((a, b) => b.radical / b.lambda - a.radical / a.lambda);
  return worst;
}

/** Null if the run has not counted what its executions touch. */
function requestsOf(
  result: BenchmarkResult,
  run: WorkloadRun,
): { readonly radical: RadicalRequest; readonly central: CentralRequest } | null {
  const row = result.operations.find((each) => each.run === run.run);
  const validation = rowOf(result.validations, run, null, null);
  if (row === undefined || validation === undefined || row.unitsRead === 0) return null;
  const near = validation.nearStorage / validation.requests;
  const fMs = handlerMs(result, run);
  const {
    unitsRead,
    unitsWritten,
    writingShare,
    followups,
    leasedShare = 0,
    storageBytes,
    primaryBytes,
    answerBytes,
  } = row;
  const size = storageBytes / unitsRead;
  const readUnits = Math.max(1, Math.ceil(size / READ_UNIT_BYTES));
  const writeUnits = 2 * Math.max(1, Math.ceil(size / WRITE_UNIT_BYTES));
  return {
    radical: {
      locationCpuMs: fMs + ASSUMED.locationMs,
      primaryCpuMs: near * fMs + (1 - leasedShare) * ASSUMED.lviMs + followups * ASSUMED.followupMs,
      cacheCalls: 1 + Math.max(writingShare, near),
      cacheRowsRead: unitsRead,
      // Not counted: the most that it can be.
      cacheRowsWritten: unitsWritten + (row.unitsRepaired ?? near * unitsRead),
      readUnits: unitsRead * Math.max(near, (1 - leasedShare) * ASSUMED.lookedUp) * readUnits,
      writeUnits: writingShare * UNITS_OF_INTENT + unitsWritten * writeUnits,
      primaryBytes,
    },
    central: {
      cpuMs: fMs + ASSUMED.centralMs,
      storageMs: STORAGE_REQUEST_MS * (1 + writingShare),
      readUnits: unitsRead * readUnits,
      writeUnits: unitsWritten * writeUnits,
      storageBytes,
      answerBytes,
    },
  };
}

/** The time of f in the mean of the mix. */
function handlerMs({ executionTimes }: BenchmarkResult, { run }: WorkloadRun): number {
  const own = executionTimes.filter((row) => row.run === run);
  return own.reduce((sum, { share, f }) => sum + share * (f.meanMs ?? 0), 0);
}
