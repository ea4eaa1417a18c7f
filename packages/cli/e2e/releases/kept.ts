/** The releases that are kept as fixtures, the oldest first. */
export const KEPT = ["abi-4", "base"] as const;

/**
 * The release before this one. Nothing is published yet: it is the state of the repository from which on storage and wire change by
 * rules. It is packed again whenever one of them grows, until the first release.
 */
export const BEFORE = "base";
