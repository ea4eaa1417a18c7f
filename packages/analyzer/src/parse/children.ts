import { as } from "./assemblyscript.ts";

/** Whatever nodes the node holds, whichever kind it has, in the order of its fields. */
export function childrenOf(node: as.Node): as.Node[] {
  const children: as.Node[] = [];
  for (const value of Object.values(node) as unknown[]) {
    if (value instanceof as.Node) children.push(value);
    else if (Array.isArray(value)) children.push(...value.filter((item) => item instanceof as.Node));
  }
  return children;
}
