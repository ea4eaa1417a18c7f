/** The reader's own doings with the things on the page, which the answers for everybody do not tell. */
import { forgetIfOver, me } from "./account.ts";
import { report } from "./actions.ts";

/** Asks for one thing. `put` gets the answer, once it is there; nobody is asked for a reader who is not logged in. */
export type Mine<Value> = (id: string, put: (value: Value) => void) => void;

/** Asks in one call for all things that the page begins to show at once. `ask` answers in their order. */
export function asked<Value>(ask: (ids: string[]) => Promise<readonly Value[]>): Mine<Value> {
  let waiting: { readonly id: string; readonly put: (value: Value) => void }[] = [];
  const send = async (): Promise<void> => {
    const all = waiting;
    waiting = [];
    const reader = me();
    try {
      const values = await ask(all.map(({ id }) => id));
      if (me() !== reader) return;
      for (const [at, { put }] of all.entries()) put(values[at]!);
    } catch (error) {
      // They may be leaving: a session that is over is told when they do something.
      if (me() !== reader || forgetIfOver(error)) return;
      report(error);
    }
  };
  return (id, put) => {
    if (me() === null) return;
    if (waiting.length === 0) queueMicrotask(() => void send());
    waiting.push({ id, put });
  };
}
