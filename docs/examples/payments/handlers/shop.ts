import { Table, enqueue, log } from "@radical/sdk";
import { charge, sendMail } from "../services";

const orders = new Table<string>("orders");

export function buy(order: string, card: string): void {
  orders.put(order, "open");
  enqueue(charge(order, card, 900), { key: order });
  enqueue(sendMail(card, "Order " + order), { key: order });
  enqueue(close(order), { key: order });
}

/** @internal */
export function close(order: string): void {
  orders.put(order, "closed");
  log("closed " + order);
}
