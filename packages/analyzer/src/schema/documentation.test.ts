import { expect, test } from "vitest";
import { documentationOf } from "./documentation.ts";

function documented(
  source: string,
): readonly [description: string | null, parameters: Readonly<Record<string, string>>] {
  const { description, parameters } = documentationOf(source, source.indexOf("buy"));
  return [description, Object.fromEntries(parameters)];
}

test("description and parameters, without stars and other tags", () => {
  expect(
    documented(`/** Of the file. */
import { Table } from "@radical/sdk";
/**
 * Buys a seat.
 *
 *     indented code
 *
 * @param event the event's id,
 *   as listEvents gives it
 * @param {i32} count - how many
 * @param [note] for the guest
 * @returns the ticket
 * @nearstorage
 */
export function buy(event: string, count: i32, note: string = ""): string {`),
  ).toEqual([
    "Buys a seat.\n\n    indented code",
    { event: "the event's id,\n  as listEvents gives it", count: "how many", note: "for the guest" },
  ]);
  expect(documented("/** Buys. */ export function buy(): void {}")).toEqual(["Buys.", {}]);
  expect(documented("/** Buys.\r\n * Really. */\r\n// a note\r\n@inline\r\nexport function buy(): void {}")).toEqual([
    "Buys.\nReally.",
    {},
  ]);
});

test("another comment is not the function's", () => {
  const sources = [
    "export function buy(): void {}",
    "/* Buys. */ export function buy(): void {}",
    "/***/ export function buy(): void {}",
    "/** @nearstorage */ export function buy(): void {}",
    "/** Other. */ const x: i32 = 1;\nexport function buy(): void {}",
    "/** Other. */ export function other(): void {}\nexport function buy(): void {}",
  ];
  expect(sources.map((source) => documented(source))).toEqual(sources.map(() => [null, {}]));
});
