/** The texts of nodes that stand for something else in the source. */
import type { as } from "./assemblyscript.ts";

const TEXTS = new WeakMap<as.Node, string>();

/** The node, with a text of its own. */
export function written<N extends as.Node>(node: N, text: string): N {
  TEXTS.set(node, text);
  return node;
}

/** Undefined: the developer wrote the node. */
export function writtenText(node: as.Node): string | undefined {
  return TEXTS.get(node);
}
