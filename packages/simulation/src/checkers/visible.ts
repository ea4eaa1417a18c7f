/**
 * Checks of everything that clients can tell by themselves. These checkers know the programs' meaning, the questions, the
 * answers and their order. They know nothing of versions, storage or the protocol. They need not find every mistake. But
 * each of their findings is one, whatever the reasoning of the other checkers.
 */
import { contains, splitUnit, type UnitId } from "@radical/protocol";
import type { Operation } from "../history.ts";
import {
  INITIAL_BALANCE,
  MOST_SEATS,
  MOST_STOCK,
  type ProgramName,
  queryOf,
  TOTAL_BALANCE,
  toldBy,
} from "../programs.ts";

/** One execution as its client knows it. */
interface Call {
  readonly name: string;
  readonly program: ProgramName;
  readonly units: readonly UnitId[];
  readonly amount: number;
  /** When it was first asked for, and first answered. */
  readonly from: number;
  until: number;
  /** Null: nothing is known. */
  told: { readonly kind: "result" | "abort" | "trap"; readonly result: string } | null;
}

/** The violations, in words; empty if there are none. */
export function checkVisible(history: readonly Operation[]): readonly string[] {
  const calls = new Map<string, Call>();
  for (const { name, executionId, program, units, amount, invokedAt, answeredAt, outcome } of history.toSorted(
    (a, b) => a.invokedAt - b.invokedAt,
  )) {
    let call = calls.get(executionId);
    if (call === undefined) {
      call = { name, program, units, amount, from: invokedAt, until: Infinity, told: null };
      calls.set(executionId, call);
    }
    if (answeredAt === null || outcome === null) continue;
    call.until = Math.min(call.until, answeredAt);
    call.told ??= toldBy(outcome);
  }
  const all = [...calls.values()];
  const of = (...programs: ProgramName[]): Call[] => all.filter(({ program }) => programs.includes(program));
  return [
    ...checkRegisters(of("write", "swap", "fetch")),
    ...checkLists(of("append", "lists")),
    ...checkLists(of("compute", "grind", "results")),
    ...checkSet(of("add", "members")),
    ...checkBank(of("transfer", "audit")),
    ...checkTickets(of("ticket")),
    ...checkSlots(of("book", "free")),
    ...checkSeats(of("seated")),
    ...checkStock(of("stocktake", "stocktakeByRows")),
    ...checkPages(
      of("insert", "drop", "move", "page", "pageRecorded", "pageOpaque", "pageAndPut", "hookedPage", "shift", "tally"),
    ),
  ];
}

const isDone = ({ told }: Call): boolean => told?.kind === "result";
/** Whether it had no effect for sure. */
const isRefused = ({ told }: Call): boolean => told !== null && told.kind !== "result";

/** The values read of a unit, "" for none: a program tells them in the order of its units. */
function readOf({ told, units }: Call, unit: UnitId): string | undefined {
  if (told?.kind !== "result") return undefined;
  return told.result.split("/")[units.indexOf(unit)];
}

function unitsOf(calls: readonly Call[]): ReadonlySet<UnitId> {
  return new Set(calls.flatMap(({ units }) => units));
}

/**
 * Registers are linearizable (Gibbons and Korach, 1997). The operations on one value, its write and its reads, span a zone
 * from the first answer to the last question. In a forward zone the register had the value all through it, so no two such
 * zones overlap. In a backward zone the value was there at some time, so it lies within no forward zone of another value.
 * Values are unique: their writers' names.
 */
function checkRegisters(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  for (const unit of unitsOf(calls)) {
    const firstAnswer = new Map<string, number>([["", 0]]);
    const lastQuestion = new Map<string, number>([["", 0]]);
    const written = new Map<string, Call>();
    const take = (value: string, { from, until }: Call): void => {
      firstAnswer.set(value, Math.min(firstAnswer.get(value) ?? Infinity, until));
      lastQuestion.set(value, Math.max(lastQuestion.get(value) ?? -Infinity, from));
    };
    for (const call of calls) {
      if (call.program === "fetch" || !call.units.includes(unit)) continue;
      written.set(call.name, call);
      if (isDone(call)) take(call.name, call);
    }
    const swapped = new Map<string, Call>();
    for (const call of calls) {
      const value = call.program === "write" || !call.units.includes(unit) ? undefined : readOf(call, unit);
      if (value === undefined) continue;
      const writer = written.get(value);
      if (value !== "" && (writer === undefined || isRefused(writer) || writer.from > call.until)) {
        problems.push(`${call.name} read ${unit}=${value}, which was not written`);
        continue;
      }
      // A write that was seen has happened, also if it was never answered.
      if (writer !== undefined) take(value, writer);
      take(value, call);
      if (call.program !== "swap") continue;
      const other = swapped.get(value);
      if (other !== undefined) problems.push(`${call.name} and ${other.name} both took ${unit}=${value} away`);
      swapped.set(value, call);
    }
    const zones = [...firstAnswer].map(([value, first]) => {
      const lastAt = lastQuestion.get(value)!;
      return { value, low: Math.min(first, lastAt), high: Math.max(first, lastAt), isForward: first < lastAt };
    });
    for (const a of zones) {
      if (!a.isForward) continue;
      for (const b of zones) {
        if (a === b) continue;
        const clash = b.isForward ? a.low < b.high && b.low < a.high : a.low < b.low && b.high < a.high;
        if (clash) problems.push(`${unit} can't have been ${a.value} and ${b.value} when it was read`);
      }
    }
  }
  return problems;
}

