import { Table, abort, now } from "@radical/sdk";

export class Seat {
  holder: string = "";
  /** Milliseconds since 1970. Before that time nobody else may buy the seat. */
  heldUntil: i64 = 0;
  isSold: bool = false;
}

const seats = new Table<Seat>("seats");

/** Whether somebody may hold or buy the seat. A hold that has expired counts for nothing. */
function isFreeFor(seat: Seat, who: string): bool {
  return !seat.isSold && (seat.heldUntil <= now() || seat.holder == who);
}

/** Keeps a seat for five minutes. Gives the time at which the hold expires. */
export function hold(id: string, who: string, ms: i64 = 300_000): i64 {
  if (ms < 0 || ms > 300_000) abort(400, "bad_time", "A hold lasts five minutes at most.");
  const seat = seats.get(id) ?? new Seat();
  if (!isFreeFor(seat, who)) abort(409, "taken", `Somebody else has the seat ${id}.`);
  seat.holder = who;
  seat.heldUntil = now() + ms;
  seats.put(id, seat);
  return seat.heldUntil;
}

export function buy(id: string, who: string): void {
  const seat = seats.get(id);
  if (seat == null || seat.holder != who || seat.heldUntil <= now()) {
    abort(409, "not_held", `Hold the seat ${id} first.`);
  }
  if (seat.isSold) return;
  seat.isSold = true;
  seats.put(id, seat);
}

export function isFree(id: string): bool {
  const seat = seats.get(id);
  return seat == null || isFreeFor(seat, "");
}
