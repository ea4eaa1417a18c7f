/**
 * Commits that don't depend on each other: while many are under way, those that wait go several in one transaction. A small
 * transaction costs more for being a request than for its items, here and at DynamoDB Local, and a server that starts on
 * thousands of pending intents completes them all at once.
 *
 * No commit shares the fate of a neighbour. A group takes effect as a whole or not at all. If it did not, each of its
 * commits is sent alone and has its own answer. A commit that nothing keeps waiting is sent alone, at once.
 */
import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { StorageError } from "../storage.ts";
import type { Met } from "./dynamo.ts";
import { FENCE } from "./fences.ts";
import { fitsTransaction, together, type Weight, weightOf } from "./limits.ts";

/** Null: all of it was done. Else nothing was, and for each action stands what its condition met, if that failed. */
export type TransactionResult = readonly (Met | null)[] | "fenced" | null;

/** Of one commit. */
export interface GroupedTransaction {
  /** Of the server that sends it. */
  readonly epoch: number;
  readonly actions: readonly TransactWriteItem[];
  /** The records and units that it is about: no two transactions of one group share any. */
  readonly subjects: readonly string[];
  /** Its own conditions don't keep it from having an effect once another server serves. */
  readonly needsFence: boolean;
}

/** `fencedBy`: the epoch of the fence that it checks; null: it checks none. */
type Transact = (actions: readonly TransactWriteItem[], fencedBy: number | null) => Promise<TransactionResult>;

export interface GroupBounds {
  /** Most requests under way; the next transaction waits. */
  readonly width: number;
  /** Most transactions of one request: the more, the longer each of them takes. */
  readonly size: number;
}

/** Four of 16 each is more than a table on demand begins with, and takes a third less of DynamoDB Local's time than 16 of eight. */
const DEFAULT_BOUNDS: GroupBounds = { width: 4, size: 16 };

interface Waiting extends GroupedTransaction {
  readonly weight: Weight;
  readonly resolve: (result: TransactionResult) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupedTransactions {
  readonly #transact: Transact;
  readonly #bounds: GroupBounds;
  readonly #waiting: Waiting[] = [];
  #underWay = 0;

  constructor(transact: Transact, bounds: GroupBounds = DEFAULT_BOUNDS) {
    this.#transact = transact;
    this.#bounds = bounds;
  }

  transact(transaction: GroupedTransaction): Promise<TransactionResult> {
    const weight = weightOf(transaction.actions);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...transaction, weight, resolve, reject });
      this.#send();
    });
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.#bounds.width) {
      this.#underWay++;
      void this.#sendTogether(this.#nextGroup()).then(() => {
        this.#underWay--;
        this.#send();
      });
    }
  }

  /** Those that have waited for longest, as many as one transaction takes. */
  #nextGroup(): readonly Waiting[] {
    const group: Waiting[] = [];
    const subjects = new Set<string>();
    let weight = FENCE;
    for (const next of this.#waiting) {
      weight = together(weight, next.weight);
      const isApart = group[0]?.epoch === next.epoch && !next.subjects.some((subject) => subjects.has(subject));
      if (group.length > 0 && !(isApart && fitsTransaction(weight))) break;
      if (group.push(next) === this.#bounds.size) break;
      for (const subject of next.subjects) subjects.add(subject);
    }
    this.#waiting.splice(0, group.length);
    return group;
  }

  async #sendTogether(group: readonly Waiting[]): Promise<void> {
    if (group.length > 1) {
      try {
        const actions = group.flatMap((each) => each.actions);
        const fenced = group.find(({ needsFence }) => needsFence);
        if ((await this.#transact(actions, fenced?.epoch ?? null)) === null) {
          for (const { resolve } of group) resolve(null);
          return;
        }
      } catch (error) {
        if (!(error instanceof StorageError) || error.effect !== "none") {
          for (const { reject } of group) reject(error);
          return;
        }
      }
      // Nothing was done, and one of them is the reason.
    }
    await Promise.all(
      group.map(({ epoch, actions, needsFence, resolve, reject }) =>
        this.#transact(actions, needsFence ? epoch : null).then(resolve, reject),
      ),
    );
  }
}