const APPENDERS: ReadonlySet<ProgramName> = new Set(["append", "compute", "grind"]);

/** Each element is in its list once, all readings are beginnings of the longest, and nobody sees less than was there. */
function checkLists(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  for (const unit of unitsOf(calls)) {
    const appends = new Map<string, Call>();
    const readings: { readonly call: Call; readonly elements: readonly string[] }[] = [];
    for (const call of calls) {
      if (APPENDERS.has(call.program) && call.units.includes(unit)) appends.set(call.name, call);
      const text = call.units.includes(unit) ? readOf(call, unit) : undefined;
      if (text !== undefined) readings.push({ call, elements: text === "" ? [] : text.split(" ") });
    }
    readings.sort((a, b) => a.elements.length - b.elements.length);
    for (const [i, { call, elements }] of readings.entries()) {
      const longer = readings[i + 1]?.elements;
      if (longer !== undefined && elements.some((element, at) => element !== longer[at]))
        problems.push(`${call.name} read ${unit} as what is no beginning of a longer reading`);
      if (new Set(elements).size !== elements.length) problems.push(`${call.name} read an element of ${unit} twice`);
      if (APPENDERS.has(call.program) && elements.at(-1) !== call.name)
        problems.push(`${call.name} appended to ${unit}, and its element is not the last`);
      problems.push(...checkElements(unit, call, elements, appends));
    }
    for (const earlier of readings) {
      for (const later of readings) {
        if (earlier.call.until < later.call.from && earlier.elements.length > later.elements.length)
          problems.push(`${later.call.name} read less of ${unit} than ${earlier.call.name} before it`);
      }
    }
  }
  return problems;
}

/** A reading has each element that was added before it began, and only elements whose adding had begun. */
function checkElements(
  what: string,
  reading: Call,
  elements: readonly string[],
  adders: ReadonlyMap<string, Call>,
): string[] {
  const problems: string[] = [];
  for (const element of elements) {
    const adder = adders.get(element);
    if (adder === undefined || isRefused(adder) || adder.from > reading.until)
      problems.push(`${reading.name} read ${element} in ${what}, where nobody had put it`);
  }
  for (const [name, adder] of adders) {
    if (isDone(adder) && adder.until < reading.from && !elements.includes(name))
      problems.push(`${reading.name} did not read ${name} in ${what}, which was there`);
  }
  return problems;
}

/** One set in several items: a reading has what was added before it, and what an earlier reading had. */
function checkSet(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  const adders = new Map<string, Call>();
  for (const call of calls) if (call.program === "add") adders.set(call.name, call);
  const readings = calls.flatMap((call) => {
    if (call.program !== "members" || call.told?.kind !== "result") return [];
    return [{ call, elements: call.told.result.split(/[ /]/).filter((element) => element !== "") }];
  });
  for (const { call, elements } of readings) {
    if (new Set(elements).size !== elements.length) problems.push(`${call.name} read an element of the set twice`);
    problems.push(...checkElements("the set", call, elements, adders));
    for (const other of readings) {
      if (call.until < other.call.from && elements.some((element) => !other.elements.includes(element)))
        problems.push(`${other.call.name} read less of the set than ${call.name} before it`);
    }
  }
  return problems;
}

/** Money is neither made nor lost, nobody owes any, and the end is what the transfers made of the beginning. */
function checkBank(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  const transfers = calls.filter(({ program }) => program === "transfer");
  for (const call of calls) {
    if (call.told?.kind !== "result") continue;
    const balances = call.told.result.split(" ").map(Number);
    if (balances.some((balance) => !(balance >= 0))) problems.push(`${call.name} saw a debt: ${call.told.result}`);
    if (call.program !== "audit") continue;
    let sum = 0;
    for (const balance of balances) sum += balance;
    if (sum !== TOTAL_BALANCE) problems.push(`${call.name} counted ${sum} instead of ${TOTAL_BALANCE}`);
    // Alone, after all that is known to have happened, or before: the balances are those of the transfers.
    if (!transfers.every(({ told, from, until }) => told !== null && (until < call.from || from > call.until)))
      continue;
    for (const [at, unit] of call.units.entries()) {
      let expected = INITIAL_BALANCE;
      for (const transfer of transfers) {
        if (!isDone(transfer) || transfer.until > call.from) continue;
        if (transfer.units[0] === unit) expected -= transfer.amount;
        if (transfer.units[1] === unit) expected += transfer.amount;
      }
      if (balances[at] !== expected)
        problems.push(`${call.name} saw ${balances[at]} in ${unit} instead of ${expected}`);
    }
  }
  return problems;
}

