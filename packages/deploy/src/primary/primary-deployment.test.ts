import { expect, test } from "vitest";
import { awsDescription, awsPlaceOf } from "../aws-half.ts";
import { newAdministrationKey } from "@radical/admin";
import { operatingKey, type PrimaryState, signingKey } from "./primary-deployment.ts";

const fresh = { id: "fresh", secret: "5e" };
const old = { id: "old", secret: "ec" };
const freshAdmin = newAdministrationKey("fresh-admin");
const oldAdmin = newAdministrationKey("old-admin");
const state: PrimaryState = {
  access: { account: "123456789012", region: "eu-central-1" },
  nodes: [],
  keys: [fresh, old],
  administration: [freshAdmin, oldAdmin],
  keysReadAtMs: 1_000,
  artefact: "",
  tablePrefix: "",
  logGroup: "",
  stack: "",
};

test("a fresh key signs only when every machine has read it", () => {
  expect(signingKey(state, 999)).toBe(old);
  expect(signingKey(state, 1_000)).toBe(fresh);
  expect(signingKey({ ...state, keys: [fresh] }, 0)).toBe(fresh);
  expect(signingKey({ ...state, keys: [] }, 0)).toBeNull();
  expect(operatingKey(state, 999)).toBe(oldAdmin);
  expect(operatingKey(state, 1_000)).toBe(freshAdmin);
  expect(operatingKey({ ...state, administration: [freshAdmin] }, 0)).toBe(freshAdmin);
  expect(operatingKey({ ...state, administration: [] }, 0)).toBeNull();
});

test("a primary at AWS is found again by its description, one of one's own is none", () => {
  const description = awsDescription(state.access, "radical-shop-production");
  expect(awsPlaceOf(description)).toEqual(state.access);
  expect(awsPlaceOf("https://a.example.com,https://b.example.com")).toBeNull();
});
