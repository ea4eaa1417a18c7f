import { expect, test } from "vitest";
import { missingPackage } from "./missing-package.ts";

test("a command that needs the package for deployments says how it is installed", () => {
  const cannotFind = (name: string): Error =>
    Object.assign(new Error(`Cannot find package '${name}' imported from /a/b.js`), { code: "ERR_MODULE_NOT_FOUND" });
  expect(missingPackage(cannotFind("@radical/deploy"))).toMatchObject({
    code: "not_installed",
    hint: expect.stringMatching(/^Install it: npm install --save-dev @radical\/deploy@\d+\.\d+\.\d+$/) as unknown,
  });
  expect(missingPackage(cannotFind("hono"))).toBeNull();
  expect(missingPackage("Cannot find package '@radical/deploy'")).toBeNull();
});
