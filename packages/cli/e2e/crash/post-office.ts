/**
 * Clients of the post office, whose letters are delivered by tasks. Each letter must be delivered once, and those of one box in the
 * order in which they were sent. A task dies exactly if there is nobody.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@radical/history";
import type { Deployment, Tasks } from "./deployment.ts";

/** Pause between two calls of a client: tasks run on the one worker that all share. */
const PAUSE_MS = 15;
const SENDERS = ["post-ann", "post-bob"];
const LATER_MS = 300;
const DAY_MS = 86_400_000;
const POLL_MS = 10;
/** Polls until all tasks have ended; far more than any correct server needs. */
const MOST_POLLS = 6_000;

interface Sending {
  readonly letter: string;
  readonly from: string;
  readonly count: number;
  readonly invokedAt: number;
  readonly answeredAt: number;
}

/** Calls a handler until it has an outcome. */
type Call = (
  handler: string,
  args: unknown,
) => Promise<{ readonly result: unknown; readonly invokedAt: number; readonly answeredAt: number }>;

export class PostOffice {
  readonly #deployment: Deployment;
  readonly #random: Random;
  readonly #call: Call;
  readonly #expectSame: (what: string, found: unknown, told: unknown) => void;
  /** Letters to nowhere, since the deployment was made: their tasks are dead. */
  #lost = 0;

  // Of this round.
  #box = "";
  #sent: Sending[] = [];
  #forwarded: string[] = [];
  readonly #scattered = new Map<string, number>();
  /** Letters that were taken back long before their time, and those that may have been delivered. */
  #recalled: string[] = [];
  #perhaps: string[] = [];

  constructor(
    deployment: Deployment,
    random: Random,
    call: Call,
    expectSame: (what: string, found: unknown, told: unknown) => void,
  ) {
    this.#deployment = deployment;
    this.#random = random;
    this.#call = call;
    this.#expectSame = expectSame;
  }

  /** With an empty box. */
  opens(): void {
    this.#box = `box-${randomUUID()}`;
    [this.#sent, this.#forwarded, this.#recalled, this.#perhaps] = [[], [], [], []];
    this.#scattered.clear();
  }

  /** The calls that each client makes again and again. */
  get clients(): readonly (() => Promise<void>)[] {
    return [...SENDERS.map((name) => () => this.#send(name)), () => this.#scatterOrForward()];
  }

  async #send(from: string): Promise<void> {
    await sleep(PAUSE_MS);
    const letter = letterOf();
    const count = this.#random.between(1, 2);
    const { invokedAt, answeredAt } = await this.#call("send", { from, box: this.#box, letter, count });
    this.#sent.push({ letter, from, count, invokedAt, answeredAt });
  }

  async #scatterOrForward(): Promise<void> {
    await sleep(PAUSE_MS);
    const letter = letterOf();
    const way = this.#random.below(20);
    if (way === 0) return this.#scatterMany(letter);
    if (way < 6) return this.#forward(letter);
    if (way < 9) return this.#lose(letter);
    if (way < 11) return this.#recall(letter, DAY_MS, this.#recalled);
    // Its task may be gone, or under way.
    if (way < 13) return this.#recall(letter, 0, this.#perhaps);
    const count = this.#random.between(1, 3);
    if (way < 16) await this.#call("scatter", { letter, count });
    else await this.#call("scatterLater", { letter, count, delay: this.#random.pick([0, LATER_MS]) });
    this.#scattered.set(letter, count);
  }

  async #scatterMany(letter: string): Promise<void> {
    const { result } = await this.#call("scatterMany", { letter });
    this.#scattered.set(letter, result as number);
  }

