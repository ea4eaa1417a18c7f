/** Services: functions of the Worker that handlers ask for. `src/worker.ts` has them. The bank knows a payment by the id of its booking. */

/** Holds money on a card until it is taken or given back, and gives a receipt. `card` is a token of the bank, never a number.
 *  @service keyWindow=24h */
export declare function hold(booking: string, card: string, cents: i32): string;

/** Takes the money that is held.
 *  @service keyWindow=24h */
export declare function capture(booking: string): void;

/** Gives the money back, whether it is held or taken. Does nothing if there is none.
 *  @service keyWindow=24h */
export declare function refund(booking: string): void;

/** @service */
export declare function sendMail(to: string, subject: string, text: string): void;
