import { describe, expect, test } from "vitest";
import { CborReader, CborWriter } from "./cbor.ts";
import { type ContentHash, contentHash } from "./content-hash.ts";
import { commitId, type Key, type UnitId, unitId } from "./ids.ts";
import {
  checkRedaction,
  redact,
  type Redactable,
  redactArguments,
  type RedactionSecrets,
  withoutSecrets,
} from "./redaction.ts";
import { decodeDirectory, encodeCount, encodeDirectory, keySuccessor, prefixEnd, spanId } from "./span.ts";
import type { Arrival, Journal, Settled } from "./workflows.ts";

const X = unitId("t", "x");
const text = (value: string): Uint8Array => new CborWriter().text(value).finish();
const SECRETS: RedactionSecrets = {
  pseudonym: (plain) => "q".repeat(plain.length),
  seed: () => Uint8Array.of(9),
};
const user = (name: string, tags: readonly string[]): Uint8Array => {
  const writer = new CborWriter().map(2).text("name").text(name).text("tags").array(tags.length);
  for (const tag of tags) writer.text(tag);
  return writer.finish();
};
const whole = (more: Partial<Redactable>): Redactable => ({
  args: new CborWriter().null().finish(),
  secrets: [],
  seed: Uint8Array.of(1),
  caller: null,
  values: null,
  units: [],
  ...more,
});

describe("by name", () => {
  const names = ["t.name", "all.*", "@arguments.secret", "@caller", "t.nothing"];
  const value = (unit: UnitId, bytes: Uint8Array) =>
    redact(names, whole({ values: new Map([[unit, bytes]]) }), SECRETS).values!.get(unit);

  test("what is redacted keeps its kind, and nothing else is touched", () => {
    expect(value(X, user("Ann", ["a", "bc"]))).toEqual(user("xxx", ["a", "bc"]));
    expect(value(unitId("all", "x"), user("Ann", ["a", "bc"]))).toEqual(user("xxx", ["x", "xx"]));
    expect(value(unitId("all", "x"), text("word"))).toEqual(text("xxxx"));
    expect(value(unitId("u", "x"), user("Ann", []))).toEqual(user("Ann", []));
    // Bytes that can't be read may hold anything.
    expect(value(X, Uint8Array.of(0xff))).toEqual(Uint8Array.of(0xf6));
    const args = (secret: number): Uint8Array => new CborWriter().map(1).text("secret").integer(secret).finish();
    expect(redact(names, whole({ args: args(7), caller: "ann" }), SECRETS)).toEqual({
      ...whole({ args: args(0), caller: "redacted" }),
      secrets: undefined,
      redacted: ["@caller", "@arguments.secret"],
    });
    expect(redact(names, whole({}), SECRETS)).toMatchObject({ caller: null, redacted: [] });
  });

  test("names that are none, and a question that does not say", () => {
    for (const name of ["users", "users.", "@all.x", ".x"])
      expect(() => checkRedaction([name])).toThrow(`"${name}" names nothing to redact`);
    for (const question of [undefined, "some", [1], null])
      expect(() => checkRedaction(question)).toThrow("does not say what to redact");
    for (const question of ["all", [], names] as const) expect(checkRedaction(question)).toEqual(question);
  });
});

describe("whole", () => {
  test("each text has a pseudonym, the same in keys, so that items are found; numbers stay where a key has them", () => {
    const args = new CborWriter()
      .map(4)
      .text("token")
      .text("t0ken")
      .text("password")
      .text("Sup3rSecret")
      .text("id")
      .integer(17)
      .text("pin")
      .integer(1_234)
      .finish();
    const session = unitId("sessions", "t0ken");
    const post = unitId("posts", "ann/17");
    const constant = unitId("lists", "antennas");
    const units = [session, post, constant];
    const values = new Map([
      [session, text("ann")],
      [post, null],
      [constant, new CborWriter().array(2).bytes(Uint8Array.of(1, 2)).boolean(true).finish()],
    ]);
    const { args: redactedArgs, ...rest } = redact("all", whole({ args, caller: "ann", values, units }), SECRETS);
    const reader = new CborReader(redactedArgs);
    expect([reader.map(), reader.text(), reader.text(), reader.text(), reader.text()]).toEqual([
      4,
      "token",
      "qqqqq",
      "password",
      "qqqqqqqqqqq",
    ]);
    expect([reader.text(), reader.integer(), reader.text(), reader.integer()]).toEqual(["id", 17, "pin", 0]);
    expect(rest).toEqual({
      seed: Uint8Array.of(9),
      caller: "qqq",
      units: ["sessions/qqqqq", "posts/qqq/17", "lists/antennas"],
      values: new Map([
        ["sessions/qqqqq", text("qqq")],
        ["posts/qqq/17", null],
        ["lists/antennas", new CborWriter().array(2).bytes(new Uint8Array(2)).boolean(false).finish()],
      ]),
      redacted: ["*"],
    });
  });

  test("what can't be read may hold anything", () => {
    const { args, values } = redact(
      "all",
      whole({ args: Uint8Array.of(0xff), values: new Map([[X, Uint8Array.of(0x61)]]), units: [X] }),
      SECRETS,
    );
    expect([args, [...values!.values()]]).toEqual([Uint8Array.of(0xf6), [Uint8Array.of(0xf6)]]);
  });

  test("of two texts that begin at one place of a key the longer one is replaced", () => {
    const values = new Map([[X, new CborWriter().array(2).text("a").text("a-b").finish()]]);
    const { units } = redact("all", whole({ values, units: [unitId("t", "a-b/a")] }), SECRETS);
    expect(units).toEqual(["t/qqq/q"]);
  });
});

