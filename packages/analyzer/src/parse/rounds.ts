/**
 * Loops that are counted: read/write-set functions run on items that are not there, or not any more, where a loop of the
 * handler might go on for ever, and no engine that runs them stops one. So each of their loops, those of the library too,
 * takes from one count of rounds, and the run ends with the last.
 */
import { MAX_ROUNDS } from "@radical/protocol";
import { as, BinaryOp, UnaryOp } from "./assemblyscript.ts";

/** How many rounds the run has left. */
const ROUNDS = "~radical/rounds";

/** From here on all loops of the module are counted. `tooMany`: a call that does not return. */
export function countRounds(module: as.Module, tooMany: () => as.ExpressionRef): void {
  const i32 = as.Type.i32.toRef();
  module.addGlobal(ROUNDS, i32, true, module.i32(MAX_ROUNDS));
  const loop = module.loop.bind(module);
  module.loop = (label, body) => {
    const left = module.global_get(ROUNDS, i32);
    const count = module.global_set(ROUNDS, module.binary(BinaryOp.SubI32, left, module.i32(1)));
    const isLast = module.unary(UnaryOp.EqzI32, module.global_get(ROUNDS, i32));
    const check = module.if(isLast, module.block(null, [tooMany(), module.unreachable()]));
    return loop(label, module.block(null, [count, check, body], as.getExpressionType(body)));
  };
}
