/** Orders about tasks or workflows: those that are named, or all of a kind, in parts, with outcomes that are told whatever happens. */
import type { PrimaryAddress } from "@radical/admin";
import { counted, loadProject } from "@radical/app";
import { CommandError, EXIT_FAILED, EXIT_USAGE, messageOf } from "@radical/app/command-error";
import { type ExecutionId, isExecutionId } from "@radical/protocol";
import { confirmed } from "../terminal/confirm-changes.ts";
import { createTerminal, print, type Terminal } from "../terminal/terminal.ts";
import { leadingPrimary, type PrimaryChoice } from "./leading-primary.ts";

export interface OperateOptions extends PrimaryChoice {
  readonly project: string;
  readonly json: boolean;
}

export interface OrderOptions extends OperateOptions {
  readonly handler?: string | null;
  readonly all?: boolean;
  readonly yes?: boolean;
}

type Noun = "task" | "workflow";

export interface Order<Outcome extends string> {
  readonly noun: Noun;
  readonly action: string;
  /** `discarding`. */
  readonly doing: string;
  /** `discarded`. */
  readonly done: string;
  /** Reasons why one stays as it is, with what to do. */
  readonly left: Readonly<Record<Exclude<Outcome, "done">, string>>;
  /** Null: all have to be named. */
  readonly many: Many | null;
  /** The most ids of one request. */
  readonly most: number;
  readonly send: (
    primary: PrimaryAddress,
    ids: readonly ExecutionId[],
  ) => Promise<readonly { readonly id: ExecutionId; readonly outcome: Outcome }[]>;
}

/** Those that `--handler` or `--all` names. */
export interface Many {
  /** `dead tasks`. */
  readonly words: string;
  /** The beginning of the question, `Discard`; null: nothing is asked. */
  readonly question: string | null;
  readonly find: (
    primary: PrimaryAddress,
    handler: string | null,
    signal: AbortSignal,
  ) => AsyncIterable<readonly ExecutionId[]>;
}

/** Throws a CommandError, after it has told the outcomes so far. */
export async function carryOut<Outcome extends string>(
  order: Order<Outcome>,
  given: readonly string[],
  options: OrderOptions,
  signal: AbortSignal,
): Promise<void> {
  const { handler = null } = options;
  const { noun, action, many } = order;
  const terminal = createTerminal({ quiet: options.json });
  const ids = [...new Set(given.map((text) => idOf(noun, text)))];
  if ((ids.length > 0 ? 1 : 0) + (handler !== null ? 1 : 0) + (options.all === true ? 1 : 0) !== 1)
    throw wrongUse(
      `radical ${noun}s ${action} takes the ids of ${noun}s${many === null ? "" : ", or --handler, or --all"}.`,
      noun,
    );
  const primary = await primaryOf(options);
  const question = ids.length > 0 ? null : (many?.question ?? null);
  if (question !== null) {
    const which = `all ${many!.words}${handler === null ? "" : ` of ${handler}`}`;
    if (!(await confirmed(`${question} ${which}?`, options, terminal))) {
      terminal.note("Nothing was changed.");
      process.exitCode = EXIT_FAILED;
      return;
    }
  }
  const found = ids.length > 0 ? [ids] : many!.find(primary, handler, signal);
  await sendParts(order, primary, found, { json: options.json, signal, terminal });
}

interface Sending {
  readonly json: boolean;
  readonly signal: AbortSignal;
  readonly terminal: Terminal;
}

/** Sends the order in parts, one after the other, and tells the outcomes, also those before a failure or Ctrl-C. */
export async function sendParts<Outcome extends string>(
  order: Order<Outcome>,
  primary: PrimaryAddress,
  found: Iterable<readonly ExecutionId[]> | AsyncIterable<readonly ExecutionId[]>,
  { json, signal, terminal }: Sending,
): Promise<void> {
  const outcomes = new Map<ExecutionId, Outcome>();
  const work = async (): Promise<void> => {
    for await (const ids of found) {
      for (let from = 0; from < ids.length && !signal.aborted; from += order.most)
        // oxlint-disable-next-line no-await-in-loop -- one part after the other
        for (const { id, outcome } of await order.send(primary, ids.slice(from, from + order.most)))
          outcomes.set(id, outcome);
    }
  };
  const label = (): string => `${order.doing} ${order.noun}s${outcomes.size === 0 ? "" : `: ${outcomes.size}`}`;
  let failure: Error | null = null;
  try {
    await terminal.during(label, work());
  } catch (error) {
    // The signal breaks requests off.
    if (!signal.aborted) failure = error instanceof Error ? error : new Error(messageOf(error));
    if (failure !== null && outcomes.size === 0) throw failure;
  }
  tell(order, outcomes, { isStopped: signal.aborted, failure, json }, terminal);
}

interface End {
  readonly isStopped: boolean;
  readonly failure: Error | null;
  readonly json: boolean;
}

/** Throws the failure, behind what was done. */
function tell<Outcome extends string>(
  { noun, action, done: doneWords, left: reasons }: Order<Outcome>,
  outcomes: ReadonlyMap<ExecutionId, Outcome>,
  { isStopped, failure, json }: End,
  terminal: Terminal,
): void {
  const results = Array.from(outcomes, ([id, outcome]) => ({ id, outcome }));
  const left = results.filter(({ outcome }) => outcome !== "done");
  if (left.length > 0 || isStopped || failure !== null) process.exitCode = EXIT_FAILED;
  if (json) {
    const { code, hint } =
      failure instanceof CommandError
        ? failure
        : { code: "order_failed", hint: `See radical ${noun}s list, and run the same command again.` };
    const error = failure === null ? {} : { error: { code, message: failure.message, hint } };
    return print(JSON.stringify({ action, results, stopped: isStopped, ...error }));
  }
  for (const { id, outcome } of left)
    terminal.note(`${terminal.style("red", "✗")} ${id} ${reasons[outcome as Exclude<Outcome, "done">]}`);
  const done = results.length - left.length;
  if (done > 0 || left.length === 0)
    terminal.note(`${terminal.style("green", "✓")} ${counted(done, noun)} ${doneWords}`);
  if (isStopped) terminal.note(`The command was told to stop: the other ${noun}s are as they were.`);
  if (failure !== null) throw failure;
}

export async function primaryOf(options: OperateOptions): Promise<PrimaryAddress> {
  return leadingPrimary(await loadProject(options.project), options);
}

/** Throws a CommandError. */
export function idOf(noun: Noun, text: string): ExecutionId {
  if (isExecutionId(text)) return text;
  throw wrongUse(`"${text}" is not the id of a ${noun}: that has 32 hexadecimal digits.`, noun);
}

function wrongUse(message: string, noun: Noun): CommandError {
  return new CommandError("usage", message, `radical ${noun}s list shows the ids.`, { exitCode: EXIT_USAGE });
}