describe("journals", () => {
  const settled = (command: number, value: Settled): Arrival => ({ kind: "settled", command, settled: value });
  const journal: Journal = [
    {
      timeMs: 7,
      arrivals: [
        settled(0, { kind: "value", value: text("secret") }),
        settled(1, { kind: "failed", status: 409, code: "secret", message: "secret" }),
        settled(2, { kind: "unknown", message: "secret" }),
        settled(3, { kind: "signal", value: new CborWriter().array(2).text("secret").integer(1_234).finish() }),
        settled(4, { kind: "timer" }),
        { kind: "cancelled" },
      ],
      commands: [{ kind: "start", name: "pay", hash: contentHash(text("secret")) }],
      wait: { mode: "all", commands: [5], untilMs: 1_234 },
    },
  ];
  const hidden = (word: string): Journal => [
    {
      timeMs: 7,
      arrivals: [
        settled(0, { kind: "value", value: text(word) }),
        settled(1, { kind: "failed", status: 409, code: word, message: word }),
        settled(2, { kind: "unknown", message: word }),
        settled(3, { kind: "signal", value: new CborWriter().array(2).text(word).integer(0).finish() }),
        settled(4, { kind: "timer" }),
        { kind: "cancelled" },
      ],
      commands: [{ kind: "start", name: "pay", hash: "0".repeat(16) as ContentHash }],
      wait: null,
    },
  ];

  test("tell kinds and names alone: no text, no number, no hash, and no time that is made of a number", () => {
    expect(redact("all", whole({ journal }), SECRETS).journal).toEqual(hidden("qqqqqq"));
    // Results of other executions may hold what any name is about.
    for (const name of ["@arguments.card", "t.name", "@caller"])
      expect(redact([name], whole({ journal }), SECRETS).journal).toEqual(hidden("xxxxxx"));
    expect(redact([], whole({ journal }), SECRETS).journal).toEqual(journal);
    expect(redact("all", whole({}), SECRETS)).not.toHaveProperty("journal");
  });

  test("the id of a task stays an id, or a handler that cancels it would trap", () => {
    const args = (id: string): Uint8Array => new CborWriter().map(1).text("task").text(id).finish();
    const { args: left } = redact(["@arguments.task"], whole({ args: args("9".repeat(32)) }), SECRETS);
    expect(left).toEqual(args("0".repeat(32)));
  });

  test("arguments that a run has made are redacted by the names of arguments", () => {
    const args = (to: string): Uint8Array => new CborWriter().map(1).text("to").text(to).finish();
    expect(redactArguments(["@arguments.to", "t.to"], args("ann"))).toEqual({
      args: args("‹secret›"),
      redacted: ["@arguments.to"],
    });
    expect(redactArguments(["@arguments.other"], args("ann"))).toEqual({ args: args("ann"), redacted: [] });
  });
});

