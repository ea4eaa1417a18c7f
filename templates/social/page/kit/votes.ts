/** A score, and the reader's own vote for it. */
import { me, rethrow } from "./account.ts";
import { action } from "./actions.ts";
import { counted, drawing, h } from "./elements.ts";

/** Up, down, or neither. */
export type Vote = 1 | -1 | 0;

export interface Votes {
  readonly element: HTMLElement;
  readonly score: (count: number) => void;
  /** Told once how the reader has voted before. */
  readonly mine: (vote: number) => void;
}

/**
 * A reader who is not logged in sees the score alone. `cast` gives the score after the vote. `inWords`: where a number by itself
 * would say nothing.
 */
export function votesOf(first: number, cast: (vote: Vote) => Promise<number>, inWords = false): Votes {
  const number = h("b", { className: "score" });
  number.role = "img";
  const score = (count: number): void => {
    number.ariaLabel = counted(count, "point");
    number.textContent = inWords && me() === null ? number.ariaLabel : String(count);
  };
  score(first);
  /** The reader's vote; null: not known yet. */
  let known: number | null = null;
  let isCasting = false;
  const show = (vote: number): void => {
    up.ariaPressed = String(vote === 1);
    down.ariaPressed = String(vote === -1);
  };
  const button = (vote: 1 | -1): HTMLButtonElement => {
    const points = vote === 1 ? "5,13 10,6 15,13" : "5,7 10,14 15,7";
    const words = vote === 1 ? "Vote up" : "Vote down";
    const made = action(
      drawing("0 0 20 20", [["polygon", { points }]]),
      async () => {
        const wanted = made.ariaPressed === "true" ? 0 : vote;
        isCasting = true;
        try {
          score(await cast(wanted).catch(rethrow));
          known = wanted;
        } finally {
          isCasting = false;
          show(known ?? 0);
        }
      },
      { className: "plain vote", ariaLabel: words, title: words },
    );
    return made;
  };
  const [up, down] = [button(1), button(-1)];
  show(0);
  return {
    element: h("div", { className: "votes" }, ...(me() === null ? [number] : [up, number, down])),
    score,
    mine: (vote) => {
      // The answer may come after a vote of now.
      known ??= vote;
      if (!isCasting) show(known);
    },
  };
}
