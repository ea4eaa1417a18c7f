/** The two machines; one leads, the other stands by. Which one does is decided by the leadership in storage alone. */
export const NODES = ["a", "b"] as const;
export type NodeName = (typeof NODES)[number];

/** Which server behind the relay a request is for: `a` or `b`, whether it leads or not. Without it: the one that leads. */
export const NODE_HEADER = "x-radical-node";
