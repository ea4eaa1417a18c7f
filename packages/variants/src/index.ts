export { Anchors } from "./anchors.ts";
export {
  after,
  argument,
  before,
  condition,
  type Edit,
  expression,
  remove,
  replace,
  returns,
  value,
  type Variant,
} from "./edits.ts";
export { VariantLoader } from "./variant-loader.ts";
export { type Node, nodesOf, parse, partAfter } from "./syntax.ts";
