/** A page of the booking application calls its handlers. */
// #region client
import { abortCode, createClient } from "#radical";

const client = createClient(); // a page's own origin; elsewhere { baseUrl: "https://booking.example.com" }
// #endregion

/** Null, or why there is no room. */
export async function book(hotel: string, date: string, guest: string): Promise<string | null> {
  // #region errors
  try {
    await client.book({ hotel, date, guest });
  } catch (error) {
    switch (abortCode(error, "book")) {
      case "sold_out":
        return "No room is left.";
      case "no_such_hotel":
        return "There is no such hotel.";
      default:
        throw error;
    }
  }
  // #endregion
  return null;
}
