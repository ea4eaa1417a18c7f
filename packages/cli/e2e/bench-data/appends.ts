/**
 * Appends to one timeline from five locations, and nobody reads it. Beside them stand appends to a timeline for each location, and
 * to a list in one item.
 */
import type { TestApp } from "../../src/testing.ts";
import { median } from "@radical/bench";
import { type Figure, figure } from "../bench-figure.ts";
import { type Call, type Caller, type Effort, rateOf } from "./load.ts";

const TEXT = "It rains. ".repeat(20);
const KINDS = ["one range", "five ranges", "one list", "five lists"] as const;
type Kind = (typeof KINDS)[number];

export async function measureAppends(app: TestApp, effort: Effort): Promise<readonly Figure[]> {
  const rates: Record<Kind, number[]> = { "one range": [], "five ranges": [], "one list": [], "five lists": [] };
  // The first turn warms the processes up.
  for (let turn = 0; turn <= effort.turns && !effort.signal.aborted; turn++) {
    for (const kind of KINDS) {
      const { perSecond } = await rateOf(app, effort, (caller) => appendOf(kind, turn, caller));
      effort.tell(`appends, turn ${turn}: ${kind} ${perSecond.toFixed(0)}/s`);
      if (turn > 0) rates[kind].push(perSecond);
    }
  }
  const share = (of: Kind, beside: Kind): number => median(rates[of].map((rate, turn) => rate / rates[beside][turn]!));
  return [
    ...KINDS.map((kind) => figure(`appends to ${kind}`, median(rates[kind]), "/s")),
    figure("appends to one range, beside five", share("one range", "five ranges"), "×", { atLeast: 0.9 }),
    figure("appends to one list, beside five", share("one list", "five lists"), "×"),
    figure("appends to one list, beside one range", share("one list", "one range"), "×"),
  ];
}

function appendOf(kind: Kind, turn: number, { location }: Caller): Call {
  const room = kind.startsWith("one") ? `all-${turn}` : `${location}-${turn}`;
  return {
    handler: kind.endsWith("list") || kind.endsWith("lists") ? "appendToList" : "append",
    args: { room, text: TEXT },
  };
}
