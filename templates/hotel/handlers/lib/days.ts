/** Days of the calendar, written `2026-12-24`, and counted from 1970-01-01. */
import { abort } from "@radical/sdk";

export const DAY_MS: i64 = 86_400_000;

/** Aborts with 400 unless `text` is a day of the years 1970 to 9999. */
export function dayNumber(text: string): i32 {
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  const written = text.length == 10 && text.charAt(4) == "-" && text.charAt(7) == "-";
  if (!written || year < 1970 || month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) {
    abort(400, "bad_day", `"${text}" is no day: write it like 2026-12-24.`);
  }
  let count = (year - 1970) * 365 + leapYearsBefore(year) - leapYearsBefore(1970) + day - 1;
  for (let before = 1; before < month; before++) count += daysOfMonth(year, before);
  return count;
}

/** The day of a time, in UTC. */
export function dayText(time: i64): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The number written in `count` characters from `start`, or -1. */
function digits(text: string, start: i32, count: i32): i32 {
  let value = 0;
  for (let i = start; i < start + count; i++) {
    if (i >= text.length) return -1;
    const code = text.charCodeAt(i);
    if (code < 48 || code > 57) return -1;
    value = value * 10 + code - 48;
  }
  return value;
}

function daysOfMonth(year: i32, month: i32): i32 {
  if (month == 2) return leapYearsBefore(year + 1) - leapYearsBefore(year) + 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

function leapYearsBefore(year: i32): i32 {
  const last = year - 1;
  return last / 4 - last / 100 + last / 400;
}
