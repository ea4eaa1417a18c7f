/** The requests of `radical bench` to the project boards: people look at the boards of their teams, and work on cards. */
import { type Draw, defineBenchmark } from "@radical/cli";
import { personOf, sessionOf, stored } from "./bench-accounts.ts";

const TEAMS = 20;
const MEMBERS_EACH = 5;
const COLUMNS = ["To do", "Doing", "Done"];
const CARDS_EACH = 15;
const BEGINNING = 1_767_225_600_000;

const nameOf = (person: number): string => `person-${person}`;

interface Team {
  readonly board: string;
  readonly cards: readonly string[];
}

const teams: Team[] = [];

/** The session of a member of a team at work: larger teams do more. */
function atWork(draw: Draw): string {
  return sessionOf(draw.zipf(TEAMS) * MEMBERS_EACH + draw.below(MEMBERS_EACH));
}

/** Of whoever calls. */
function teamOf(caller: string): Team {
  return teams[Math.floor(personOf(caller) / MEMBERS_EACH)] ?? { board: "", cards: [] };
}

export default defineBenchmark({
  prepare({ put, call, draw }) {
    for (let person = 0; person < TEAMS * MEMBERS_EACH; person++) {
      put("sessions", sessionOf(person), stored.session(nameOf(person)));
      put("people", nameOf(person), { name: nameOf(person) });
    }
    teams.length = 0;
    for (let team = 0; team < TEAMS; team++) {
      const first = team * MEMBERS_EACH;
      const caller = sessionOf(first);
      const board = call("createBoard", { name: `Team ${team}`, columns: COLUMNS }, caller) as string;
      for (let member = 1; member < MEMBERS_EACH; member++)
        call("invite", { board, name: nameOf(first + member) }, caller);
      const cards = Array.from({ length: CARDS_EACH }, (_, index) => {
        const column = index % COLUMNS.length;
        const args = { board, column, title: `Card ${index}`, text: "What is to be done." };
        const card = call("addCard", args, caller) as string;
        call("assign", { card, name: nameOf(first + draw.below(MEMBERS_EACH)) }, caller);
        return card;
      });
      teams.push({ board, cards });
    }
  },

  *warmUp() {
    for (const [team, { board, cards }] of teams.entries()) {
      const caller = sessionOf(team * MEMBERS_EACH);
      yield { handler: "board", args: { id: board }, caller };
      yield { handler: "activity", args: { board }, caller };
      for (const id of cards) yield { handler: "card", args: { id }, caller };
      for (let member = 0; member < MEMBERS_EACH; member++)
        yield { handler: "myCards", args: {}, caller: sessionOf(team * MEMBERS_EACH + member) };
    }
  },

  requests: [
    { handler: "board", share: 50, caller: atWork, args: (_, me) => ({ id: teamOf(me).board }) },
    { handler: "card", share: 20, caller: atWork, args: (draw, me) => ({ id: draw.pick(teamOf(me).cards) }) },
    { handler: "myCards", share: 10, caller: atWork },
    { handler: "activity", share: 8, caller: atWork, args: (_, me) => ({ board: teamOf(me).board }) },
    {
      handler: "moveCard",
      share: 5,
      caller: atWork,
      args: (draw, me) => ({ card: draw.pick(teamOf(me).cards), column: draw.below(COLUMNS.length) }),
    },
    {
      handler: "comment",
      share: 4,
      caller: atWork,
      args: (draw, me) => ({ card: draw.pick(teamOf(me).cards), text: "Looks *good* to me." }),
    },
    {
      handler: "assign",
      share: 2,
      caller: atWork,
      args: (draw, me) => ({ card: draw.pick(teamOf(me).cards), name: nameOf(personOf(me)) }),
    },
    {
      handler: "addCard",
      share: 1,
      caller: atWork,
      args: (_, me) => ({ board: teamOf(me).board, column: 0, title: "One more thing" }),
    },
  ],
});
