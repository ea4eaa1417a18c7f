/**
 * For tests: the rules of ANALYSIS.md, each with a way to break it in the source of the analyzer. A test loads every
 * mutant and demands that some fixture notices. The sources name the places in anchors, comments `// variant: …`.
 */
import { fileURLToPath } from "node:url";
import {
  Anchors,
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
} from "@radical/variants";
import { FRONT_MUTANTS } from "./front-mutants.ts";

export interface Mutant {
  /** The rule that is broken, in words. */
  readonly rule: string;
  readonly edits: readonly Edit[];
  /** The only handler that is run: some of the others would not end. */
  readonly runOnly?: string;
}

/** The anchors in the sources of the analyzer. */
export function readAnchors(): Anchors {
  return Anchors.in([fileURLToPath(new URL("../", import.meta.url))]);
}

export function variantOf({ rule, edits }: Mutant): Variant {
  return { name: rule, edits };
}

/** The rules of the analysis. */
const RULES: readonly Mutant[] = [
  // Rule 1: accesses
  {
    rule: "the key of an access is needed",
    edits: [argument("access-key", "visit", 1, `false`)],
  },
  {
    rule: "an access is an effect of the function that makes it",
    edits: [remove("access-effect")],
  },
  {
    rule: "which table is accessed is needed",
    edits: [argument("access-table", "visit", 1, `false`)],
  },
  // Rule 2: reading what was written
  {
    rule: "a read whose value is needed needs its table",
    edits: [remove("read-needs-table")],
  },
  {
    rule: "a put that is read again stays",
    edits: [remove("put-stored")],
  },
  {
    rule: "a put that is read again needs what encoding reads",
    edits: [remove("put-encodes")],
  },
  {
    rule: "what a value refers to is encoded with it",
    edits: [remove("encoded-targets")],
  },
  {
    rule: "a write that is read again is an effect of its function",
    edits: [remove("put-defines-table")],
  },
  {
    rule: "the key of a put is computed before the reads in its value",
    edits: [returns("put-parts", `[...valueEffects, access(table, key)]`)],
  },
  {
    rule: "the table of a put is chosen before the reads in its value",
    edits: [returns("put-parts", `[...before, ...valueEffects, access(table, parts[1])]`)],
  },
  // Ranges
  {
    rule: "a scan needs its table, as its walk comes by own writes",
    edits: [remove("scan-needs-table")],
  },
  {
    rule: "the number of rows is needed",
    edits: [argument("scan-limit", "visit", 1, `false`)],
  },
  {
    rule: "the range of a scan is needed",
    edits: [argument("scan-range", "visit", 1, `false`)],
  },
  {
    rule: "a missing field of a row has its initial value",
    edits: [remove("missing-fields-of-rows")],
  },
  {
    rule: "a scan decodes the objects of its rows",
    edits: [returns("rows-decoded", `NONE`)],
  },
  // Rule 3: definitions
  {
    rule: "an assignment to a live location is kept",
    edits: [condition("assignment-live", `!needed`)],
  },
  {
    rule: "the value of a kept assignment is needed",
    edits: [argument("assigned-value", "visit", 1, `false`)],
  },
  {
    rule: "a compound assignment needs the old value",
    edits: [remove("old-value")],
  },
  {
    rule: "the old value is read before the right side runs",
    edits: [before("assigned-value", `needOld();`), remove("old-value-first")],
  },
  {
    rule: "cells and globals are never killed",
    edits: [expression("assigned-location", `this.#define(location, state)`, `$, state.live.delete(location)`)],
  },
  {
    rule: "a kept definition of a shared location is an effect of its function",
    edits: [remove("shared-definition")],
  },
  {
    rule: "the object of an assigned field is needed",
    edits: [argument("assigned-object", "visit", 1, `false`)],
  },
  {
    rule: "container and index of an assigned element are needed",
    edits: [argument("assigned-container", "visitAll", 1, `false`)],
  },
  {
    rule: "a field that is read needs its cells",
    edits: [remove("field-cells")],
  },
  // Rule 4: draws
  {
    rule: "a draw needs the draws of its site before it",
    edits: [remove("draw-order")],
  },
  {
    rule: "a draw is an effect of its function",
    edits: [remove("draw-effect")],
  },
  // Rule 5: conditions
  {
    rule: "the condition of a kept branch is needed",
    edits: [argument("branch-condition", "visit", 1, `false`)],
  },
  {
    rule: "what is live in either branch is live before the condition",
    edits: [remove("branches-joined")],
  },
  {
    rule: "the condition of a kept loop is needed",
    edits: [argument("loop-condition", "visit", 1, `false`)],
  },
  {
    rule: "what is live at the head of a loop is live at its end",
    edits: [replace("loop-head-grows", `grew = kept !== keptBefore; if (!grew) head.join(point);`)],
    runOnly: "noRound",
  },
  {
    rule: "the discriminant of a kept switch is needed",
    edits: [argument("switch-discriminant", "visit", 1, `false`)],
  },
  {
    rule: "a case falls into the next",
    edits: [
      before("case-body", `const own = after.copy();`),
      argument("case-body", "statements", 1, `own`),
      argument("case-falls", "join", 0, `own`),
    ],
  },
  {
    rule: "the left side of && and || decides about effects in the right one",
    edits: [argument("logical-left", "visit", 1, `needed`)],
  },
  {
    rule: "the right side of && and || may not run",
    edits: [remove("logical-skipped")],
  },
  {
    rule: "the condition of ?: decides about effects in its sides",
    edits: [argument("choice-condition", "visit", 1, `needed`)],
  },
  // Rule 6: jumps
  {
    rule: "a break or continue over something kept is kept",
    edits: [condition("jump-dropped", `state.next !== null || target.next !== null`)],
  },
  {
    rule: "a return over something kept is kept",
    edits: [value("return-kept", `valueNeeded`)],
  },
  {
    rule: "a kept jump sees what is live at its target",
    edits: [remove("jump-target")],
  },
  // Rule 8: calls
  {
    rule: "a call whose callee makes accesses or defines what is live is kept",
    edits: [condition("call-matters", `summary.stops && state.accessFollows`)],
  },
  {
    rule: "what is live after a call is live at the end of the callee",
    edits: [remove("callee-exit")],
  },
  {
    rule: "what a callee uses is live before the call",
    edits: [remove("callee-uses")],
  },
  {
    rule: "effects of a callee are effects of the caller",
    edits: [remove("callee-defines"), remove("callee-accesses")],
  },
  {
    rule: "the result of a call that is needed is computed",
    edits: [remove("callee-result")],
  },
  {
    rule: "an argument that the callee needs is needed",
    edits: [value("argument-needed", `isFixed`)],
  },
  {
    rule: "an effect inside an argument keeps the argument",
    edits: [replace("argument-effect", `this.#visit(argument, argumentNeeded, state);`)],
  },
  {
    rule: "the receiver of a kept call is needed",
    edits: [argument("receiver-needed", "visit", 1, `false`)],
  },
  {
    rule: "a function that is passed on is whole",
    edits: [remove("function-passed-on")],
  },
  {
    rule: "a constructor calls the one of its base class",
    edits: [expression("super-constructor", `isSuperConstructor`, `false`)],
  },
  {
    rule: "overrides may be called",
    edits: [expression("overrides-called", `overrides.filter((override) => override !== source)`, `[]`)],
  },
  // Rule 9: fields
  {
    rule: "initializers of kept fields run in the constructor",
    edits: [remove("initializer-defines"), argument("initializer-needed", "visit", 1, `false`)],
  },
  {
    rule: "a missing field of a decoded record has its initial value",
    edits: [remove("missing-fields")],
  },
  // Rule 10: globals
  {
    rule: "the initial value of a live global is kept",
    edits: [argument("global-initializer", "visit", 1, `false`)],
  },
  {
    rule: "effects of the initial values of other globals are kept",
    edits: [expression("global-effects", `this.#visit(global.initializer, false, state)`, `global.span === null`)],
  },
  // Rule 11: the library
  {
    rule: "a member that changes a live container is kept",
    edits: [value("member-writes", `false`)],
  },
  {
    rule: "a change of a container is an effect of its function",
    edits: [remove("content-defined")],
  },
  {
    rule: "a member reads its container",
    edits: [remove("content-read")],
  },
  {
    rule: "a member reads the containers among its arguments",
    edits: [remove("arguments-read")],
  },
  {
    rule: "callbacks are called",
    edits: [value("callbacks-called", `false`)],
  },
  {
    rule: "a callback runs any number of times",
    edits: [replace("callback-rounds", `break;`)],
  },
  {
    rule: "members call operators of the application",
    edits: [returns("operators-called", `pointsTo.callbacksOf(expression)`)],
  },
  {
    rule: "operators that members call are given the elements",
    edits: [argument("operators-given", "bind", 1, `NONE`), argument("operators-given", "bind", 2, `[]`)],
  },
  {
    rule: "a default value runs if the argument is left out",
    edits: [replace("default-value", `this.#visit(defaultValue, false, state);`)],
  },
  {
    rule: "push changes its array",
    edits: [argument("library-push", "define", 2, `{ ...$, writes: false }`)],
  },
  {
    rule: "push stores its argument",
    edits: [argument("library-push", "define", 2, `{ ...$, storesArguments: false }`)],
  },
  {
    rule: "set of a map changes it",
    edits: [argument("library-set", "define", 2, `{ ...$, writes: false }`)],
  },
  {
    rule: "keys of a map copy its content",
    edits: [argument("library-keys", "define", 2, `{ result: "copy" }`)],
  },
  {
    rule: "a view is its buffer",
    edits: [argument("library-wrap", "define", 2, `{ ...$, result: "copy" }`)],
  },
  {
    rule: "a part of a typed array is the array",
    edits: [argument("library-subarray", "define", 2, `{ ...$, result: "copy" }`)],
  },
  {
    rule: "sorting changes its array",
    edits: [argument("library-sort", "define", 2, `{ ...$, writes: false }`)],
  },
  {
    rule: "elements of a copied container are shared",
    edits: [
      expression("copied-elements", `[...elements, ...values.flatMap((object) => [...object.content.targets])]`, `[]`),
    ],
  },
  // Points-to
  {
    rule: "a variable refers to what it is given",
    edits: [remove("local-refers")],
  },
  {
    rule: "a global refers to what it is given",
    edits: [remove("global-refers")],
  },
  {
    rule: "a field refers to what it is given",
    edits: [remove("field-refers")],
  },
  {
    rule: "a container refers to its elements",
    edits: [remove("container-refers")],
  },
  {
    rule: "a parameter refers to its argument",
    edits: [remove("parameter-refers")],
  },
  {
    rule: "a call refers to what its callee returns",
    edits: [remove("result-refers")],
  },
  {
    rule: "members of a library member's container may be its result",
    edits: [returns("element-result", `NONE`)],
  },
  {
    rule: "a callback is given the elements",
    edits: [argument("callback-elements", "bind", 2, `[]`)],
  },
  {
    rule: "both sides of ?: may be meant",
    edits: [returns("choice-refers", `[...this.of(expression.consequent)]`)],
  },
  {
    rule: "an element of a literal is stored",
    edits: [remove("literal-elements")],
  },
  // Unions
  {
    rule: "union: value not needed",
    edits: [remove("union-value")],
  },
  {
    rule: "union: defines nothing live",
    edits: [remove("union-definitions")],
  },
  {
    rule: "union: does not leave",
    edits: [remove("union-leaving")],
  },
  {
    rule: "union: does not trap",
    edits: [remove("union-trap")],
  },
  {
    rule: "union: ends by itself",
    edits: [remove("union-end")],
    runOnly: "unionMovingCounter",
  },
  {
    rule: "union: does not recur",
    edits: [remove("union-recursion")],
    runOnly: "unionRecursion",
  },
  {
    rule: "union: each side runs before the later ones",
    edits: [remove("union-sides")],
  },
  {
    rule: "union: what runs behind a dropped jump is extra",
    edits: [remove("union-dropped-jumps")],
  },
  {
    rule: "union: a dropped end in a callee is followed by the caller",
    edits: [remove("union-dropped-ends")],
    runOnly: "unionGuardedLoop",
  },
  {
    rule: "union: extra code does what its callees do",
    edits: [remove("code-callees")],
  },
  {
    rule: "union: a loop ends by itself only if nothing changes its bound",
    edits: [remove("bound-unchanged")],
    runOnly: "unionMovingBound",
  },
  {
    rule: "union: a counter has no other assignment",
    edits: [condition("counter-assigned-once", `only === undefined`)],
    runOnly: "unionMovingCounter",
  },
  {
    rule: "union: a write that is only perhaps made hides no read",
    edits: [argument("union-writes", "buildResidual", 3, `{ exact: true }`)],
  },
  // Widening
  {
    rule: "widening: comparing only compares",
    edits: [condition("comparing-only", `parts.length > 0`)],
  },
  {
    rule: "widening: a round starts with the element",
    edits: [condition("round-starts", `first === "element"`)],
  },
  {
    rule: "widening: the bounds of the loop have no effects",
    edits: [remove("bounds-quiet")],
  },
  {
    rule: "widening: callbacks do nothing but make accesses",
    edits: [remove("callback-accesses")],
  },
  {
    rule: "widening: order is not read",
    edits: [remove("order-unread")],
  },
  {
    rule: "widening: rank is not read",
    edits: [remove("rank-unread")],
  },
  {
    rule: "widening: rounds do nothing but make accesses",
    edits: [remove("round-accesses")],
  },
  // Parts of the rules above, each with a place of its own
  {
    rule: "a record inside a decoded container may lack fields",
    edits: [replace("container-fields", `if (inner.kind === "library") return [];`)],
  },
  {
    rule: "a parameter that is live at the start is passed",
    edits: [remove("parameter-passed")],
  },
  {
    rule: "initial values of fields are printed with their classes",
    edits: [remove("field-initializers-printed")],
  },
  {
    rule: "a kept return sees what is live at the end of its function",
    edits: [remove("return-target")],
  },
  {
    rule: "the value of a kept return is needed",
    edits: [argument("returned-value", "visit", 1, `false`)],
  },
  {
    rule: "a throw that accesses may follow is kept",
    edits: [value("throw-kept", `false`), remove("throw-stops")],
  },
  {
    rule: "an abort that accesses may follow is kept",
    edits: [value("abort-kept", `false`), remove("abort-stops")],
  },
  {
    rule: "the key of a task is needed",
    edits: [argument("lane-key", "visit", 1, `false`)],
  },
  {
    rule: "nothing is live before the end of the execution",
    edits: [remove("stop-effect")],
  },
  {
    rule: "an end in a callee of a callee is an end in the callee",
    edits: [remove("callee-stops")],
  },
  {
    rule: "an access behind a call follows what the callee does",
    edits: [remove("callee-access-follows")],
  },
  {
    rule: "an access in a callee follows what stands before the call",
    edits: [remove("access-before-call")],
  },
  {
    rule: "the initial value of a live variable is needed",
    edits: [argument("variable-initializer", "visit", 1, `false`)],
  },
  {
    rule: "the condition of a kept do loop is needed",
    edits: [argument("do-condition", "visit", 1, `false`)],
  },
  {
    rule: "the update of a loop belongs to its rounds",
    edits: [remove("loop-update")],
    runOnly: "loopUpdate",
  },
  {
    rule: "what is live at the head of a loop is live before it",
    edits: [remove("loop-head-before")],
  },
  {
    rule: "the initial statement of a loop runs",
    edits: [returns("loop-initial", `kept`)],
  },
  {
    rule: "labels of a kept switch are needed",
    edits: [argument("case-labels", "visit", 1, `false`)],
  },
  {
    rule: "what may trap in a loop without an end is kept",
    edits: [value("trap-kept", `false`)],
    runOnly: "trapEndsLoop",
  },
  {
    rule: "a callee of a loop without an end may end it",
    edits: [remove("callee-trap-matters")],
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "what a callee of a loop without an end calls may end it",
    edits: [remove("callee-traps")],
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "a function that a loop without an end calls is walked as a part of it",
    edits: [remove("callee-endless")],
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "a needed variable is live before",
    edits: [remove("local-needed")],
  },
  {
    rule: "a needed global is live before",
    edits: [remove("global-needed")],
  },
  {
    rule: "the object of a needed field is needed",
    edits: [argument("field-object", "visit", 1, `false`)],
  },
  {
    rule: "the operands of a needed operation are needed",
    edits: [argument("operands-needed", "visitAll", 1, `false`)],
  },
  {
    rule: "what is live in either side of ?: is live before the condition",
    edits: [remove("choices-joined")],
  },
  {
    rule: "what a callee uses is used by its caller",
    edits: [remove("caller-uses")],
  },
  {
    rule: "the results of functions with fixed signatures stay",
    edits: [remove("fixed-results")],
  },
  {
    rule: "an effect in the receiver of a dropped call stays",
    edits: [returns("dropped-receiver", `kept`)],
  },
  {
    rule: "a field that satisfies the setter of an interface is there",
    edits: [remove("setter-field")],
  },
  {
    rule: "the content of inner arrays is flattened",
    edits: [remove("flattened-content")],
  },
  {
    rule: "receiver and arguments of a kept member are needed",
    edits: [argument("member-operands", "visitAll", 1, `false`)],
  },
  {
    rule: "parameters of the handler are decoded",
    edits: [remove("handler-parameters")],
  },
  {
    rule: "a global refers to its initial value",
    edits: [replace("global-starts", `if (global.initializer !== null) this.#evaluate(global.initializer);`)],
  },
  {
    rule: "a variable refers to its initial value",
    edits: [remove("variable-starts")],
  },
  {
    rule: "this refers to the receiver",
    edits: [remove("self-refers")],
  },
  {
    rule: "a constructor is given the object",
    edits: [argument("constructed-self", "bind", 1, `null`)],
  },
  {
    rule: "functions that the library is given become elements and results",
    edits: [
      expression("library-values", `[...this.of(argument)]`, `$.filter((object) => object.functionValue === null)`),
    ],
  },
  {
    rule: "a function or an object of which nothing is known is refused",
    edits: [remove("unknown-refused")],
  },
  {
    rule: "union: aborting is leaving",
    edits: [remove("abort-leaves")],
  },
  {
    rule: "union: what may trap, traps",
    edits: [remove("trap-traps")],
  },
  {
    rule: "union: nothing is beyond the largest number",
    edits: [remove("bound-near")],
    runOnly: "unionLastBound",
  },
  {
    rule: "widening: a list that is stored keeps its order",
    edits: [remove("stored-order")],
  },
  {
    rule: "widening: a selection is not counted",
    edits: [condition("selection-counted", `!isWhole && !isCounted`)],
  },
  {
    rule: "the initial value that decoding supplies is needed",
    edits: [remove("decoded-initializers")],
  },
  {
    rule: "what may trap in a loop without an end is an effect of its function",
    edits: [remove("trap-effect")],
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "the first side of a needed ?: is needed",
    edits: [argument("choice-first", "visit", 1, `false`)],
  },
  {
    rule: "the second side of a needed ?: is needed",
    edits: [argument("choice-second", "visit", 1, `false`)],
  },
  {
    rule: "what stands before an access is followed by it",
    edits: [remove("access-follows")],
  },
  {
    rule: "a return over something kept stays in the slice",
    edits: [remove("return-stays")],
  },
  {
    rule: "a break or continue over something kept stays in the slice",
    edits: [remove("jump-stays")],
  },
  {
    rule: "the right side of a needed && or || is needed",
    edits: [argument("logical-right", "visit", 1, `false`)],
  },
  {
    rule: "the results of callbacks stay",
    edits: [remove("callback-results")],
  },
  // Counters
  {
    rule: "a counter's number is read before something is added to it",
    edits: [expression("counter-sum", `[got({ ...table }, { ...key }, span), n]`, `[n, n]`)],
  },
  {
    rule: "a counter's number and what is added have a sum",
    edits: [expression("counter-sum", `"+"`, `"-"`)],
  },
  {
    rule: "a counter has a number at least if that is the number or more",
    edits: [expression("counter-compared", `">="`, `">"`)],
  },
  // Indexes
  {
    rule: "the entry of a stored item goes with it",
    edits: [value("stored-entry-goes", `run(local(before))`)],
  },
  {
    rule: "an entry has all fields",
    edits: [value("entry-made", `joined(unique ? parts : [parts[0]!, key])`)],
  },
  {
    rule: "an entry of an index has the key of its item",
    edits: [value("entry-made", `joined(parts)`)],
  },
  {
    rule: "an item with null in a field has no entry",
    edits: [condition("entry-of-null", `true`)],
  },
  // Statements in expressions
  {
    rule: "an operand on the left of statements is evaluated before them",
    edits: [returns("operands-saved", `value`)],
  },
  {
    rule: "a condition with statements is evaluated in each round",
    edits: [
      replace(
        "loop-condition-each-round",
        `if (condition !== null) tested.push({ kind: "if", condition: { kind: "operation", operator: "!", operands: [this.#value(condition, first)], type: BOOL, span }, consequent: [{ kind: "break", span }], alternative: [], span });`,
      ),
    ],
  },
  {
    rule: "the right side of && and || is evaluated only where it is needed",
    edits: [replace("right-side-when-needed", `return { ...expression, left, right: this.#value(right, out) };`)],
  },
  {
    rule: "a side of ?: is evaluated only where it is chosen",
    edits: [
      replace(
        "chosen-side-when-needed",
        `return { ...expression, condition, consequent: this.#value(consequent, out), alternative: this.#value(alternative, out) };`,
      ),
    ],
  },
  {
    rule: "an update with statements runs also behind continue",
    edits: [value("continued-rounds", `false`)],
  },
  {
    rule: "the old value of a compound assignment is read before statements on its right side",
    edits: [condition("old-value-before-statements", `!isOverloaded && place.target !== null`)],
  },
];

export const MUTANTS: readonly Mutant[] = [...RULES, ...FRONT_MUTANTS];

/** Whether a mutant is of the front end: then `front-check.ts` shows it. */
export function isOfFront(mutant: Mutant): boolean {
  return FRONT_MUTANTS.includes(mutant);
}
