/**
 * Whether a server and an isolate agree on the leases of their session. An isolate that has processed all lines of the session holds
 * exactly the units that the server counts as leased to it. The server leases no unit that it counts as leased already, so the isolate
 * would ask for that unit again and again. No writer waits for an isolate that the server does not count.
 *
 * One difference is right. An isolate drops its leases on what it is about to write, and sends the request then. The server counts
 * them until it meets the request. It goes on if the request is lost, or comes to its successor. They are those that had been heard of
 * by then.
 */
import { type LviRequest, overlaps, present, type SenderSession, type SessionId, type UnitId } from "@radical/protocol";

/** The leases of an isolate. */
export interface Holder {
  /** Null: it has no session. */
  readonly session: SessionId | null;
  /** The number of the last line that it has processed. */
  readonly heard: number;
  readonly units: readonly UnitId[];
}

/** A server's account of a session. */
export interface Account {
  /** The number of the last line. */
  readonly n: number;
  /** With the line that leased the unit, and its revocation that was not heard of. */
  readonly held: ReadonlyMap<UnitId, { readonly n: number; readonly revocation: object | null }>;
}

export class LeaseAgreement {
  /** Requests that the server of their session has not answered, by the session. */
  readonly #unmet = new Map<SessionId, Set<LviRequest>>();
  readonly #problems = new Set<string>();

  /** The violations so far, in words; empty if there are none. */
  get problems(): readonly string[] {
    return [...this.#problems];
  }

  /** An isolate sends the request. */
  sent(request: LviRequest): void {
    const { session, units } = request;
    if (session === null || units === null) return;
    const unmet = this.#unmet.get(session.id);
    if (unmet === undefined) this.#unmet.set(session.id, new Set([request]));
    else unmet.add(request);
  }

  /** The server of its session has answered the request. Others know nothing of its leases. */
  met(request: LviRequest): void {
    if (request.session !== null) this.#unmet.get(request.session.id)?.delete(request);
  }

  /** `accountOf`: a server's, of a session that it knows. */
  check(holders: Iterable<Holder>, accountOf: (session: SessionId) => Account | undefined): void {
    for (const holder of holders) {
      const { session, heard } = holder;
      const account = session === null ? undefined : accountOf(session);
      // A line that is under way changes what the isolate holds.
      if (session === null || account?.n !== heard) continue;
      this.#compare(session, holder, account);
    }
  }

  #compare(session: SessionId, { units }: Holder, { held }: Account): void {
    const holds = new Set(units);
    for (const [unit, { n, revocation }] of held)
      if (revocation === null && !holds.has(unit) && !this.#mayBeDropped(session, unit, n))
        this.#problems.add(`${unit} counts as leased to session ${session}, whose isolate does not hold it`);
    for (const unit of holds)
      if (held.get(unit)?.revocation !== null)
        this.#problems.add(`the isolate of session ${session} holds ${unit}, which does not count as leased to it`);
  }

  #mayBeDropped(session: SessionId, unit: UnitId, n: number): boolean {
    for (const request of this.#unmet.get(session) ?? []) if (drops(request, unit, n)) return true;
    return false;
  }
}

/** Whether the sender of the request has dropped a lease of the unit that line `n` had brought. */
function drops({ session, units }: LviRequest, unit: UnitId, n: number): boolean {
  const { heard } = present<SenderSession>(session, "requests without a session are not kept");
  return n <= heard && (units ?? []).some((each) => each.mode !== "read" && overlaps(each.unit, unit));
}
