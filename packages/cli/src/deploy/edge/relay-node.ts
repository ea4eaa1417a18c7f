/** Which server behind the relay a request is for: `a` or `b`, whether it leads or not. Without it: the one that leads. */
export const NODE_HEADER = "x-radical-node";
