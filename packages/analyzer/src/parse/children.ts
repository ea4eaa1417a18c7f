import { as } from "./assemblyscript.ts";

/** Whatever nodes the node holds, whichever kind it has, in the order of its fields. */
export function childrenOf(node: as.Node): as.Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is as.Node => value instanceof as.Node);
}
