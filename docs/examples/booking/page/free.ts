/** A page of the booking application shows how many rooms are free, as long as it is open. */

const rooms = document.querySelector("output")!;
const banner = document.querySelector("aside")!;
const date = document.querySelector("input")!.value;

function show(free: number): void {
  rooms.textContent = String(free);
}

// #region live
import { createClient } from "#radical";

const client = createClient({ baseUrl: "https://booking.example.com" });
for await (const free of client.live.free({ hotel: "Ritz", date })) show(free);
// #endregion

// #region close
const live = client.live.free({ hotel: "Ritz", date }, { onStale: (isStale) => (banner.hidden = !isStale) });
for await (const free of live) show(free);
// elsewhere
live.close();
// #endregion
