/** For tests: rules of the front end, each with a way to break it: numbers, texts and patterns. */
import { condition, expression, remove, returns } from "@radical/variants";
import type { Mutant } from "./mutants.ts";

export const FRONT_MUTANTS: readonly Mutant[] = [
  { rule: "a sum is checked for overflow", edits: [condition("overflow-checked", `$ || operator === "+"`)] },
  { rule: "a product is checked for overflow", edits: [condition("overflow-checked", `$ || operator === "*"`)] },
  {
    rule: "numbers of 8 bits are checked for overflow",
    edits: [condition("overflow-checked", `$ || type.size === 8`)],
  },
  { rule: "numbers of 8 bits overflow at 8 bits", edits: [expression("narrowed-result", `type.size === 8`, `false`)] },
  { rule: "a constant that does not fit is an error of the build", edits: [remove("constant-overflow")] },
  { rule: "a division in a sum is found", edits: [returns("division-in-sum", `null`)] },
  { rule: "a division in a variable is found", edits: [returns("division-in-variable", `null`)] },
  { rule: "a division that toString makes a text is found", edits: [remove("division-to-text")] },
  { rule: "a test of a number with one answer is told", edits: [remove("constant-range-test")] },
  { rule: "a list of numbers is sorted by a function", edits: [remove("sort-order-told")] },
  { rule: "a text that is written for a union is one of it", edits: [remove("written-text-told")] },
  { rule: "a text that is computed for a union is checked", edits: [remove("computed-text-checked")] },
  { rule: "a handler's parameter has a name", edits: [condition("parameter-named", `false`)] },
  { rule: "a default does not take the place of null", edits: [returns("default-for-absent", `true`)] },
  { rule: "includes finds not-a-number", edits: [condition("includes-nan", `false`)] },
];
