/** Candidates and a holder on one storage, each with a clock of its own. */
import { describe, expect, test } from "vitest";
import {
  Candidate,
  type CandidateEffect,
  type HeldLeadership,
  heldUntilMs,
  type Leadership,
  nextEpoch,
  setBackLeadership,
} from "./leadership.ts";

const TERM_MS = 1_000;

class TestStorage {
  leadership: Leadership = { epoch: 0, beat: 0, termMs: 0, readLeaseMs: 0 };

  acquire(seen: Leadership, termMs: number, readLeaseMs: number): Leadership | null {
    if (seen.epoch !== this.leadership.epoch || seen.beat !== this.leadership.beat) return null;
    return (this.leadership = { epoch: this.leadership.epoch + 1, beat: 0, termMs, readLeaseMs });
  }

  renew(epoch: number): boolean {
    if (epoch !== this.leadership.epoch) return false;
    this.leadership = { ...this.leadership, beat: this.leadership.beat + 1 };
    return true;
  }
}

/** A server whose clock runs at a rate, and begins anywhere. */
class Server {
  readonly #storage: TestStorage;
  readonly #rate: number;
  readonly #candidate = new Candidate(TERM_MS);
  #effect: CandidateEffect = this.#candidate.start();
  #wakeMs = 0;
  leadership: HeldLeadership | null = null;

  constructor(storage: TestStorage, rate: number) {
    this.#storage = storage;
    this.#rate = rate;
  }

  clock(trueMs: number): number {
    return 7_777_777 + trueMs * this.#rate;
  }

  isHeld(trueMs: number): boolean {
    return this.leadership !== null && this.clock(trueMs) < this.leadership.untilMs;
  }

