import { Table } from "@radical/sdk";

// #region names
export enum Order {
  ByName,
  Newest,
}

export type SeatStatus = "free" | "held" | "sold";

export class HallSeat {
  name: string = "";
  status: SeatStatus = "free";
}
// #endregion

const hall = new Table<HallSeat>("hall");

export function listSeats(order: Order = Order.ByName, most: i32 = 100): HallSeat[] {
  const found: HallSeat[] = [];
  const rows = order == Order.Newest ? hall.all().last(most) : hall.all().first(most);
  for (const row of rows) found.push(row.value);
  return found;
}
