/** The parts of the pages about costs that are made from the prices and the cost model. */
import { ASSUMPTIONS, type Bill, radicalBill } from "./cost.ts";
import { LOOKED_UP, MACHINE_TYPES, MACHINES_PAGE, PRICES, SHARES_PAGE } from "./prices.ts";
import { dollars, table } from "./markdown-table.ts";

export function costsPart(argument: string): string {
  switch (argument) {
    case "prices":
      return pricesTable();
    case "assumptions":
      return ASSUMPTIONS.map((each) => `* ${each}`).join("\n");
    case "example":
      return exampleTable(EXAMPLE);
    default:
      throw new Error(`there is no part "${argument}" about costs`);
  }
}

/** 10 million calls, of which a fifth write one item of 1 KB; 20 ms of computing each; five busy locations; 5 GB of data. */
const EXAMPLE: Bill = radicalBill(
  {
    locationCpuMs: 20,
    primaryCpuMs: 0.5,
    cacheCalls: 1.5,
    cacheRowsRead: 10,
    cacheRowsWritten: 0.5,
    readUnits: 0.1,
    writeUnits: 1.4,
    primaryBytes: 1_000,
  },
  { requestsPerMonth: 10e6, locations: 5, storedGb: 5, capacity: "on demand" },
);

function exampleTable(bill: Bill): string {
  const rows = bill.lines.filter((line) => line.dollars >= 0.005).map((line) => [line.what, dollars(line.dollars)]);
  return table(["", "a month"], [...rows, ["**together**", `**${dollars(bill.dollars)}**`]]);
}

function pricesTable(): string {
  const rows = Object.values(PRICES).map(({ what, dollars: price, unit, included, page }) => [
    `[${what}](${page})`,
    included === 0 ? "" : included.toLocaleString("en"),
    `$${price}`,
    unit,
  ]);
  const types = MACHINE_TYPES.map(({ name, dollarsPerHour, vCpus, share }) => [
    name,
    `$${dollarsPerHour}`,
    String(vCpus),
    `${share * 100} %`,
  ]);
  return [
    table(["", "included", "price", "for a"], rows),
    "",
    `Machines, by [price](${MACHINES_PAGE}) and [share of the processor](${SHARES_PAGE}), looked up on ${LOOKED_UP}:`,
    "",
    table(["type", "an hour", "vCPUs", "share of each"], types),
  ].join("\n");
}
