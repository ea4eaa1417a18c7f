/** The cost model, by bills that were worked out by hand. */
import { expect, test } from "vitest";
import {
  type Bill,
  carried,
  type CentralRequest,
  centralLambdaBill,
  centralMachinesBill,
  centralWorkerBill,
  type Load,
  perMonth,
  radicalBill,
  type RadicalRequest,
} from "./cost.ts";

const LOAD: Load = { requestsPerMonth: 10e6, locations: 5, storedGb: 5, capacity: "on demand" };

const REQUEST: RadicalRequest = {
  locationCpuMs: 20,
  primaryCpuMs: 0.1,
  cacheCalls: 1.5,
  cacheRowsRead: 10,
  cacheRowsWritten: 2,
  readUnits: 0.1,
  writeUnits: 1.4,
  primaryBytes: 1_000,
};

const CENTRAL: CentralRequest = {
  cpuMs: 20,
  storageMs: 5,
  readUnits: 10,
  writeUnits: 0.4,
  storageBytes: 30_000,
  answerBytes: 10_000,
};

function linesOf({ lines }: Bill): Readonly<Record<string, number>> {
  return Object.fromEntries(lines.map(({ what, dollars }) => [what, Math.round(dollars * 100) / 100]));
}

test("a month of Radical", () => {
  const bill = radicalBill(REQUEST, LOAD);
  expect(linesOf(bill)).toEqual({
    "Workers: the plan": 5,
    // 10 million are included.
    "Workers: calls": 0,
    // 200 million ms less 30, at $0.02.
    "Workers: computing": 3.4,
    // 15 million less 1, at $0.15.
    "caches: calls": 2.1,
    // 5 objects for 2,628,000 s with 0.128 GB are 1.68192 million GB-s; less 0.4, at $12.50.
    "caches: awake": 16.02,
    "caches: rows read": 0,
    "caches: rows written": 0,
    "caches: stored": 0,
    // 2 machines for 730 hours at $0.0168, 2 addresses at $0.005, 16 GB at $0.08, 17 alarms, 14 metrics.
    "primary: leader and standby": 39.01,
    // 1 million units at $0.125; 14 million at $0.625; 5 GB at $0.25 and $0.20.
    "DynamoDB: reads": 0.13,
    "DynamoDB: writes": 8.75,
    "DynamoDB: stored": 2.25,
    // 10 GB, of 100 that are free.
    "traffic out of AWS": 0,
  });
  expect(bill.dollars).toBeCloseTo(76.66, 2);
  expect(bill.infrastructure).toBeCloseTo(76.66 - 8.4, 2);
});

test("what is beyond the included, and beyond one object's calls", () => {
  const bill = radicalBill(REQUEST, { ...LOAD, requestsPerMonth: 10_000e6 });
  expect(linesOf(bill)).toMatchObject({
    // 9,990 million at $0.30.
    "Workers: calls": 2_997,
    // 199,970 million ms at $0.02.
    "Workers: computing": 3_999.4,
    // 14,999 million at $0.15.
    "caches: calls": 2_249.85,
    // 15,000 million calls in 2,628,000 s are 5,707.8 a second: 6 objects, 2.018304 million GB-s less 0.4, at $12.50.
    "caches: awake": 20.23,
    // 100,000 million less 25,000, at $0.001.
    "caches: rows read": 75,
    // 20,000 million less 50, at $1.
    "caches: rows written": 19_950,
    // 10,000 GB less 100, at $0.09.
    "traffic out of AWS": 891,
    // 0.38052 vCPUs, of which 0.4 come with a t4g.small.
    "primary: leader and standby": 39.01,
  });
});

test("a primary that one machine does not carry has no price", () => {
  const load: Load = { ...LOAD, requestsPerMonth: 10_000e6 };
  expect(carried(REQUEST, load)).toBe(true);
  expect(carried({ ...REQUEST, primaryCpuMs: 10 }, load)).toBe(false);
  expect(() => radicalBill({ ...REQUEST, primaryCpuMs: 10 }, load)).toThrow("one server does not take 38.1 vCPUs");
});

test("a month of a Worker near the storage", () => {
  const bill = centralWorkerBill(CENTRAL, LOAD);
  expect(linesOf(bill)).toEqual({
    "Workers: the plan": 5,
    "Workers: calls": 0,
    "Workers: computing": 3.4,
    // 100 million units at $0.125, 4 million at $0.625.
    "DynamoDB: reads": 12.5,
    "DynamoDB: writes": 2.5,
    "DynamoDB: stored": 2.25,
    // 300 GB less 100, at $0.09.
    "traffic out of AWS": 18,
  });
  expect(bill.dollars).toBeCloseTo(43.65, 2);
  expect(bill.infrastructure).toBeCloseTo(35.25, 2);
});

test("a month of Lambda", () => {
  expect(linesOf(centralLambdaBill(CENTRAL, LOAD))).toMatchObject({
    // 9 million at $0.20.
    "Lambda: calls": 1.8,
    // 10 million times 25 ms with 1.769 GB are 0.44225 million GB-s; less 0.4, at $13.3334.
    "Lambda: time": 0.56,
    "DynamoDB: reads": 12.5,
    // 100 GB, which are free.
    "traffic out of AWS": 0,
  });
});

test("a month of machines", () => {
  expect(linesOf(centralMachinesBill(CENTRAL, LOAD))).toMatchObject({
    // 0.0761 vCPUs: two t4g.micro at $0.0084 for 730 hours, whose shares are 0.4, with 16 GB at $0.08.
    machines: 13.54,
    // $0.0225 for 730 hours; 0.136986 GB an hour, so that many units at $0.008; two addresses at $0.005.
    "load balancer": 24.53,
  });
  // 100 requests a second with 120 ms are 12 vCPUs, 20 at 60 %. Ten t4g.micro are the cheapest: 10 × 0.0084 × 730 = 61.32,
  // 12 − 10 × 2 × 0.1 = 10 beyond their shares at 0.04 × 730 = 292, and disks for 6.40.
  expect(
    linesOf(centralMachinesBill({ ...CENTRAL, cpuMs: 120 }, { ...LOAD, requestsPerMonth: perMonth(100) })),
  ).toMatchObject({ machines: 359.72 });
});

test("capacity that is there all the time", () => {
  const load: Load = { ...LOAD, requestsPerMonth: perMonth(7), capacity: "provisioned" };
  expect(linesOf(centralWorkerBill(CENTRAL, load))).toMatchObject({
    // 70 units a second at 70 % are 100, at $0.00013 for 730 hours; 2.8 are 4, at $0.00065.
    "DynamoDB: reads": 9.49,
    "DynamoDB: writes": 1.9,
  });
});