  async #forward(letter: string): Promise<void> {
    await this.#call("forward", { box: this.#box, letter });
    this.#forwarded.push(letter);
  }

  async #lose(letter: string): Promise<void> {
    await this.#call("sendToNowhere", { letter });
    this.#lost++;
  }

  async #recall(letter: string, delay: number, into: string[]): Promise<void> {
    const { result: task } = await this.#call("sendLate", { letter, delay });
    await this.#call("recall", { task, letter });
    into.push(letter);
  }

  // ── What must hold ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** One letter of each kind is on its way, so that a task that blocks others shows. */
  async check(): Promise<void> {
    await this.#send(SENDERS[0]!);
    await this.#scatterMany(letterOf());
    await this.#forward(letterOf());
    await this.#lose(letterOf());
    await this.#recall(letterOf(), DAY_MS, this.#recalled);
    await this.#recall(letterOf(), 0, this.#perhaps);
    const tasks = await this.#tasksAtRest();
    this.#expectSame(`tasks that are left of ${JSON.stringify(tasks)}`, tasks?.all ?? null, this.#lost);
    const { result: wrong } = await this.#call("wrongRounds", {});
    this.#expectSame("rounds by the schedule that came again, and that did not come", wrong, [0, 0]);

    const passed = `${this.#box}/passed`;
    const { result } = await this.#call("lettersOf", { names: [this.#box, passed, "nowhere"] });
    const [delivered = [], forwarded = [], nowhere = []] = result as string[][];
    this.#expectSame("letters that were passed on", forwarded, this.#forwarded);
    this.#expectSame("letters to nowhere", nowhere, []);
    await this.#checkBox(delivered);
    await this.#checkRecalled();
    for (const [letter, count] of this.#scattered) {
      const { result: found } = await this.#call("scattered", { letter });
      this.#expectSame(`boxes that have ${letter}, and that have it once`, found, [count, count]);
    }
  }

  async #checkRecalled(): Promise<void> {
    const names = (letters: readonly string[]): readonly string[] => letters.map((letter) => `${letter}.0`);
    const { result: kept } = await this.#call("lettersOf", { names: names(this.#recalled) });
    this.#expectSame(
      "letters that were taken back",
      kept,
      this.#recalled.map(() => []),
    );
    const { result: some } = await this.#call("lettersOf", { names: names(this.#perhaps) });
    const doubled = (some as string[][]).filter(({ length }) => length > 1);
    this.#expectSame("letters that were taken back late, and came twice", doubled, []);
  }

  /** All that wait for nobody have ended: those that are left are dead. */
  async #tasksAtRest(): Promise<Tasks | undefined> {
    let tasks: Tasks | undefined;
    for (let poll = 0; poll < MOST_POLLS; poll++) {
      tasks = (await this.#deployment.load())?.tasks;
      // The task of a tick comes and goes.
      if (tasks !== undefined && tasks.ready + tasks.running + tasks.delayed === 0 && tasks.all === this.#lost) break;
      await sleep(POLL_MS);
    }
    return tasks;
  }

  /** The order of the box is that of the transactions: by answers, and by the log of each sender. */
  async #checkBox(delivered: readonly string[]): Promise<void> {
    const letters = [...new Set(delivered.map((text) => text.slice(0, text.indexOf("."))))];
    const sendings = new Map(this.#sent.map((sending) => [sending.letter, sending]));
    const wanted = letters.flatMap((letter) => {
      const count = sendings.get(letter)?.count ?? 0;
      return Array.from({ length: count }, (_, n) => `${letter}.${n}`);
    });
    this.#expectSame("letters in their order", delivered, wanted);
    this.#expectSame("letters", letters.toSorted(), [...sendings.keys()].toSorted());
    const inOrder = letters.flatMap((letter) => sendings.get(letter) ?? []);
    for (const [place, { letter, invokedAt }] of inOrder.entries()) {
      const early = inOrder.slice(place + 1).filter(({ answeredAt }) => answeredAt < invokedAt);
      this.#expectSame(`letters behind ${letter}, that were sent before it`, early, []);
    }
    for (const from of SENDERS) {
      const { result } = await this.#call("lettersFrom", { name: from });
      const own = inOrder.filter((sending) => sending.from === from).map(({ letter }) => letter);
      this.#expectSame(`letters of ${from}`, own, (result as string[]).slice(-own.length || Infinity));
    }
  }
}

function letterOf(): string {
  return `letter-${randomUUID().slice(0, 13)}`;
}
