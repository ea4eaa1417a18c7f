/** The failpoints that only an application with workflows reaches. */
import { FAILPOINTS } from "../src/failpoints.ts";

export const WORKFLOW_FAILPOINTS: readonly string[] = Object.keys(FAILPOINTS).filter((name) =>
  /^(?:storage\.(?:workflow|entry-|arrival-|parts-)|run\.activat|sqlite\.half-arrived)/.test(name),
);
