/**
 * The memory that the process may take, divided among all that it keeps. Each part has a least and a most value. Memory
 * beyond all least values is divided in proportion, until each part has its most. The rest goes to the heaps of workers.
 * So their sum is within the part that is divided, and one part that is full takes nothing from another.
 */
import { totalmem } from "node:os";
import { DEFAULT_CORE_OPTIONS } from "./core/core-options.ts";
import { MOST_LISTENED_BYTES } from "./http/asked-once.ts";

const MB = 1_048_576;

/** The part that is divided. The rest is for garbage that is not collected yet, and for what the allocator keeps. */
const DIVIDED = 0.75;

/** Taken by Node and the code of the server without a request. */
const PROCESS_BYTES = 128 * MB;

/** Taken by the process without its threads: with the questions of listeners that it has answered. */
const ALONE_BYTES = PROCESS_BYTES + MOST_LISTENED_BYTES;

/** Memory of one handler: the most that an application can configure. */
const HANDLER_BYTES = 64 * MB;

/** Of the host's own objects in one worker thread; the memory of handlers is bounded by their module. */
const LEAST_HEAP_BYTES = 32 * MB;
const USUAL_HEAP_BYTES = 128 * MB;
const MOST_HEAP_BYTES = 512 * MB;

/** Values that one worker thread keeps between the rounds of executions. */
const LEAST_SENT_BYTES = 4 * MB;
const MOST_SENT_BYTES = 32 * MB;

const MOST_RECEIVING_BYTES = 256 * 1024 * 1024;
const MOST_UNREAD_BYTES = 256 * 1024 * 1024;

/** Without a number of workers they take this part of what the process itself leaves, so that data has the rest. */
const MOST_OF_THREADS = 0.6;

interface Part {
  readonly least: number;
  readonly most: number;
}

/** Bounds of the parts beside the workers. */
const PARTS = {
  /** Values and versions of hot units. */
  hotBytes: { least: 16 * MB, most: DEFAULT_CORE_OPTIONS.hotBytes },
  /** Outcomes of done executions. */
  finishedBytes: { least: 8 * MB, most: DEFAULT_CORE_OPTIONS.finishedBytes },
  /** Requests under way, of all locations. One location may have the half. */
  requestBytes: { least: 32 * MB, most: DEFAULT_CORE_OPTIONS.requestBytes },
  /** Arguments of tasks. */
  taskBytes: { least: 4 * MB, most: DEFAULT_CORE_OPTIONS.tasks.mostBytes },
  /** Arguments of the tasks that wait in lanes. */
  laneBytes: { least: 4 * MB, most: DEFAULT_CORE_OPTIONS.tasks.laneBytes },
  /** Bodies that are being received. */
  receivingBytes: { least: 16 * MB, most: MOST_RECEIVING_BYTES },
  /** Lines that locations and commands were sent, and have not read. */
  unreadBytes: { least: 8 * MB, most: MOST_UNREAD_BYTES },
} as const satisfies Readonly<Record<string, Part>>;

type PartName = keyof typeof PARTS;

const PART_NAMES = Object.keys(PARTS) as readonly PartName[];

export interface ProcessMemory {
  readonly bytes: number;
  readonly origin: "option" | "control group" | "machine";
}

/** Decisions of the operator. */
export interface MemoryWishes {
  /** Null: as many as `coreWorkers`, or fewer if memory is short. */
  readonly workers: number | null;
  /** The number for the cores of this machine. */
  readonly coreWorkers: number;
  /** Most bytes of the requests of one location; null: the half of those of all. */
  readonly locationBytes: number | null;
}

export type MemoryBudget = Readonly<Record<PartName, number>> & {
  readonly locationBytes: number;
  readonly workers: number;
  /** Of each thread. */
  readonly heapBytes: number;
  readonly sentBytes: number;
  /** The sum of all bounds, with the process itself. */
  readonly boundBytes: number;
};

/** The memory is too small for the least values. */
export class MemoryBudgetError extends Error {}

