/** A page names the types of the handlers. */
// #region names
import { createClient, Order, type SeatStatus } from "#radical";

const seats = await createClient().listSeats({ order: Order.Newest });
const statuses: SeatStatus[] = seats.map(({ status }) => status); // each is "free", "held" or "sold"
// #endregion

document.body.append(statuses.join());
