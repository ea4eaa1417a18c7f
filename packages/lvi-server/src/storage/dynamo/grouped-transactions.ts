/**
 * Transactions that don't depend on each other: while many are under way, those that wait go several in one request. A small
 * transaction costs more for being a request than for its items, here and at DynamoDB Local, and a server that starts on
 * thousands of pending intents completes them all at once.
 *
 * Nobody shares the fate of a neighbour. A group takes effect as a whole or not at all, and if it did not, each is sent
 * alone and has its own answer. Who is not kept waiting by others is sent alone, at once.
 */
import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { StorageError } from "../storage.ts";
import type { Met } from "./dynamo.ts";
import { type Item, MAX_ACTIONS, MAX_TRANSACTION_BYTES, sizeOfItem } from "./limits.ts";

/** As `Dynamo.transact`. */
type Transact = (actions: readonly TransactWriteItem[]) => Promise<readonly (Met | null)[] | null>;

export interface GroupBounds {
  /** Most requests under way; the next transaction waits. */
  readonly width: number;
  /** Most transactions of one request: the more, the longer each of them takes. */
  readonly size: number;
}

/** Four of 16 each is more than a table on demand begins with, and takes a third less of DynamoDB Local's time than 16 of eight. */
const DEFAULT_BOUNDS: GroupBounds = { width: 4, size: 16 };

interface Waiting {
  readonly actions: readonly TransactWriteItem[];
  readonly bytes: number;
  readonly resolve: (failed: readonly (Met | null)[] | null) => void;
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

  /** As `Dynamo.transact`, of puts and deletes. */
  transact(actions: readonly TransactWriteItem[]): Promise<readonly (Met | null)[] | null> {
    let bytes = 0;
    for (const action of actions) bytes += sizeOfItem(subjectOf(action));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ actions, bytes, resolve, reject });
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
    let [actions, bytes] = [0, 0];
    for (const next of this.#waiting) {
      actions += next.actions.length;
      bytes += next.bytes;
      if (group.length > 0 && (actions > MAX_ACTIONS || bytes > MAX_TRANSACTION_BYTES)) break;
      if (group.push(next) === this.#bounds.size) break;
    }
    this.#waiting.splice(0, group.length);
    return group;
  }

  async #sendTogether(group: readonly Waiting[]): Promise<void> {
    if (group.length > 1) {
      try {
        if ((await this.#transact(group.flatMap(({ actions }) => actions))) === null) {
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
    await Promise.all(group.map(({ actions, resolve, reject }) => this.#transact(actions).then(resolve, reject)));
  }
}

function subjectOf({ Put, Delete }: TransactWriteItem): Item {
  return Put?.Item ?? Delete?.Key ?? {};
}
