/**
 * Where an `i64` and an `f64` meet, both count as an `f64`: `now() < event.startsAt` with a `number`. The compiler has no
 * type in common for them, since an `f64` does not have every `i64`. A handler that comes upon such a number ends
 * (`Arithmetic.exact`).
 */
import { as } from "./assemblyscript.ts";

/** Teaches the compiler this, once for the process. */
export function mendCommonTypes(): void {
  const commonType = as.Type.commonType.bind(as.Type);
  as.Type.commonType = (left, right, ...given) => {
    const found = commonType(left, right, ...given);
    if (found !== null) return found;
    const isMixed = (left === as.Type.i64 && right === as.Type.f64) || (left === as.Type.f64 && right === as.Type.i64);
    return isMixed ? as.Type.f64 : null;
  };
}
