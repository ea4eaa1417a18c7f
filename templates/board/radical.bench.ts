/** What `radical bench` asks of the project boards: people look at the boards of their teams, and work on cards. */
import { createHash } from "node:crypto";
import { type Draw, defineBenchmark } from "@radical/cli";

const TEAMS = 20;
const MEMBERS_EACH = 5;
const COLUMNS = ["To do", "Doing", "Done"];
const CARDS_EACH = 15;
const BEGINNING = 1_767_225_600_000;

const nameOf = (person: number): string => `person-${person}`;
const tokenOf = (person: number): string => `20000000-0000-4000-8000-${String(person).padStart(12, "0")}`;

interface Team {
  readonly board: string;
  readonly cards: readonly string[];
}

const teams: Team[] = [];

/** A member of a team at work: larger teams do more. */
function atWork(draw: Draw): Team & { readonly token: string; readonly name: string } {
  const team = draw.zipf(TEAMS);
  const person = team * MEMBERS_EACH + draw.below(MEMBERS_EACH);
  return { ...(teams[team] ?? { board: "", cards: [] }), token: tokenOf(person), name: nameOf(person) };
}

/** As the SDK has it. */
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
/** When sessions end: after each benchmark. */
const END_OF_CENTURY = 4_102_444_800_000;

export default defineBenchmark({
  prepare({ put, call, draw }) {
    for (let person = 0; person < TEAMS * MEMBERS_EACH; person++) {
      put("sessions", sha256(tokenOf(person)), { name: nameOf(person), expiresAt: END_OF_CENTURY });
      put("people", nameOf(person), { name: nameOf(person) });
    }
    teams.length = 0;
    for (let team = 0; team < TEAMS; team++) {
      const first = team * MEMBERS_EACH;
      const token = tokenOf(first);
      const board = call("createBoard", { token, name: `Team ${team}`, columns: COLUMNS }) as string;
      for (let member = 1; member < MEMBERS_EACH; member++)
        call("invite", { token, board, name: nameOf(first + member) });
      const cards = Array.from({ length: CARDS_EACH }, (_, index) => {
        const column = index % COLUMNS.length;
        const card = call("addCard", {
          token,
          board,
          column,
          title: `Card ${index}`,
          text: "What is to be done.",
        }) as string;
        call("assign", { token, card, name: nameOf(first + draw.below(MEMBERS_EACH)) });
        return card;
      });
      teams.push({ board, cards });
    }
  },

  *warmUp() {
    for (const [team, { board, cards }] of teams.entries()) {
      const token = tokenOf(team * MEMBERS_EACH);
      yield { handler: "board", args: { token, id: board } };
      yield { handler: "activity", args: { token, board } };
      for (const id of cards) yield { handler: "card", args: { token, id } };
      for (let member = 0; member < MEMBERS_EACH; member++)
        yield { handler: "myCards", args: { token: tokenOf(team * MEMBERS_EACH + member) } };
    }
  },

  requests: [
    {
      handler: "board",
      share: 50,
      args: (draw) => {
        const { token, board: id } = atWork(draw);
        return { token, id };
      },
    },
    {
      handler: "card",
      share: 20,
      args: (draw) => {
        const { token, cards } = atWork(draw);
        return { token, id: draw.pick(cards) };
      },
    },
    { handler: "myCards", share: 10, args: (draw) => ({ token: atWork(draw).token }) },
    {
      handler: "activity",
      share: 8,
      args: (draw) => {
        const { token, board } = atWork(draw);
        return { token, board };
      },
    },
    {
      handler: "moveCard",
      share: 5,
      args: (draw) => {
        const { token, cards } = atWork(draw);
        return { token, card: draw.pick(cards), column: draw.below(COLUMNS.length) };
      },
    },
    {
      handler: "comment",
      share: 4,
      args: (draw) => {
        const { token, cards } = atWork(draw);
        return { token, card: draw.pick(cards), text: "Looks *good* to me." };
      },
    },
    {
      handler: "assign",
      share: 2,
      args: (draw) => {
        const { token, cards, name } = atWork(draw);
        return { token, card: draw.pick(cards), name };
      },
    },
    {
      handler: "addCard",
      share: 1,
      args: (draw) => {
        const { token, board } = atWork(draw);
        return { token, board, column: 0, title: "One more thing" };
      },
    },
  ],
});
