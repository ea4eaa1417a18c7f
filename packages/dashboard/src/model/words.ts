/** Paths, reasons and times in words. */
import { prefixEnd, spanOf } from "@radical/protocol";
import type { Call } from "./join.ts";
import { placeName } from "./places.ts";

export interface PathWords {
  /** ● confirmed, ◐ waited first, ○ ran there, ▲ the cache was old, ✕ failed. */
  readonly shape: "full" | "half" | "ring" | "triangle" | "cross";
  readonly side: "here" | "there" | "fail";
  readonly words: string;
}

const REASONS: Readonly<Record<string, PathWords>> = {
  valid: { shape: "full", side: "here", words: "confirmed" },
  doubted: { shape: "half", side: "here", words: "waited first" },
  unchanged: { shape: "full", side: "here", words: "leased" },
  plan: { shape: "ring", side: "there", words: "by its plan" },
  "no-set": { shape: "ring", side: "there", words: "no set found" },
  undeclared: { shape: "ring", side: "there", words: "left its set" },
  long: { shape: "ring", side: "there", words: "long run" },
  missing: { shape: "ring", side: "there", words: "not cached" },
  stale: { shape: "triangle", side: "there", words: "stale" },
  hot: { shape: "triangle", side: "there", words: "hot" },
  stored: { shape: "ring", side: "there", words: "answered before" },
  suspended: { shape: "ring", side: "there", words: "suspended" },
  "impossible-reply": { shape: "ring", side: "there", words: "wrong reply" },
};

export function pathWords({ life }: Call): PathWords {
  if (life.path === null) return { shape: "cross", side: "fail", words: life.code ?? "no answer" };
  const known = life.reason === null ? undefined : REASONS[life.reason];
  const words = known ?? { shape: "ring", side: "there", words: life.reason ?? life.path };
  return life.code === null ? words : { ...words, side: "fail", words: life.code };
}

export function isHere({ life }: Call): boolean {
  return life.path === "speculative" || life.path === "leased";
}

/** One or two sentences: what happened, and why. */
export function sentenceOf(call: Call): string {
  const { life, primary } = call;
  const place = placeName(life.place);
  const unit = primary?.because?.unit ?? life.units.find(([, mode, had]) => mode !== "write" && had === null)?.[0];
  const waited = primary?.waited[0];
  const behind =
    waited === undefined ? "" : ` At the primary it waited ${ms(waited[2])} ms for ${unitWords(waited[0])}.`;
  if (life.path === null && life.attempt === 0)
    return `${place} refused it before anything ran: ${life.code ?? "no reason is known"}. Nothing was asked.`;
  if (life.path === null)
    return `There is no outcome: ${life.code ?? "the location did not answer"}.${
      life.code === "primary_unreachable" ? ` ${place} could not ask the primary. Nothing stale was answered.` : ""
    }`;
  switch (life.reason) {
    case "valid":
      return `It ran in ${place} while one message asked the primary whether what it read is still true. It was. You waited for the longer of the two.${behind}`;
    case "doubted":
      return `The cache of ${place} was likely to be old, so it asked the primary first. What it read was still true, and it ran there.${behind}`;
    case "unchanged":
      return `It ran in ${place}, and nothing was asked: the primary had lent all that it read.`;
    case "plan":
      return `Its plan is to run at the primary. ${place} sent it there.${behind}`;
    case "no-set":
      return `Nobody could say what it reads before it ran. So it ran at the primary.${behind}`;
    case "undeclared":
      return `In ${place} it touched an item outside of its set. So it ran at the primary.${behind}`;
    case "long":
      return `It used up the fuel of a run in ${place}. So it ran at the primary.${behind}`;
    case "missing":
      return `${place} did not have ${unitWords(unit)} in its cache. So it ran at the primary, whose reply brought the item along.${behind}`;
    case "stale":
      return `${place} had an old version of ${unitWords(unit)}. So it ran at the primary, whose reply brought the new one along.${behind}`;
    case "hot":
      return `${unitWords(unit)} was old here time after time, so ${place} did not run it. The primary ran it.${behind}`;
    case "stored":
      return `It was carried out before. This is the same answer again.`;
    case "suspended":
      return `Two runs of this build have differed, so it runs at the primary only.${behind}`;
    default:
      return `It ran at the primary.${behind}`;
  }
}

/** The gate is not an item, so that its name is not shown. */
function unitWords(unit: string | undefined): string {
  if (unit === undefined) return "an item";
  return unit === "" ? "its turn to run alone" : shortUnit(unit);
}

/** An item by its name, a range of rows by what their keys begin with, or by its bounds. */
export function unitText(unit: string): string {
  const span = spanOf(unit);
  if (span === null) return unit;
  const { table, kind, lo, hi } = span;
  const range = hi === prefixEnd(lo) || (lo === "" && hi === "") ? `${lo}…` : `${lo} … ${hi}`;
  return `${kind === "count" ? "number of " : ""}${table}/${range}`;
}

/** `posts/01926f…0005`. */
export function shortUnit(name: string): string {
  const unit = unitText(name);
  const slash = unit.indexOf("/");
  const [table, key] = [unit.slice(0, slash + 1), unit.slice(slash + 1)];
  return key.length <= 18 ? unit : `${table}${key.slice(0, 6)}…${key.slice(-5)}`;
}

/** An epoch is a time in seconds. */
const EPOCHS_SHOWN = 10_000;

/** `3211·1441`: the end of the epoch, which tells the servers of a development apart, and the sequence. */
export function commitWords(commit: string | null): string {
  if (commit === null) return "nothing";
  const [epoch = "", sequence = ""] = commit.split("-");
  const [e, s] = [Number.parseInt(epoch, 16), Number.parseInt(sequence, 16)];
  return e === 0 && s === 0 ? "absent" : `${e % EPOCHS_SHOWN}·${s}`;
}

/** Microseconds as milliseconds. A location counts whole ones: what it finds to be none is less than one. */
export function ms(us: number): string {
  const value = us / 1_000;
  return value >= 99.95 ? value.toFixed(0) : value >= 0.05 ? value.toFixed(1) : "<1";
}

/** Microseconds at an axis: whole or short milliseconds, without the digits that a division adds. */
export function tickWords(us: number): string {
  return String(Number((us / 1_000).toPrecision(4)));
}

export function clock(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A date and a time of day, as people where the browser is write them. */
export function timeWords(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
