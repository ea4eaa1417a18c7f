import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Leader, LeaderSearch } from "./leader.ts";

describe("one execution after the other", () => {
  test("who has answered is asked first", () => {
    const leader = new Leader(2);
    const first = new LeaderSearch(leader);
    expect(first.next()).toBe(0);
    expect(first.missed()).toBe(true);
    expect(first.next()).toBe(1);
    first.found();
    expect(new LeaderSearch(leader).next()).toBe(1);
  });

  test("who has failed is asked last", () => {
    const leader = new Leader(2);
    const first = new LeaderSearch(leader);
    first.next();
    first.missed();
    expect(new LeaderSearch(leader).next()).toBe(1);
  });

  test("a round ends when all were asked in vain; one alone is a round", () => {
    const two = new LeaderSearch(new Leader(2));
    const asked = [1, 2, 3, 4].map(() => [two.next(), two.missed(), two.rounds]);
    expect(asked).toEqual([
      [0, true, 1],
      [1, false, 1],
      [0, true, 2],
      [1, false, 2],
    ]);
    const one = new LeaderSearch(new Leader(1));
    expect([one.next(), one.missed(), one.next(), one.missed(), one.rounds]).toEqual([0, false, 0, false, 2]);
  });

  test("what others have found out meanwhile stands", () => {
    const leader = new Leader(3);
    const slow = new LeaderSearch(leader);
    expect(slow.next()).toBe(0);
    const quick = new LeaderSearch(leader);
    quick.next();
    quick.missed();
    quick.next();
    quick.found();
    // The slow one learns only now that its server does not lead.
    expect(slow.missed()).toBe(true);
    expect([slow.next(), new LeaderSearch(leader).next()]).toEqual([1, 1]);
  });
});

/** Executions that search at the same time, each step being one of them asking and learning. */
test("a round asks each server once; the leader is found within one, and then asked first", () => {
  const steps = fc.array(fc.record({ who: fc.nat(3), leads: fc.nat(3) }), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), steps, fc.nat(3), (servers, before, last) => {
      const leader = new Leader(servers);
      const searches = Array.from({ length: 4 }, () => new LeaderSearch(leader));
      const rounds = searches.map((): number[] => []);
      for (const { who, leads } of before) {
        const search = searches[who]!;
        const round = search.rounds;
        const server = search.next();
        expect(server).toBeLessThan(servers);
        if (search.rounds !== round) rounds[who] = [];
        expect(rounds[who]).not.toContain(server);
        rounds[who]!.push(server);
        if (server === leads) {
          search.found();
          rounds[who] = [];
        } else {
          expect(search.missed()).toBe(rounds[who]!.length < servers);
        }
      }
      // From here on one server leads: whoever begins finds it in one round, and all after that at once.
      const leads = last % servers;
      const search = new LeaderSearch(leader);
      while (search.next() !== leads) expect(search.missed()).toBe(true);
      search.found();
      expect(search.rounds).toBe(1);
      expect(new LeaderSearch(leader).next()).toBe(leads);
    }),
    { numRuns: 500 },
  );
});
