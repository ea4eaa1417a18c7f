/** What a release to come takes: one more version of the framing, which it does not send yet, and one more of the ABI. */
import { ABI as PRESENT_ABI, FRAMING as PRESENT } from "../../../../protocol/src/wire-version.ts";

export * from "../../../../protocol/src/wire-version.ts";
export const FRAMING = { ...PRESENT, newest: PRESENT.newest + 1 };
export const ABI = { ...PRESENT_ABI, sent: PRESENT_ABI.sent + 1 };
export const ABI_VERSION: number = ABI.sent;
export const OLDEST_ABI_VERSION: number = ABI.floor;
