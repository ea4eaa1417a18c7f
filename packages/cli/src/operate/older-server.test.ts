import { PrimaryError } from "@radical/admin";
import { expect, test } from "vitest";
import { explained } from "./older-server.ts";

test("a server that has nothing at the address is of an earlier version; other errors stay as they are", async () => {
  const failing = (answered: string | null): PrimaryError =>
    new PrimaryError("primary_not_serving", "No.", "", answered);
  for (const what of ["tasks", "schedules", "workflows", "metrics"] as const)
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await expect(explained(what, () => Promise.reject(failing("not_found")))).rejects.toMatchObject({
      code: `no_${what}_there`,
      message: `The LVI server knows no ${what}: it is of an earlier version.`,
    });
  const other = failing("unauthorized");
  await expect(explained("tasks", () => Promise.reject(other))).rejects.toBe(other);
  expect(await explained("tasks", () => Promise.resolve(1))).toBe(1);
});
