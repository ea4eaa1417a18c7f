/**
 * A bank and a post office that are neither: put your own in their place in `src/worker.ts`, and leave the handlers as they are. They
 * keep what they did in memory, and forget it with the Worker. Like real ones they know keys, so a repeat does nothing again.
 *
 * The card decides how the bank answers: `good` has money, `declined` has none, and with `forgetful` the first answer gets lost. With
 * `blocked` the bank holds the money, and later does not give it.
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
  readonly card: string;
  readonly cents: number;
  state: "held" | "captured" | "refunded";
}

type RefusedClass = new (code: string, message: string) => Error;

const CARDS: ReadonlySet<string> = new Set(["good", "forgetful", "blocked"]);

/** `Refused` is the class by which a service says no for good. A Worker has it from `radical:worker`, a test from `@radical/cli/testing`. */
export function openFakes(Refused: RefusedClass) {
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
      if (!CARDS.has(card)) throw new Refused("no_such_card", "The bank knows no such card.");
      const isNew = isFirst(key);
      if (isNew) {
        accounts.set(booking, { card, cents, state: "held" });
        ledger.push({ kind: "hold", booking, cents });
      }
      // It is done, and nobody hears of it. The next call has the same key.
      if (isNew && card === "forgetful") throw new Error("The connection to the bank broke.");
      return `receipt ${key.slice(0, 8)}`;
    },

    capture({ booking }: { booking: string }): void {
      const account = accounts.get(booking);
      if (account?.state !== "held") return;
      if (account.card === "blocked") throw new Refused("card_blocked", "The bank has blocked the card.");
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

/** Variables of the Worker by which it knows where it runs. */
export interface FakeBindings {
  /** `radical dev` sets it to "1", unless `--host` opens it to other machines. */
  readonly RADICAL_LOOPBACK_ORIGINS?: string;
  /** "1": whoever deploys this wants the fakes. */
  readonly FAKE_SERVICES?: string;
}

interface DeployedCall extends Call {
  readonly env: FakeBindings;
}

/**
 * The fakes, which refuse outside of `radical dev`: nobody should take them for a bank. A refund does nothing there, since nothing is
 * held, so `reserve` can undo itself.
 */
export function onlyInDev(
  { hold, capture, refund, sendMail }: ReturnType<typeof openFakes>["services"],
  Refused: RefusedClass,
) {
  const guarded =
    <Args, Result>(service: (args: Args, call: Call) => Result) =>
    (args: Args, call: DeployedCall): Result => {
      const { RADICAL_LOOPBACK_ORIGINS: beside, FAKE_SERVICES: wanted } = call.env;
      if (beside === "1" || wanted === "1") return service(args, call);
      throw new Refused(
        "fake_services",
        "This application has a fake bank and a fake post office. Give createRadical in src/worker.ts real services in place of src/fakes.ts, or set the variable FAKE_SERVICES to 1.",
      );
    };
  return { hold: guarded(hold), capture: guarded(capture), refund, sendMail: guarded(sendMail) };
}
