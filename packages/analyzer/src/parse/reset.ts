/**
 * Adds to a compiled module the function that sets every global that can change to its initial value, so that a host may
 * run an instance again (see `RESET_EXPORT`). Last of all: it must know every global there is.
 */
import { RESET_EXPORT } from "@radical/protocol";
import { binaryen } from "./assemblyscript.ts";

export function addReset(module: binaryen.Module): void {
  const sets: binaryen.ExpressionRef[] = [];
  for (let index = 0; index < module.getNumGlobals(); index++) {
    const { name, mutable, init } = binaryen.getGlobalInfo(module.getGlobalByIndex(index));
    if (mutable) sets.push(module.global.set(name, module.copyExpression(init)));
  }
  module.addFunction(RESET_EXPORT, binaryen.none, binaryen.none, [], module.block(null, sets));
  module.addFunctionExport(RESET_EXPORT, RESET_EXPORT);
}
