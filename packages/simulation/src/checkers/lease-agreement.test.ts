import { entryOf, commitId, type LviRequest, sessionId, spanId, type UnitId, unitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { type Account, type Holder, LeaseAgreement } from "./lease-agreement.ts";

const ONE = sessionId(1, 1);
const [ANN, BOB] = [unitId("users", "ann"), unitId("users", "bob")];
const ALL = spanId({ table: "users", kind: "rows", lo: "", hi: "" });
const { version } = entryOf(commitId(1, 1), null);

const holder = (...units: readonly UnitId[]): Holder => ({ session: ONE, heard: 3, units });

/** Units leased by a line of this number; those of `revoked` have a revocation that was not heard of. */
function account(leased: Readonly<Record<UnitId, number>>, revoked: readonly UnitId[] = [], n = 3): Account {
  const held = Object.entries(leased).map(
    ([unit, line]) => [unit as UnitId, { n: line, revocation: revoked.includes(unit as UnitId) ? {} : null }] as const,
  );
  return { n, held: new Map(held) };
}

function write(heard: number, ...units: readonly UnitId[]): LviRequest {
  const accesses = units.map((unit) => ({ unit, mode: "read-write", version }) as const);
  return { session: { id: ONE, heard, watches: false }, units: accesses } as Partial<LviRequest> as LviRequest;
}

function problemsOf(isolate: Holder, server: Account | undefined, ...unmet: readonly LviRequest[]): readonly string[] {
  const agreement = new LeaseAgreement();
  for (const request of unmet) agreement.sent(request);
  agreement.check([isolate], () => server);
  return agreement.problems;
}

const KEPT = `${ANN} counts as leased to session ${ONE}, whose isolate does not hold it`;
const GONE = `the isolate of session ${ONE} holds ${ANN}, which does not count as leased to it`;

describe("server and isolate agree on the leases of a session", () => {
  test("both have the same units", () => {
    expect(problemsOf(holder(ANN, ALL), account({ [ALL]: 1, [ANN]: 2 }))).toEqual([]);
  });

  test("a unit that one side has is found", () => {
    expect(problemsOf(holder(BOB), account({ [ANN]: 1, [BOB]: 2 }))).toEqual([KEPT]);
    expect(problemsOf(holder(ANN, BOB), account({ [BOB]: 2 }))).toEqual([GONE]);
  });

  test("a revocation that the isolate has processed, and of which the server has not heard, is none", () => {
    expect(problemsOf(holder(), account({ [ANN]: 1 }, [ANN]))).toEqual([]);
    expect(problemsOf(holder(ANN), account({ [ANN]: 1 }, [ANN]))).toEqual([GONE]);
  });

  test("lines on their way, other sessions and no session are left out", () => {
    expect(problemsOf(holder(), account({ [ANN]: 4 }, [], 4))).toEqual([]);
    expect(problemsOf(holder(ANN), undefined)).toEqual([]);
    expect(problemsOf({ ...holder(), session: null }, account({ [ANN]: 1 }))).toEqual([]);
  });

  test("a request that the server has not met explains the leases that its sender has dropped, and no others", () => {
    const server = account({ [ANN]: 2 });
    expect(problemsOf(holder(), server, write(2, ANN))).toEqual([]);
    expect(problemsOf(holder(), account({ [ALL]: 2 }), write(2, ANN))).toEqual([]);
    expect(problemsOf(holder(), server, write(1, ANN))).toEqual([KEPT]);
    expect(problemsOf(holder(), server, write(3, BOB))).toEqual([KEPT]);
    const read = { ...write(2), units: [{ unit: ANN, mode: "read", version } as const] };
    expect(problemsOf(holder(), server, read)).toEqual([KEPT]);
  });

  test("a request that was met explains nothing", () => {
    const agreement = new LeaseAgreement();
    const request = write(2, ANN);
    agreement.sent(request);
    agreement.met(request);
    agreement.check([holder()], () => account({ [ANN]: 2 }));
    expect(agreement.problems).toEqual([KEPT]);
  });
});
