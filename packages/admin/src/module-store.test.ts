import { ABI_VERSION, DEFAULT_LIMITS, encodeModuleContent, type ModuleContent } from "@radical/protocol";
import { expect, test } from "vitest";
import { CommandError } from "@radical/app/command-error";
import { readModule } from "./module-store.ts";

const CONTENT: ModuleContent = {
  abi: ABI_VERSION,
  limits: DEFAULT_LIMITS,
  handlers: { show: { plan: "sliced", tables: null } },
  wasm: new Uint8Array([1]),
  rwWasm: new Uint8Array([2]),
};

test("a module of this release, and of an earlier one", () => {
  expect(readModule(encodeModuleContent(CONTENT))).toEqual(CONTENT);
  const limits = { ...DEFAULT_LIMITS, speculationFuel: DEFAULT_LIMITS.fuel };
  const earlier = { ...CONTENT, abi: ABI_VERSION - 1, limits };
  expect(readModule(encodeModuleContent(earlier))).toEqual(earlier);
});

test("a module of a newer release is no fault of this one", () => {
  const newer = encodeModuleContent({ ...CONTENT, abi: ABI_VERSION + 1 });
  expect(() => readModule(newer)).toThrow(CommandError);
  expect(() => readModule(newer)).toThrow(
    /the module has ABI version \d+, and this release of Radical runs \d+ to \d+/,
  );
});