/** That of an option, or else of the control group, and at most the machine's. */
export function processMemory(optionBytes: number | null): ProcessMemory {
  if (optionBytes !== null) return { bytes: optionBytes, origin: "option" };
  const [group, machine] = [process.constrainedMemory(), totalmem()];
  return group > 0 && group < machine
    ? { bytes: group, origin: "control group" }
    : { bytes: machine, origin: "machine" };
}

/** A thread more for each worker, while a run is set aside, and one for re-executions that were ended before. */
function threadsOf(workers: number): number {
  return 2 * workers + 1;
}

/** Throws a MemoryBudgetError if the memory is too small. */
export function memoryBudget({ bytes, origin }: ProcessMemory, wishes: MemoryWishes): MemoryBudget {
  const { locationBytes } = wishes;
  const divided = Math.floor(bytes * DIVIDED);
  const leastThread = HANDLER_BYTES + LEAST_HEAP_BYTES + LEAST_SENT_BYTES;
  const workers =
    wishes.workers ?? workersWithin(wishes.coreWorkers, (divided - ALONE_BYTES) * MOST_OF_THREADS, leastThread);
  const threads = threadsOf(workers);

  const parts = partsFor(locationBytes);
  const sum = (of: keyof Part): number => PART_NAMES.reduce((all, name) => all + parts[name][of], 0);
  const least = sum("least") + threads * (LEAST_SENT_BYTES + LEAST_HEAP_BYTES);
  const most = sum("most") + threads * (MOST_SENT_BYTES + USUAL_HEAP_BYTES);
  const fixed = ALONE_BYTES + threads * HANDLER_BYTES;
  const spare = divided - fixed - least;
  if (spare < 0) throw tooSmall({ bytes, origin }, (fixed + least) / DIVIDED, workers);

  const filled = Math.min(1, spare / (most - least));
  const within = (part: Part): number => Math.floor(part.least + (part.most - part.least) * filled);
  const bounds = Object.fromEntries(PART_NAMES.map((name) => [name, within(parts[name])])) as Record<PartName, number>;
  const sentBytes = within({ least: LEAST_SENT_BYTES, most: MOST_SENT_BYTES });
  const left = Math.max(0, spare - (most - least));
  const usualHeap = within({ least: LEAST_HEAP_BYTES, most: USUAL_HEAP_BYTES });
  const heapBytes = Math.min(MOST_HEAP_BYTES, usualHeap + Math.floor(left / threads));
  const data = PART_NAMES.reduce((all, name) => all + bounds[name], 0);
  return {
    ...bounds,
    locationBytes: locationBytes ?? Math.floor(bounds.requestBytes / 2),
    workers,
    heapBytes,
    sentBytes,
    boundBytes: ALONE_BYTES + data + threads * (HANDLER_BYTES + heapBytes + sentBytes),
  };
}

function workersWithin(most: number, bytes: number, threadBytes: number): number {
  let workers = most;
  while (workers > 1 && threadsOf(workers) * threadBytes > bytes) workers--;
  return workers;
}

/** The requests of all locations may have at least what the operator allows to one. */
function partsFor(locationBytes: number | null): Readonly<Record<PartName, Part>> {
  const { least, most } = PARTS.requestBytes;
  const asked = locationBytes ?? 0;
  return { ...PARTS, requestBytes: { least: Math.max(least, asked), most: Math.max(most, asked) } };
}

const OF_ORIGIN: Readonly<Record<ProcessMemory["origin"], string>> = {
  option: "--memory-mb gives",
  "control group": "the control group of the process allows",
  machine: "the machine has",
};

function tooSmall({ bytes, origin }: ProcessMemory, neededBytes: number, workers: number): MemoryBudgetError {
  const needed = `${Math.ceil(neededBytes / MB)} MiB are needed with ${workers} ${workers === 1 ? "worker" : "workers"}`;
  const fix = "Give the process more memory, fewer --workers, or less --location-bytes.";
  return new MemoryBudgetError(`${OF_ORIGIN[origin]} ${Math.floor(bytes / MB)} MiB, and ${needed}. ${fix}`);
}