/** Each number is given once, none is left out but for those who were told nothing, and later is larger. */
function checkTickets(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  const holders = new Map<number, Call>();
  for (const call of calls) {
    if (call.told?.kind !== "result") continue;
    const number = Number(call.told.result);
    const other = holders.get(number);
    if (other !== undefined) problems.push(`${call.name} and ${other.name} both have ticket ${number}`);
    holders.set(number, call);
  }
  const unknown = calls.filter(({ told }) => told === null).length;
  const highest = Math.max(0, ...holders.keys());
  if (highest > holders.size + unknown)
    problems.push(`ticket ${highest} was given to ${holders.size + unknown} people`);
  for (const [number, call] of holders) {
    for (const [otherNumber, other] of holders) {
      if (call.until < other.from && number > otherNumber)
        problems.push(`${other.name} got ticket ${otherNumber} after ${call.name} had ${number}`);
    }
  }
  return problems;
}

/** A slot is somebody's from the answer to its booking until somebody asks to free it: never two people's at a time. */
function checkSlots(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  const bookings = calls.filter(({ program }) => program === "book");
  const frees = calls.filter(({ program }) => program === "free");
  const freed = new Map<string, Call>();
  for (const call of frees) {
    if (call.told?.kind !== "result") continue;
    const holder = bookings.find(({ name }) => name === call.told?.result);
    if (holder === undefined || isRefused(holder) || holder.units[0] !== call.units[0] || holder.from > call.until)
      problems.push(`${call.name} freed what ${call.told.result} did not have`);
    const other = freed.get(call.told.result);
    if (other !== undefined) problems.push(`${call.name} and ${other.name} both freed what ${call.told.result} had`);
    freed.set(call.told.result, call);
  }
  // Somebody who freed a slot and was told nothing may have freed anybody's.
  const heldUntil = ({ name, units }: Call): number =>
    Math.min(
      freed.get(name)?.from ?? Infinity,
      ...frees.filter(({ told, units: [unit] }) => told === null && unit === units[0]).map(({ from }) => from),
    );
  for (const [at, a] of bookings.entries()) {
    for (const b of bookings.slice(0, at)) {
      if (!isDone(a) || !isDone(b) || a.units[0] !== b.units[0]) continue;
      if (Math.max(a.until, b.until) < Math.min(heldUntil(a), heldUntil(b)))
        problems.push(`${a.name} and ${b.name} had ${a.units[0]} at the same time`);
    }
  }
  return problems;
}

const INSERTERS: ReadonlySet<ProgramName> = new Set(["insert", "pageAndPut", "hookedPage", "move"]);
const REMOVERS: ReadonlySet<ProgramName> = new Set(["drop", "shift", "move", "hookedPage"]);

/** Nobody gets a seat when all are taken. */
function checkSeats(calls: readonly Call[]): string[] {
  return calls.flatMap(({ name, told }) => {
    const seats = told?.kind === "result" && told.result !== "" ? told.result.split(" ") : [];
    return seats.length > MOST_SEATS ? [`${name} saw ${seats.length} people on ${MOST_SEATS} seats`] : [];
  });
}

/** The counter and the rows change together. */
function checkStock(calls: readonly Call[]): string[] {
  return calls.flatMap(({ name, told }) => {
    if (told?.kind !== "result") return [];
    const [left = Number.NaN, taken = Number.NaN] = told.result.split(" ").map(Number);
    if (left >= 0 && left + taken === MOST_STOCK) return [];
    return [`${name} saw ${left} left and ${taken} taken, of ${MOST_STOCK}`];
  });
}

/**
 * A row is on each page that it belongs to from the answer to its insert until somebody asks to remove it. A page that is as long
 * as its limit may leave rows of its range out.
 */
function checkPages(calls: readonly Call[]): string[] {
  const problems: string[] = [];
  const inserts = calls.flatMap((call) => {
    const at = call.program === "move" ? -1 : 0;
    return INSERTERS.has(call.program) ? [{ call, unit: call.units.at(at)! }] : [];
  });
  const removals = calls.filter(({ program }) => REMOVERS.has(program));
  for (const page of calls) {
    if (page.told?.kind !== "result" || !page.program.startsWith("page")) continue;
    const { limit, ...range } = queryOf(page);
    const rows = page.told.result === "" ? [] : page.told.result.split(" ").map((name) => decodeURI(name) as UnitId);
    for (const unit of rows)
      if (!inserts.some((insert) => insert.unit === unit && insert.call.from < page.until))
        problems.push(`${page.name} saw ${unit}, which nobody had inserted`);
    if (rows.length === limit) continue;
    for (const { call: insert, unit } of inserts) {
      if (!isDone(insert) || insert.until > page.from || rows.includes(unit)) continue;
      if (!contains(range, splitUnit(unit).key)) continue;
      // A shift may remove any row.
      const mayBeGone = removals.some(
        ({ program, units, from }) => (program === "shift" || units.includes(unit)) && from < page.until,
      );
      if (!mayBeGone) problems.push(`${page.name} did not see ${unit}, which ${insert.name} had inserted`);
    }
  }
  return problems;
}
