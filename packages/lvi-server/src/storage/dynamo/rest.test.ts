import { CborWriter } from "@radical/protocol";
import { expect, test } from "vitest";
import { nativeAttributes } from "./attributes.ts";
import { type Change, decodeRest, encodeRest } from "./rest.ts";

/** Bytes by themselves, bytes inside a value, and a text under the name of the attribute of bytes. */
const VALUES = [
  Uint8Array.of(0xff, 0),
  new CborWriter().array(1).bytes(Uint8Array.of(1, 2)).finish(),
  new CborWriter().map(1).text("B").text("AQI=").finish(),
];

test.each(VALUES)("changes are the same after they were kept in parts", (value) => {
  const change = (bytes: Uint8Array): Change => ({
    kind: "put",
    table: "items",
    item: { bucket: { S: "item#00" }, key: { S: "a" }, ...nativeAttributes("value", bytes) },
  });
  const gone: Change = { kind: "delete", table: "executions", key: { bucket: { S: "00" }, id: { S: "b" } } };
  expect(decodeRest(encodeRest([change(value), gone]))).toEqual([change(value), gone]);
  expect(decodeRest(encodeRest([change(Buffer.from(value)), gone]))).toEqual([change(value), gone]);
});
