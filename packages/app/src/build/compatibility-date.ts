/** Within what the pinned workerd supports. */
export const COMPATIBILITY_DATE = "2026-11-01";