describe("spans", () => {
  const ANN = unitId("posts", "room/ann");
  const BOB = unitId("posts", "room/bob");
  const directory = encodeDirectory(
    [ANN, BOB].map((unit) => ({
      key: unit.slice(6) as Key,
      commitId: commitId(1, 2),
      hash: contentHash(user(unit, [])),
    })),
  );
  const prefix = { table: "posts", kind: "rows", lo: "room/", hi: prefixEnd("room/") } as const;
  /** The order of the two is turned round. */
  const turned: RedactionSecrets = {
    ...SECRETS,
    pseudonym: (plain) => (plain === "ann" ? "zzz" : plain === "bob" ? "yyy" : "q".repeat(plain.length)),
  };
  const of = (span: Parameters<typeof spanId>[0]): Redactable => {
    const units = [spanId(span), ANN, BOB];
    return whole({
      units,
      values: new Map([
        [spanId(span), directory],
        [ANN, text("ann")],
        [BOB, text("bob")],
      ]),
    });
  };

  test("rows stand in the order of their pseudonyms, with the hashes of what is left of their values", () => {
    const { units, values } = redact("all", of(prefix), turned);
    expect(units).toEqual([spanId(prefix), "posts/room/zzz", "posts/room/yyy"]);
    expect(decodeDirectory(values!.get(spanId(prefix))!)).toEqual([
      { key: "room/yyy", commitId: commitId(1, 2), hash: contentHash(text("yyy")) },
      { key: "room/zzz", commitId: commitId(1, 2), hash: contentHash(text("zzz")) },
    ]);
  });

  test("bounds that were keys of rows are so again, and the end of a prefix is that of the renamed prefix", () => {
    const unitOf = (span: Parameters<typeof spanId>[0]): UnitId => redact("all", of(span), turned).units[0]!;
    expect(unitOf({ ...prefix, lo: "room/ann" })).toBe(spanId({ ...prefix, lo: "room/yyy" }));
    expect(unitOf({ ...prefix, hi: keySuccessor("room/bob") })).toBe(
      spanId({ ...prefix, hi: keySuccessor("room/zzz") }),
    );
    expect(unitOf({ ...prefix, lo: "ann/", hi: prefixEnd("ann/") })).toBe(
      spanId({ ...prefix, lo: "zzz/", hi: prefixEnd("zzz/") }),
    );
    expect(unitOf({ ...prefix, lo: "bob", hi: "" })).toBe(spanId({ ...prefix, lo: "yyy", hi: "" }));
  });

  test("without values a span is renamed like a key", () => {
    const span = { ...prefix, lo: "ann/x", hi: keySuccessor("ann/y") } as const;
    const { units } = redact("all", whole({ caller: "ann", units: [spanId(span)] }), turned);
    expect(units).toEqual([spanId({ ...span, lo: "zzz/x", hi: keySuccessor("zzz/y") })]);
  });

  test("by name the values of rows are redacted, and keys stay", () => {
    const named = redact(["posts.*"], of(prefix), SECRETS);
    expect(named.units).toEqual([spanId(prefix), ANN, BOB]);
    expect(decodeDirectory(named.values!.get(spanId(prefix))!).map(({ key, hash }) => [key, hash])).toEqual([
      ["room/ann", contentHash(text("xxx"))],
      ["room/bob", contentHash(text("xxx"))],
    ]);
  });

  test("a number stays", () => {
    const count = spanId({ ...prefix, kind: "count" });
    const { values } = redact("all", whole({ units: [count], values: new Map([[count, encodeCount(7)]]) }), SECRETS);
    expect(values).toEqual(new Map([[count, encodeCount(7)]]));
  });
});

describe("secrets", () => {
  const args = (password: string | null): Uint8Array => {
    const writer = new CborWriter().map(2).text("name").text("ann").text("password");
    return (password === null ? writer.null() : writer.text(password)).finish();
  };
  const shown = args("‹secret›");

  test("are redacted whatever is asked for, and that is told", () => {
    const login = whole({ args: args("hunter22"), secrets: ["password"] });
    expect(redact([], login, SECRETS)).toMatchObject({ args: shown, redacted: ["@arguments.password"] });
    expect(redact(["@arguments.password", "@caller"], login, SECRETS)).toMatchObject({
      args: shown,
      redacted: ["@arguments.password"],
    });
    const all = redact("all", login, SECRETS);
    expect(Buffer.from(all.args).toString()).toContain("‹secret›");
    expect(Buffer.from(all.args).toString()).not.toContain("hunter22");
    expect(all.redacted).toEqual(["*"]);
  });

  test("a secret that is null stays, and bytes that are not arguments go whole", () => {
    expect(withoutSecrets(args(null), ["password"])).toEqual(args(null));
    expect(withoutSecrets(args("hunter22"), [])).toEqual(args("hunter22"));
    const all = Buffer.from(withoutSecrets(args("hunter22"), ["*"])).toString();
    expect([all.includes("ann"), all.includes("hunter22")]).toEqual([false, false]);
    expect(withoutSecrets(Uint8Array.of(0xa1, 0x68, 0x75), ["password"])).toEqual(Uint8Array.of(0xf6));
  });
});
