/**
 * A bank and a post office that are neither: put your own in their place, and leave `src/worker.ts` and the handlers as they are. They
 * keep what they did in memory, and forget it with the Worker. Like real ones they know keys, so a repeat does nothing again.
 *
 * The card decides how the bank answers: `good` has money, `declined` has none, and with `forgetful` the first answer gets lost.
 */

interface Call {
  /** All calls of one task have the same. */
  readonly key: string;
}

export interface Entry {
  readonly kind: "hold" | "capture" | "refund";
  readonly booking: string;
  readonly cents: number;
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

interface Account {
  readonly cents: number;
  state: "held" | "captured" | "refunded";
}

/** `Refused` is the class by which a service says no for good. A Worker has it from `radical:worker`, a test from `@radical/cli/testing`. */
export function openFakes(Refused: new (code: string, message: string) => Error) {
  /** Entries of the bank, in order. */
  const ledger: Entry[] = [];
  const mails: Mail[] = [];
  const accounts = new Map<string, Account>();
  const seen = new Set<string>();

  /** Whether this is the first call of a task. */
  function isFirst(key: string): boolean {
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  }

  const services = {
    hold({ booking, card, cents }: { booking: string; card: string; cents: number }, { key }: Call): string {
      if (card === "declined") throw new Refused("card_declined", "The bank declines the card.");
      if (card !== "good" && card !== "forgetful") throw new Refused("no_such_card", "The bank knows no such card.");
      const isNew = isFirst(key);
      if (isNew) {
        accounts.set(booking, { cents, state: "held" });
        ledger.push({ kind: "hold", booking, cents });
      }
      // It is done, and nobody hears of it. The next call has the same key.
      if (isNew && card === "forgetful") throw new Error("The connection to the bank broke.");
      return `receipt ${key.slice(0, 8)}`;
    },

    capture({ booking }: { booking: string }): void {
      const account = accounts.get(booking);
      if (account?.state !== "held") return;
      account.state = "captured";
      ledger.push({ kind: "capture", booking, cents: account.cents });
    },

    /** Nothing is done where nothing is held: it may be asked for money that the bank has refused. */
    refund({ booking }: { booking: string }): void {
      const account = accounts.get(booking);
      if (account === undefined || account.state === "refunded") return;
      account.state = "refunded";
      ledger.push({ kind: "refund", booking, cents: account.cents });
    },

    sendMail({ to, subject, text }: Mail, { key }: Call): void {
      if (isFirst(key)) mails.push({ to, subject, text });
    },
  };
  return { services, ledger, mails };
}
