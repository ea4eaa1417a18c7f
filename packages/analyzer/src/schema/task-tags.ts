/**
 * The tags for tasks in the doc comment of a handler:
 *
 *     /** @retry 5 *\/                                  a task is tried so often at most, the first time included
 *     /** @limit 10 100/s *\/                           so many tasks run at once, and so many begin in a time
 *     /** @cron 0 3 * * * Europe/Berlin *\/             the handler is called when these fields fit the time, in this zone
 *     /** @every 5m catchUp=3 overlap=skip *\/          it is called in equal steps
 */
import {
  DEFAULT_CATCH_UP,
  durationMs,
  MAX_CATCH_UP,
  MAX_EVERY_MS,
  MAX_TASK_ATTEMPTS,
  MAX_TASK_RATE,
  MAX_TASKS_RUNNING,
  MIN_EVERY_MS,
  type Overlap,
  OVERLAPS,
  type Schedule,
  type TaskLimit,
} from "@radical/protocol";

/** A schedule as its tag says it. */
export type WrittenSchedule = Schedule extends infer One
  ? One extends Schedule
    ? Omit<One, "parameter">
    : never
  : never;

/** The tries that `@retry` allows, or the mistake in it. */
export function readRetry(words: readonly string[]): number | string {
  const [count, ...more] = words;
  const attempts = wholeNumber(count, 1, MAX_TASK_ATTEMPTS);
  return attempts === null || more.length > 0
    ? `The tag @retry needs the number of tries, from 1 to ${MAX_TASK_ATTEMPTS}: \`@retry 5\`.`
    : attempts;
}

/** The limit that `@limit` states, or the mistake in it. */
export function readLimit(words: readonly string[]): TaskLimit | string {
  const wrong =
    "The tag @limit needs how many tasks run at once, how many begin in a time, or both: `@limit 10`, `@limit 100/s`, `@limit 10 100/s`.";
  let running: number | null = null;
  let rate: TaskLimit["rate"] = null;
  for (const word of words) {
    const [, counted, time] = /^(\d+)\/(\d*[smhd])$/.exec(word) ?? [];
    if (counted === undefined || time === undefined) {
      const count = wholeNumber(word, 1, MAX_TASKS_RUNNING);
      if (count === null || running !== null) return wrong;
      running = count;
      continue;
    }
    const count = wholeNumber(counted, 1, MAX_TASK_RATE);
    const perMs = durationMs(/^\d/.test(time) ? time : `1${time}`);
    if (count === null || perMs === null || perMs > MAX_EVERY_MS || rate !== null) return wrong;
    rate = { count, perMs };
  }
  return running === null && rate === null ? wrong : { running, rate };
}

/** The schedule that `@every` states, or the mistake in it. */
export function readEvery(words: readonly string[]): WrittenSchedule | string {
  const [time = "", ...more] = words;
  const everyMs = durationMs(time);
  if (everyMs === null || everyMs < MIN_EVERY_MS || everyMs > MAX_EVERY_MS)
    return "The tag @every needs a time from `1s` to `366d`: a number with `s`, `m`, `h` or `d`, as in `@every 5m`.";
  const policies = readPolicies(more);
  return typeof policies === "string" ? policies : { kind: "every", everyMs, ...policies };
}

/** The schedule that `@cron` states, or the mistake in it. */
export function readCron(words: readonly string[]): WrittenSchedule | string {
  const fields = words.slice(0, FIELDS.length);
  if (fields.length < FIELDS.length)
    return "The tag @cron needs five fields: minute, hour, day, month and day of the week, as in `@cron 0 3 * * *`.";
  for (const [index, field] of fields.entries()) {
    const { name, ...range } = FIELDS[index]!;
    if (!isField(field, range))
      return `The field \`${field}\` of @cron is not a ${name}: numbers from ${range.first} to ${range.last}, such as \`${range.first}\`, \`${range.first}-${range.last}/2\`, \`${range.first},${range.last}\` or \`*\`.`;
  }
  const [next, ...others] = words.slice(FIELDS.length);
  const hasZone = next !== undefined && !next.includes("=");
  if (hasZone && !isZone(next))
    return `The time zone ${next} of @cron does not exist: write a name such as \`Europe/Berlin\`.`;
  if (!fitsSomeDay(fields))
    return `The fields \`${fields.join(" ")}\` of @cron fit no day: none of these months has so many days.`;
  const policies = readPolicies(hasZone ? others : words.slice(FIELDS.length));
  if (typeof policies === "string") return policies;
  return { kind: "cron", fields: fields.join(" "), zone: hasZone ? next : "UTC", ...policies };
}