  /** Does what there is to do by then. */
  run(trueMs: number): void {
    const nowMs = this.clock(trueMs);
    while (this.leadership === null) {
      const effect = this.#effect;
      switch (effect.kind) {
        case "read":
          this.#effect = this.#candidate.step(nowMs, { kind: "read", leadership: this.#storage.leadership });
          break;
        case "acquire": {
          const leadership = this.#storage.acquire(effect.seen, effect.termMs, effect.readLeaseMs);
          this.#effect = this.#candidate.step(nowMs, { kind: "acquired", leadership });
          break;
        }
        case "wait":
          if (this.#wakeMs === 0) this.#wakeMs = nowMs + effect.ms;
          if (nowMs < this.#wakeMs) return;
          this.#wakeMs = 0;
          this.#effect = this.#candidate.step(nowMs, { kind: "waited" });
          break;
        case "elected":
          this.leadership = effect.leadership;
      }
    }
  }

  renew(trueMs: number): void {
    if (this.leadership !== null && this.#storage.renew(this.leadership.epoch))
      this.leadership = { ...this.leadership, untilMs: heldUntilMs(this.clock(trueMs), TERM_MS) };
  }
}

test("the first server gets it at once", () => {
  const server = new Server(new TestStorage(), 1);
  server.run(0);
  expect(server.leadership).toMatchObject({ epoch: 1, termMs: TERM_MS });
  expect(server.isHeld(900)).toBe(true);
});

test("a candidate waits as long as the holder renews it", () => {
  const storage = new TestStorage();
  const [first, second] = [new Server(storage, 1), new Server(storage, 1)];
  first.run(0);
  for (let ms = 0; ms < 10 * TERM_MS; ms += 10) {
    if (ms % 250 === 0) first.renew(ms);
    second.run(ms);
  }
  expect(second.leadership).toBe(null);
});

describe.each([0.95, 1, 1.05])("a holder whose clock runs %d as fast", (rate) => {
  test.each([0.95, 1, 1.05])("and a candidate whose clock runs %d as fast never have it both", (other) => {
    const storage = new TestStorage();
    const [first, second] = [new Server(storage, rate), new Server(storage, other)];
    first.run(0);
    let tookOverMs = 0;
    for (let ms = 0; ms < 3 * TERM_MS; ms++) {
      second.run(ms);
      if (second.leadership !== null && tookOverMs === 0) tookOverMs = ms;
      expect(first.isHeld(ms) && second.isHeld(ms)).toBe(false);
    }
    expect(second.leadership).toMatchObject({ epoch: 2 });
    expect(tookOverMs).toBeLessThan(1.2 * TERM_MS);
  });
});

test("whenever a holder has died, its leadership is taken within a quarter more than the term", () => {
  for (let diesMs = 2 * TERM_MS; diesMs < 3 * TERM_MS; diesMs += 7) {
    const storage = new TestStorage();
    const [first, second] = [new Server(storage, 1), new Server(storage, 1)];
    first.run(0);
    let ms = 0;
    for (; second.leadership === null; ms++) {
      if (ms < diesMs && ms % 250 === 0) first.renew(ms);
      second.run(ms);
    }
    expect(ms).toBeGreaterThan(diesMs);
    expect(ms - diesMs).toBeLessThanOrEqual(1.3 * TERM_MS + 2);
  }
});

test("one that was given up is taken at once", () => {
  const storage = new TestStorage();
  new Server(storage, 1).run(0);
  storage.leadership = { ...storage.leadership, beat: 1, termMs: 0 };
  const second = new Server(storage, 1);
  second.run(1);
  expect(second.leadership).toMatchObject({ epoch: 2 });
});

test("of two candidates one gets it; after a failure they look again", () => {
  const seen: Leadership = { epoch: 3, beat: 4, termMs: 0, readLeaseMs: 0 };
  const candidate = new Candidate(TERM_MS);
  expect(candidate.start()).toEqual({ kind: "read" });
  expect(candidate.step(0, { kind: "read", leadership: seen })).toEqual({
    kind: "acquire",
    seen,
    termMs: TERM_MS,
    readLeaseMs: 0,
  });
  expect(candidate.step(0, { kind: "acquired", leadership: null })).toEqual({ kind: "read" });
  expect(candidate.step(0, { kind: "failed" })).toMatchObject({ kind: "wait" });
  expect(candidate.step(0, { kind: "waited" })).toEqual({ kind: "read" });
});

describe("read leases of an earlier leader", () => {
  const acquire = (candidate: Candidate, nowMs: number, leadership: Leadership): CandidateEffect =>
    candidate.step(nowMs, { kind: "read", leadership });
  const elected = (candidate: Candidate, nowMs: number): CandidateEffect =>
    candidate.step(nowMs, {
      kind: "acquired",
      leadership: { epoch: 4, beat: 0, termMs: TERM_MS, readLeaseMs: 600 },
    });

  test("are waited out after a leader that is known to be dead, and the record goes on to name them", () => {
    const candidate = new Candidate(TERM_MS);
    const dead: Leadership = { epoch: 3, beat: 4, termMs: 0, readLeaseMs: 600 };
    expect(acquire(candidate, 5_000, dead)).toMatchObject({ kind: "acquire", readLeaseMs: 600 });
    const readLeasesUntilMs = 5_000 + 630;
    expect(elected(candidate, 5_010)).toMatchObject({ leadership: { readLeasesUntilMs, readLeaseMs: 600 } });
  });

  test("are none after a leader that has given none, and nobody waits", () => {
    const candidate = new Candidate(TERM_MS);
    const dead: Leadership = { epoch: 3, beat: 4, termMs: 0, readLeaseMs: 0 };
    expect(acquire(candidate, 5_000, dead)).toMatchObject({ kind: "acquire", readLeaseMs: 0 });
    expect(elected(candidate, 5_010)).toMatchObject({ leadership: { readLeasesUntilMs: 5_000 } });
  });

  test("are over with a leadership that has run out", () => {
    const candidate = new Candidate(TERM_MS);
    const silent: Leadership = { epoch: 3, beat: 4, termMs: TERM_MS, readLeaseMs: 600 };
    expect(acquire(candidate, 5_000, silent)).toMatchObject({ kind: "wait" });
    expect(acquire(candidate, 6_060, silent)).toMatchObject({ kind: "acquire", readLeaseMs: 0 });
    expect(elected(candidate, 6_070)).toMatchObject({ leadership: { readLeasesUntilMs: 5_630 } });
  });

  test("may outlast a short leadership whose server has inherited them", () => {
    const candidate = new Candidate(TERM_MS);
    const silent: Leadership = { epoch: 3, beat: 4, termMs: 100, readLeaseMs: 600 };
    acquire(candidate, 5_000, silent);
    expect(acquire(candidate, 5_200, silent)).toMatchObject({ kind: "acquire", readLeaseMs: 600 });
    expect(elected(candidate, 5_210)).toMatchObject({ leadership: { readLeasesUntilMs: 5_630 } });
  });
});

describe("an epoch is a time", () => {
  const START_MS = Date.UTC(2026, 10, 27, 14);

  test("later seconds have greater ones, in whatever history", () => {
    const backup = nextEpoch(0, START_MS);
    let lost = backup;
    // Servers that end as soon as they lead get ahead of the clock.
    for (let n = 0; n < 5; n++) lost = nextEpoch(lost, START_MS + 1_000);
    expect(lost).toBe(backup + 5);
    expect(nextEpoch(backup, START_MS + 6_000)).toBeGreaterThan(lost);
    expect(nextEpoch(lost, START_MS - 3_600_000)).toBe(lost + 1);
    expect(nextEpoch(7, 0)).toBe(8);
  });

  test("they fit into commit ids for a century", () => {
    expect(nextEpoch(0, Date.UTC(2100, 0, 1))).toBeLessThan(2 ** 32);
  });
});

describe("the leadership of a storage that is set back", () => {
  const backup: Leadership = { epoch: 100, beat: 7, termMs: 1_000, readLeaseMs: 0, leader: "https://a.example" };
  const lost: Leadership = { epoch: 900_000_000, beat: 3, termMs: 5_000, readLeaseMs: 3_000 };

  test("is nobody's, later than both, and waits for what the lost one may have promised", () => {
    expect(setBackLeadership(backup, lost, Date.UTC(2026, 10, 27))).toEqual({
      epoch: 900_000_001,
      beat: 0,
      termMs: 5_000,
      readLeaseMs: 3_000,
      setBackEpoch: 900_000_001,
    });
  });

  test("waits for the longest read leases if the lost one can't be read", () => {
    const { epoch, termMs, readLeaseMs } = setBackLeadership(backup, null, Date.UTC(2026, 10, 27));
    expect({ termMs, readLeaseMs }).toEqual({ termMs: 60_000, readLeaseMs: 60_000 });
    expect(epoch).toBe(nextEpoch(0, Date.UTC(2026, 10, 27)));
  });
});
