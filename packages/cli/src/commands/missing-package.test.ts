import { expect, test } from "vitest";
import { missingPackage } from "./missing-package.ts";

test("a command that needs the package for deployments says how it is installed", async () => {
  const error = await import(`@radical/${"deploy"}-is-not-there`).catch((cause: unknown) => cause);
  expect(missingPackage(error)).toBeNull();
  const missing = Object.assign(new Error("Cannot find package '@radical/deploy' imported from /a/b.js"), {
    code: "ERR_MODULE_NOT_FOUND",
  });
  expect(missingPackage(missing)).toMatchObject({
    code: "not_installed",
    hint: expect.stringMatching(/^Install it: npm install --save-dev @radical\/deploy@\d+\.\d+\.\d+$/) as unknown,
  });
  expect(missingPackage("Cannot find package '@radical/deploy'")).toBeNull();
});