function readPolicies(words: readonly string[]): { readonly catchUp: number; readonly overlap: Overlap } | string {
  let catchUp = DEFAULT_CATCH_UP;
  let overlap: Overlap = "wait";
  for (const word of words) {
    const [, name, value = ""] = /^(\w+)=(\w+)$/.exec(word) ?? [];
    const count = wholeNumber(value, 0, MAX_CATCH_UP);
    const known = OVERLAPS.find((one) => one === value);
    if (name === "catchUp" && count !== null) catchUp = count;
    else if (name === "overlap" && known !== undefined) overlap = known;
    else
      return `A schedule does not know \`${word}\`: write \`catchUp=0\` to \`catchUp=${MAX_CATCH_UP}\` for missed ticks, and \`overlap=${OVERLAPS.join("|")}\`.`;
  }
  if (overlap === "skip" && catchUp > 1)
    return `With overlap=skip at most one tick is made up for, since the next would run beside it: write catchUp=1 instead of catchUp=${catchUp}, or overlap=wait.`;
  return { catchUp, overlap };
}

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a month of the fields has a day of the fields. */
function fitsSomeDay([, , day = "", month = "", weekday = ""]: readonly string[]): boolean {
  // A day of the week fits too.
  if (weekday !== "*" && !weekday.startsWith("*/")) return true;
  const [days, months] = [valuesOf(day, FIELDS[2]!), valuesOf(month, FIELDS[3]!)];
  return months.some((each) => days.some((date) => date <= LONGEST_MONTHS[each - 1]!));
}

/** All values that a field fits. */
function valuesOf(field: string, range: FieldRange): readonly number[] {
  return field.split(",").flatMap((part) => {
    const [bounds = "", step = "1"] = part.split("/");
    const [from = "", to = from] = bounds === "*" ? [String(range.first), String(range.last)] : bounds.split("-");
    const [first, last] = [valueOf(from, range) ?? range.first, valueOf(to, range) ?? range.last];
    return Array.from({ length: Math.floor((last - first) / Number(step)) + 1 }, (_, at) => first + at * Number(step));
  });
}

interface FieldRange {
  readonly first: number;
  readonly last: number;
  readonly words?: readonly string[];
}

const FIELDS: readonly (FieldRange & { readonly name: string })[] = [
  { name: "minute", first: 0, last: 59 },
  { name: "hour", first: 0, last: 23 },
  { name: "day", first: 1, last: 31 },
  {
    name: "month",
    first: 1,
    last: 12,
    words: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  },
  { name: "day of the week", first: 0, last: 7, words: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/** `*`, `3`, `MON-FRI`, `0-59/5`, and lists of these. */
function isField(field: string, range: FieldRange): boolean {
  return field.split(",").every((part) => {
    const [, from = "", to, step] = /^([^-/]+)(?:-([^-/]+))?(?:\/(\d+))?$/.exec(part) ?? [];
    if (step !== undefined && wholeNumber(step, 1, range.last) === null) return false;
    if (from === "*") return to === undefined;
    const [first, last] = [valueOf(from, range), to === undefined ? null : valueOf(to, range)];
    if (first === null || (to !== undefined && (last === null || last < first))) return false;
    return step === undefined || to !== undefined;
  });
}

function valueOf(text: string, { first, last, words = [] }: FieldRange): number | null {
  const word = words.indexOf(text.toLowerCase());
  return word >= 0 ? first + word : wholeNumber(text, first, last);
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

function wholeNumber(text: string | undefined, least: number, most: number): number | null {
  if (text === undefined || !/^\d{1,12}$/.test(text)) return null;
  const value = Number(text);
  return value >= least && value <= most ? value : null;
}
