/** Names and paths on which Workers agree with those that start or deploy them. Workers import this too: nothing here needs Node. */
export * from "./build/internal-requests.ts";

/** Within what the pinned workerd supports. */
export const COMPATIBILITY_DATE = "2026-11-01";

/** The class of the caches' Durable Objects. */
export const CACHE_CLASS = "RadicalCache";
