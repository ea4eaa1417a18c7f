import { expect, test } from "vitest";
import { bindingOf, bucketName, ENVIRONMENT_NAME, primaryNames } from "./names.ts";
import { NODES } from "@radical/protocol";

const LONGEST = { application: `a${"b".repeat(62)}`, environment: `c${"d".repeat(31)}` };

test("names of AWS are as long and as they may be, also for the longest application and environment", () => {
  const { stack, tablePrefix, tunnels } = primaryNames(LONGEST);
  expect(LONGEST.environment).toMatch(ENVIRONMENT_NAME);
  expect(stack).toMatch(/^[a-zA-Z][-a-zA-Z0-9]{0,127}$/);
  expect(`${tablePrefix}-executions`).toMatch(/^[a-zA-Z0-9_.-]{3,255}$/);
  expect(bucketName(LONGEST, "123456789012", "ap-southeast-1")).toMatch(/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/);
  expect(tunnels.a).not.toBe(tunnels.b);
});

test("two deployments share no name", () => {
  // Else shop in "a-b" would be shop-a in "b".
  expect("a-b").not.toMatch(ENVIRONMENT_NAME);
  const deployments = [
    { application: "shop", environment: "production" },
    { application: "shop", environment: "staging" },
    { application: "shop-staging", environment: "production" },
    { application: "shop-production", environment: "staging" },
  ];
  const names = deployments.map((name) => primaryNames(name));
  for (const of of [
    names.map(({ parameters }) => parameters.prefix),
    names.map(({ logGroup }) => logGroup),
    names.map(({ stack }) => stack),
    names.map(({ tablePrefix }) => tablePrefix),
    deployments.map((name) => bucketName(name, "123456789012", "us-east-1")),
  ])
    expect(new Set(of).size).toBe(deployments.length);
});

test("each machine has a binding of its own in the Worker", () => {
  expect(NODES.map(bindingOf)).toEqual(["RADICAL_PRIMARY_A", "RADICAL_PRIMARY_B"]);
});

test("tables that were restored have a prefix of their own, and nothing else is called otherwise", () => {
  const { tablePrefix, ...others } = primaryNames({ ...LONGEST, tables: "restored" });
  expect(tablePrefix).toBe("restored");
  expect(primaryNames(LONGEST)).toMatchObject(others);
  expect(primaryNames({ ...LONGEST, tables: null })).toEqual(primaryNames(LONGEST));
});
