/** What the applications would cost, by the operations that the runs have counted. */
import type { BenchmarkResult, OperationRow, WorkloadRun } from "../../packages/cli/src/bench/result.ts";
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
import { labelOf, type Results } from "./results.ts";

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
  return result.runs.flatMap((run): readonly ApplicationCost[] => {
    const radical = radicalRequest(operationsOf(result, run, "radical"));
    const central = centralRequest(operationsOf(result, run, "central"));
    if (radical === null || central === null) return [];
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

function operationsOf(
  { operations }: BenchmarkResult,
  { run }: WorkloadRun,
  system: OperationRow["system"],
): OperationRow | undefined {
  return operations.find((row) => row.run === run && row.system === system);
}

/** Null if something was not counted. */
function radicalRequest(row: OperationRow | undefined): RadicalRequest | null {
  if (row === undefined) return null;
  const { locationCpuMs, primaryCpuMs, cacheCalls, cacheRowsRead, cacheRowsWritten, storageReads, primaryBytes } = row;
  if (locationCpuMs === null || primaryCpuMs === null || primaryBytes === null || storageReads === null) return null;
  if (cacheCalls === null || cacheRowsRead === null || cacheRowsWritten === null) return null;
  const size = itemBytes(row);
  return {
    locationCpuMs,
    primaryCpuMs,
    cacheCalls,
    cacheRowsRead,
    cacheRowsWritten,
    readUnits: storageReads * Math.max(1, Math.ceil(size / READ_UNIT_BYTES)),
    writeUnits: row.writingShare * UNITS_OF_INTENT + row.unitsWritten * transactionUnits(size),
    primaryBytes,
  };
}

function centralRequest(row: OperationRow | undefined): CentralRequest | null {
  if (row === undefined) return null;
  const { primaryCpuMs, storageBytes, answerBytes, writingShare } = row;
  if (primaryCpuMs === null || storageBytes === null || answerBytes === null || row.unitsRead === 0) return null;
  const size = itemBytes(row);
  return {
    cpuMs: primaryCpuMs,
    storageMs: STORAGE_REQUEST_MS * (1 + writingShare),
    readUnits: row.unitsRead * Math.max(1, Math.ceil(size / READ_UNIT_BYTES)),
    writeUnits: row.unitsWritten * transactionUnits(size),
    storageBytes,
    answerBytes,
  };
}

function transactionUnits(bytes: number): number {
  return 2 * Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
}

/** Of an item that is read; those that are written are taken for as large. */
function itemBytes({ storageBytes, unitsRead }: OperationRow): number {
  return storageBytes === null || unitsRead === 0 ? 0 : storageBytes / unitsRead;
}
