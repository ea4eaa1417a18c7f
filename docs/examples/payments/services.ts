/** Takes the money.
 *  @service keyWindow=24h */
export declare function charge(order: string, card: string, cents: i64): string;

/** @service once */
export declare function sendMail(to: string, subject: string): void;
