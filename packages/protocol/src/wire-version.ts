/**
 * The policy of wire versions. Each form below has a floor, the version that is sent, and in
 * {@link HISTORY} a line per version.
 *
 * - A decoder takes every version from the floor on. It skips fields that a later sender has added.
 * - A change adds a field at the end of its message, with a meaning for its absence. No field changes its meaning or goes.
 * - A primary is upgraded before its locations, so a sender may add what an older receiver skips, but may not rely on it.
 * - Golden bytes of every version stay in the tests, and decode forever.
 * - The first field of a message is the version of the {@link FRAMING}. It changes only if a message can no longer be extended. That
 *   takes two releases: the first one takes both versions and sends the old one, the second one sends the new one. So a release
 *   sends what the release before takes, and either half can go back by one release.
 * - JSON (administration, listening, alarms) follows the same rules by name: a receiver passes over names that it does not know.
 */

/** The versions of the framing, the first field of every message. */
export const FRAMING = {
  /** The oldest version that is taken. */
  floor: 1,
  /** The version that is sent: the release before takes it too. */
  sent: 1,
  /** The newest version that is taken. */
  newest: 1,
} as const satisfies Form & { readonly newest: number };

/** The versions of one form. */
interface Form {
  /** The oldest version that is served. */
  readonly floor: number;
  /** The version that is sent. */
  readonly sent: number;
}

/** By the number of their fields, the protocol version not counted. */
export const LVI_REQUEST: Form = { floor: 11, sent: 18 };

/** By the number of fields that come after those of its kind. */
export const LVI_REPLY_TAIL: Form = { floor: 0, sent: 1 };

/** By the number of their fields. */
export const FOLLOWUP: Form = { floor: 4, sent: 5 };

/** By the number of their fields. */
export const FOLLOWUP_REPLY: Form = { floor: 1, sent: 1 };

/** By the number of their fields. The primary sends the call, and the application's Worker the answer. */
export const SERVICE_CALL: Form = { floor: 6, sent: 6 };
export const SERVICE_ANSWER: Form = { floor: 4, sent: 4 };
/** By the number of their fields. */
export const WORKFLOW_QUESTION: Form = { floor: 6, sent: 6 };

/** A line of an answer to a location that listens, by the number of fields of an entry. JSON, without the framing. */
export const HINT: Form = { floor: 4, sent: 4 };

/** A line that leases units, by the number of fields of an entry. JSON, without the framing. */
export const LEASE: Form = { floor: 3, sent: 3 };

/**
 * The ABI: the boundary between handlers and hosts, and the form of a module's content. It is part of the module hash. A
 * module states the least version that has its imports and sections. A primary runs every version from the floor on,
 * because intents may name modules that earlier releases have built.
 */
export const ABI: Form = { floor: 3, sent: 11 };

/** The newest version of the ABI. */
export const ABI_VERSION: number = ABI.sent;

/** The oldest version of the ABI that hosts run. */
export const OLDEST_ABI_VERSION: number = ABI.floor;

/** A line for each version of each form. It stands apart from the forms, so that a location's bundle leaves it out. */
export const HISTORY: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  LVI_REQUEST: {
    11: "execution id, module, handler, arguments, time, seed, location, units, retained, deadline, effects",
    13: "attempt and seen: without them it is attempt 1 of a location that has heard of no server",
    14: "caller: without it there is none",
    16: "session (null, reserved, in earlier releases) and must not write: without it the execution may write",
    17: "lanes: without them the execution names none. From here on effects may be 1",
    18: "how long the answer may wait for the end of a workflow: without it no time",
  },
  LVI_REPLY_TAIL: {
    0: "valid, executed, refused",
    1: "as of: without it the location has not heard of the server",
  },
  FOLLOWUP: {
    4: "execution id, commit id, outcome, writes",
    5: "effects: without them there are none",
  },
  FOLLOWUP_REPLY: { 1: "result" },
  SERVICE_CALL: { 6: "service, task, key, nonce, longest time, arguments" },
  SERVICE_ANSWER: { 4: "kind, result or null, code, message" },
  WORKFLOW_QUESTION: {
    6: "workflow, handler, caller, whether it is to be cancelled, how long the answer may wait, seen",
  },
  HINT: {
    4: "a list of entries: unit, commit id, hash, value in base 64. Another kind of line begins with its name",
  },
  LEASE: { 3: "a list of leased units: unit, commit id, hash or null" },
  ABI: {
    3: "limits of memory, accesses, fuel and stack; plans; f and f^rw",
    4: "the fuel of a speculation, a limit: a module of version 3 has all of its fuel for one",
    5: "named sections instead of fields, among them the tables that each handler reads and writes",
    6: "the host functions log and overflow",
    7: "the host functions scan, count, touch_scan and touch_count",
    8: "the section indexes: the indexes that the handlers keep",
    9: "the host functions sha256 and scrypt",
    10: "the hidden tables of blobs, and entries for the items that name them",
    11: "the host functions of tasks and workflows, the sections services and tasks, and the plan workflow",
  },
};
