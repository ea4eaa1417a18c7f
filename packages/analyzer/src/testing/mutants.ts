/**
 * For tests: the rules of ANALYSIS.md, each with a way to break it in the source of the analyzer. A test loads every
 * mutant and demands that some fixture notices. Whoever changes the code that a mutant cuts out changes the mutant too.
 */
export interface Mutant {
  /** The rule that is broken, in words. */
  readonly rule: string;
  /** Path below `src/`. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The only handler that is run: some of the others would not end. */
  readonly runOnly?: string;
}

const RELEVANCE = "infer/relevance.ts";
const POINTS_TO = "infer/points-to.ts";
const DEFINITIONS = "infer/definitions.ts";
const RESIDUAL = "slice/residual.ts";
const UNIONS = "slice/unions.ts";
const WIDENING = "slice/widening.ts";
const KEPT_CODE = "infer/kept-code.ts";
const LOOPS = "infer/loops.ts";
const LIBRARY = "lower/library.ts";
const DERIVE = "slice/derive.ts";

export const MUTANTS: readonly Mutant[] = [
  // Rule 1: accesses
  {
    rule: "the key of an access is needed",
    file: RELEVANCE,
    find: "this.visit(key, true, state);",
    replace: "this.visit(key, false, state);",
  },
  {
    rule: "an access is an effect of the function that makes it",
    file: RELEVANCE,
    find: 'this.addEffect("accesses");\n    state.accessFollows = true;',
    replace: "state.accessFollows = true;",
  },
  {
    rule: "which table is accessed is needed",
    file: RELEVANCE,
    find: "this.visit(table, true, state);",
    replace: "this.visit(table, false, state);",
  },
  // Rule 2: reading what was written
  {
    rule: "a read whose value is needed needs its table",
    file: RELEVANCE,
    find: "if (needed) {\n          this.needTables(expression, state);",
    replace: "if (needed) {",
  },
  {
    rule: "a put that is read again stays",
    file: RELEVANCE,
    find: "this.add(this.stored, expression);",
    replace: "",
  },
  {
    rule: "a put that is read again needs what encoding reads",
    file: RELEVANCE,
    find: "if (readAgain) for (const cell of this.encoded(value)) this.need(cell, state);",
    replace: "",
  },
  {
    rule: "what a value refers to is encoded with it",
    file: RELEVANCE,
    find: "for (const target of cell.targets) add(target);",
    replace: "",
  },
  {
    rule: "a write that is read again is an effect of its function",
    file: RELEVANCE,
    find: "for (const location of this.pointsTo.tablesOf(table)) this.define(location, state);",
    replace: "",
  },
  {
    rule: "the key of a put is computed before the reads in its value",
    file: RESIDUAL,
    find: "return [...before, ...valueEffects, access(...parts)];",
    replace: "return [...valueEffects, access(table, key)];",
  },
  {
    rule: "the table of a put is chosen before the reads in its value",
    file: RESIDUAL,
    find: "return [...before, ...valueEffects, access(...parts)];",
    replace: "return [...before, ...valueEffects, access(table, parts[1])];",
  },
  // Rule 3: definitions
  {
    rule: "an assignment to a live location is kept",
    file: RELEVANCE,
    find: "if (!needed && !locations.some((location) => state.live.has(location)))",
    replace: "if (!needed)",
  },
  {
    rule: "the value of a kept assignment is needed",
    file: RELEVANCE,
    find: "if (value !== null) this.visit(value, true, state);\n    needOld();",
    replace: "if (value !== null) this.visit(value, false, state);\n    needOld();",
  },
  {
    rule: "a compound assignment needs the old value",
    file: RELEVANCE,
    find: "if (isUpdate) for (const location of locations) this.need(location, state);",
    replace: "",
  },
  {
    rule: "the old value is read before the right side runs",
    file: RELEVANCE,
    find: "if (value !== null) this.visit(value, true, state);\n    needOld();",
    replace: "needOld();\n    if (value !== null) this.visit(value, true, state);",
  },
  {
    rule: "cells and globals are never killed",
    file: RELEVANCE,
    find: "if (isShared(location)) this.define(location, state);\n      else {",
    replace: "if (isShared(location)) { this.define(location, state); state.live.delete(location); }\n      else {",
  },
  {
    rule: "a kept definition of a shared location is an effect of its function",
    file: RELEVANCE,
    find: "if (state.live.has(location)) this.addDefinition(location);",
    replace: "",
  },
  {
    rule: "the object of an assigned field is needed",
    file: RELEVANCE,
    find: 'if (target.kind === "field") this.visit(target.object, true, state);',
    replace: 'if (target.kind === "field") this.visit(target.object, false, state);',
  },
  {
    rule: "container and index of an assigned element are needed",
    file: RELEVANCE,
    find: "this.visitAll([target.container, target.index], true, state);",
    replace: "this.visitAll([target.container, target.index], false, state);",
  },
  {
    rule: "a field that is read needs its cells",
    file: RELEVANCE,
    find: "for (const object of this.pointsTo.of(expression.object)) this.need(object.cell(expression.field), state);",
    replace: "",
  },
  // Rule 4: draws
  {
    rule: "a draw needs the draws of its site before it",
    file: RELEVANCE,
    find: "this.need(site, state);",
    replace: "",
  },
  {
    rule: "a draw is an effect of its function",
    file: RELEVANCE,
    find: "this.addDefinition(site);",
    replace: "",
  },
  // Rule 5: conditions
  {
    rule: "the condition of a kept branch is needed",
    file: RELEVANCE,
    find: "return this.visit(statement.condition, after, state) || after;",
    replace: "return this.visit(statement.condition, false, state) || after;",
  },
  {
    rule: "what is live in either branch is live before the condition",
    file: RELEVANCE,
    find: "const after = keepsConsequent || keepsAlternative;\n    state.join(alternative);",
    replace: "const after = keepsConsequent || keepsAlternative;",
  },
  {
    rule: "the condition of a kept loop is needed",
    file: RELEVANCE,
    find: "          point.join(after);\n          kept = this.visit(statement.condition, kept, point) || kept;\n        }\n      }",
    replace:
      "          point.join(after);\n          kept = this.visit(statement.condition, false, point) || kept;\n        }\n      }",
  },
  {
    rule: "what is live at the head of a loop is live at its end",
    file: RELEVANCE,
    find: "grew = head.join(point) || kept !== keptBefore;",
    replace: "grew = kept !== keptBefore;\n      if (!grew) head.join(point);",
    runOnly: "noRound",
  },
  {
    rule: "the discriminant of a kept switch is needed",
    file: RELEVANCE,
    find: "return this.visit(statement.discriminant, kept, state) || kept;",
    replace: "return this.visit(statement.discriminant, false, state) || kept;",
  },
  {
    rule: "a case falls into the next",
    file: RELEVANCE,
    find: "kept = this.statements(choice.body, fallen) || kept;\n      state.join(fallen);",
    replace:
      "const own = after.copy();\n      kept = this.statements(choice.body, own) || kept;\n      state.join(own);",
  },
  {
    rule: "the left side of && and || decides about effects in the right one",
    file: RELEVANCE,
    find: "return this.visit(expression.left, needed || keepsRight, state) || keepsRight;",
    replace: "return this.visit(expression.left, needed, state) || keepsRight;",
  },
  {
    rule: "the right side of && and || may not run",
    file: RELEVANCE,
    find: "const keepsRight = this.visit(expression.right, needed, state);\n        state.join(skipped);",
    replace: "const keepsRight = this.visit(expression.right, needed, state);",
  },
  {
    rule: "the condition of ?: decides about effects in its sides",
    file: RELEVANCE,
    find: "return this.visit(expression.condition, needed || kept, state) || kept;",
    replace: "return this.visit(expression.condition, needed, state) || kept;",
  },
  // Rule 6: jumps
  {
    rule: "a break or continue over something kept is kept",
    file: RELEVANCE,
    find: "if (state.next === target.next) {",
    replace: "if (state.next !== null || target.next !== null) {",
  },
  {
    rule: "a return over something kept is kept",
    file: RELEVANCE,
    find: "const keepsJump = valueNeeded || state.next !== null;",
    replace: "const keepsJump = valueNeeded;",
  },
  {
    rule: "a kept jump sees what is live at its target",
    file: RELEVANCE,
    find: "this.add(this.jumps, statement);\n        state.become(target);",
    replace: "this.add(this.jumps, statement);",
  },
  // Rule 8: calls
  {
    rule: "a call whose callee makes accesses or defines what is live is kept",
    file: RELEVANCE,
    find: "if (summary.accesses || (summary.stops && state.accessFollows) || summary.defines.intersects(state.live))\n        matters = true;",
    replace: "if (summary.stops && state.accessFollows) matters = true;",
  },
  {
    rule: "what is live after a call is live at the end of the callee",
    file: RELEVANCE,
    find: "if (summary.exit.addAll(state.live, this.numbering.shared)) this.pend(callee);",
    replace: "",
  },
  {
    rule: "what a callee uses is live before the call",
    file: RELEVANCE,
    find: "live.addAll(uses);",
    replace: "",
  },
  {
    rule: "effects of a callee are effects of the caller",
    file: RELEVANCE,
    find: 'if (this.summary.defines.addAll(defines, live)) this.pendCallers(this.current);\n      if (accesses) this.addEffect("accesses");',
    replace: "void defines;",
  },
  {
    rule: "the result of a call that is needed is computed",
    file: RELEVANCE,
    find: "        this.because(callee);\n        this.addResult(callee);",
    replace: "        this.because(callee);",
  },
  {
    rule: "an argument that the callee needs is needed",
    file: RELEVANCE,
    find: "const argumentNeeded = isFixed || parameters.some(({ local }) => this.parameters.has(local));",
    replace: "const argumentNeeded = isFixed;",
  },
  {
    rule: "an effect inside an argument keeps the argument",
    file: RELEVANCE,
    find: "if (this.visit(argument, argumentNeeded, state) && !argumentNeeded)\n        for (const { callee, local } of parameters) this.addParameter(callee, local);",
    replace: "this.visit(argument, argumentNeeded, state);",
  },
  {
    rule: "the receiver of a kept call is needed",
    file: RELEVANCE,
    find: "if (receiver !== null) this.visit(receiver, true, state);\n    return matters;",
    replace: "if (receiver !== null) this.visit(receiver, false, state);\n    return matters;",
  },
  {
    rule: "a function that is passed on is whole",
    file: RELEVANCE,
    find: 'if (needed && expression.declaration.result.kind !== "void") this.addResult(expression.declaration);',
    replace: "",
  },
  {
    rule: "a constructor calls the one of its base class",
    file: RELEVANCE,
    find: "this.enterCallees(callees, needed && !isConstructor, state) || isSuperConstructor;",
    replace: "this.enterCallees(callees, needed && !isConstructor, state);",
  },
  {
    rule: "overrides may be called",
    file: "lower/lower-program.ts",
    find: "...overrides.filter((override) => override !== source)]",
    replace: "]",
  },
  // Rule 9: fields
  {
    rule: "initializers of kept fields run in the constructor",
    file: RELEVANCE,
    find: "for (const object of this.pointsTo.of(target.object)) this.define(object.cell(target.field), state);\n        this.visit(value, true, state);",
    replace: "this.visit(value, false, state);",
  },
  {
    rule: "a missing field of a decoded record has its initial value",
    file: RELEVANCE,
    find: 'if (operation === "get") this.decoding(expression.type, state);',
    replace: "",
  },
  // Rule 10: globals
  {
    rule: "the initial value of a live global is kept",
    file: RELEVANCE,
    find: "this.add(this.globals, global);\n        this.visit(global.initializer, true, state);",
    replace: "this.add(this.globals, global);\n        this.visit(global.initializer, false, state);",
  },
  {
    rule: "effects of the initial values of other globals are kept",
    file: RELEVANCE,
    find: "} else if (this.visit(global.initializer, false, state)) {",
    replace: "} else if (global.span === null) {",
  },
  // Rule 11: the library
  {
    rule: "a member that changes a live container is kept",
    file: RELEVANCE,
    find: "const writes = member.writes && contents.some((content) => state.live.has(content));",
    replace: "const writes = false;",
  },
  {
    rule: "a change of a container is an effect of its function",
    file: RELEVANCE,
    find: "if (member.writes) for (const content of contents) this.define(content, state);",
    replace: "",
  },
  {
    rule: "a member reads its container",
    file: RELEVANCE,
    find: "if (member.reads || member.writes) for (const content of contents) this.need(content, state);",
    replace: "",
  },
  {
    rule: "a member reads the containers among its arguments",
    file: RELEVANCE,
    find: "for (const object of this.pointsTo.of(argument)) this.need(object.content, state);",
    replace: "void argument;",
  },
  {
    rule: "callbacks are called",
    file: RELEVANCE,
    find: "const callbackMatters = this.enterCallees(callees, false, state);",
    replace: "const callbackMatters = false;",
  },
  {
    rule: "a callback runs any number of times",
    file: RELEVANCE,
    find: "      this.leaveCallees(callees, state);\n      this.enterCallees(callees, false, state);\n      grew = before.addAll(state.live);\n    }",
    replace: "      this.leaveCallees(callees, state);\n      break;\n    }",
  },
  {
    rule: "members call operators of the application",
    file: DEFINITIONS,
    find: "return [...pointsTo.callbacksOf(expression), ...expression.calls];",
    replace: "return pointsTo.callbacksOf(expression);",
  },
  {
    rule: "operators that members call are given the elements",
    file: POINTS_TO,
    find: "for (const callee of expression.calls) this.bind(callee, compared, [compared, compared]);",
    replace: "for (const callee of expression.calls) this.bind(callee, NONE, []);",
  },
  {
    rule: "a default value runs if the argument is left out",
    file: RELEVANCE,
    find: "if (this.visit(defaultValue, isKept, state) && !isKept) this.addParameter(declaration, local);",
    replace: "this.visit(defaultValue, false, state);",
  },
  {
    rule: "push changes its array",
    file: LIBRARY,
    find: 'define("Array", "push unshift", { reads: true, writes: true, storesArguments: true, result: "plain" });',
    replace: 'define("Array", "push unshift", { reads: true, writes: false, storesArguments: true, result: "plain" });',
  },
  {
    rule: "push stores its argument",
    file: LIBRARY,
    find: 'define("Array", "push unshift", { reads: true, writes: true, storesArguments: true, result: "plain" });',
    replace: 'define("Array", "push unshift", { reads: true, writes: true, result: "plain" });',
  },
  {
    rule: "set of a map changes it",
    file: LIBRARY,
    find: 'define("Map", "set", { reads: true, writes: true,',
    replace: 'define("Map", "set", { reads: true, writes: false,',
  },
  {
    rule: "keys of a map copy its content",
    file: LIBRARY,
    find: 'define("Map", "keys", COPY);',
    replace: 'define("Map", "keys", { result: "copy" });',
  },
  {
    rule: "a view is its buffer",
    file: LIBRARY,
    find: 'define(TYPED_ARRAYS, "wrap", { form: "function", result: "argument" });',
    replace: 'define(TYPED_ARRAYS, "wrap", { form: "function", result: "copy" });',
  },
  {
    rule: "a part of a typed array is the array",
    file: LIBRARY,
    find: 'define(TYPED_ARRAYS, "subarray", { reads: true, result: "receiver" });',
    replace: 'define(TYPED_ARRAYS, "subarray", { reads: true, result: "copy" });',
  },
  {
    rule: "sorting changes its array",
    file: LIBRARY,
    find: 'define(INDEXED, "sort", { reads: true, writes: true,',
    replace: 'define(INDEXED, "sort", { reads: true, writes: false,',
  },
  {
    rule: "elements of a copied container are shared",
    file: POINTS_TO,
    find: ": [...elements, ...values.flatMap((object) => [...object.content.targets])];",
    replace: ": [];",
  },
  // Points-to
  {
    rule: "a variable refers to what it is given",
    file: POINTS_TO,
    find: "this.include(this.variable(target.local), objects);",
    replace: "",
  },
  {
    rule: "a global refers to what it is given",
    file: POINTS_TO,
    find: "this.include(this.variable(target.global), objects);",
    replace: "",
  },
  {
    rule: "a field refers to what it is given",
    file: POINTS_TO,
    find: "for (const object of this.of(target.object)) this.include(object.cell(target.field).targets, objects);",
    replace: "",
  },
  {
    rule: "a container refers to its elements",
    file: POINTS_TO,
    find: "this.include(container.content.targets, [...objects, ...this.of(target.index)]);",
    replace: "void container;",
  },
  {
    rule: "a parameter refers to its argument",
    file: POINTS_TO,
    find: "if (argument !== undefined) this.include(this.variable(local), argument);",
    replace: "",
  },
  {
    rule: "a call refers to what its callee returns",
    file: POINTS_TO,
    find: "this.include(this.variable(owner), this.of(statement.value));",
    replace: "void owner;",
  },
  {
    rule: "members of a library member's container may be its result",
    file: POINTS_TO,
    find: 'case "element":\n        return elements;',
    replace: 'case "element":\n        return NONE;',
  },
  {
    rule: "a callback is given the elements",
    file: POINTS_TO,
    find: "results.push(...this.bind(callee, null, args));",
    replace: "results.push(...this.bind(callee, null, []));",
  },
  {
    rule: "both sides of ?: may be meant",
    file: POINTS_TO,
    find: "return [...this.of(expression.consequent), ...this.of(expression.alternative)];",
    replace: "return [...this.of(expression.consequent)];",
  },
  {
    rule: "an element of a literal is stored",
    file: POINTS_TO,
    find: "for (const element of expression.elements) this.include(array.content.targets, this.of(element));",
    replace: "",
  },
  // Unions
  {
    rule: "union: value not needed",
    file: UNIONS,
    find: 'if (!valueIsNotNeeded(union, candidate)) return "value not needed";',
    replace: "",
  },
  {
    rule: "union: defines nothing live",
    file: UNIONS,
    find: 'if (!definesNothingLive(extra)) return "defines nothing live";',
    replace: "",
  },
  {
    rule: "union: does not leave",
    file: UNIONS,
    find: 'if (!doesNotLeave(extra)) return "does not leave";',
    replace: "",
  },
  {
    rule: "union: does not trap",
    file: UNIONS,
    find: 'if (!doesNotTrap(extra)) return "does not trap";',
    replace: "",
  },
  {
    rule: "union: ends by itself",
    file: UNIONS,
    find: 'if (!endsByItself(extra)) return "ends by itself";',
    replace: "",
    runOnly: "unionMovingCounter",
  },
  {
    rule: "union: does not recur",
    file: UNIONS,
    find: 'if (!doesNotRecur(extra, candidate)) return "does not recur";',
    replace: "",
    runOnly: "unionRecursion",
  },
  {
    rule: "union: each side runs before the later ones",
    file: UNIONS,
    find: "for (const { ahead } of later) yield { code, rejoin: ahead, accessFollows: true, mayLeave: never };",
    replace: "",
  },
  {
    rule: "union: what runs behind a dropped jump is extra",
    file: UNIONS,
    find: "for (const jump of union.dropped) yield* behindJump(jump, union.owner, candidate);",
    replace: "",
  },
  {
    rule: "union: a dropped end in a callee is followed by the caller",
    file: UNIONS,
    find: "yield { code: new KeptCode(candidate, codeOf(declaration)), rejoin: null, accessFollows: false, mayLeave: never };",
    replace: "void declaration;",
    runOnly: "unionGuardedLoop",
  },
  {
    rule: "union: extra code does what its callees do",
    file: KEPT_CODE,
    find: "for (const callee of calleesOf(expression, pointsTo)) this.callees.add(callee);",
    replace: "",
  },
  {
    rule: "union: a loop ends by itself only if nothing changes its bound",
    file: LOOPS,
    find: "for (const location of read) if (changing.has(location)) return false;",
    replace: "void read;",
    runOnly: "unionMovingBound",
  },
  {
    rule: "union: a counter has no other assignment",
    file: LOOPS,
    find: "if (only === undefined || others.length > 0) continue;",
    replace: "if (only === undefined) continue;",
    runOnly: "unionMovingCounter",
  },
  {
    rule: "union: a write that is only perhaps made hides no read",
    file: "slice/transform.ts",
    find: "{ exact: false }",
    replace: "{ exact: true }",
  },
  // Widening
  {
    rule: "widening: comparing only compares",
    file: WIDENING,
    find: "if (parts.every((call) => call.arguments.every(isQuiet) && comparesOnly(call, plain, pointsTo)))",
    replace: "if (parts.length > 0)",
  },
  {
    rule: "widening: a round starts with the element",
    file: WIDENING,
    find: 'if (first !== "nothing") return first;',
    replace: 'if (first === "element") return first;',
  },
  {
    rule: "widening: the bounds of the loop have no effects",
    file: WIDENING,
    find: "if (!isQuiet(first.initializer) || !isQuiet(loop.condition)) return null;",
    replace: "",
  },
  {
    rule: "widening: callbacks do nothing but make accesses",
    file: WIDENING,
    find: 'if (rule !== null || candidate.recursive.has(callback)) return rule ?? "does not recur";',
    replace: "",
  },
  {
    rule: "widening: order is not read",
    file: WIDENING,
    find: 'if (!orderIsNotRead(widened, candidate)) return "order is not read";',
    replace: "",
  },
  {
    rule: "widening: rank is not read",
    file: WIDENING,
    find: 'if (!rankIsNotRead(widened, candidate)) return "rank is not read";',
    replace: "",
  },
  {
    rule: "widening: rounds do nothing but make accesses",
    file: WIDENING,
    find: "if (rule !== null) return rule;",
    replace: "",
  },

  // Parts of the rules above, each with a place of its own
  {
    rule: "a record inside a decoded container may lack fields",
    file: "lower/ir.ts",
    find: 'if (inner.kind === "library") return inner.arguments.flatMap((part) => decodedInitializers(part, hasField, seen));',
    replace: 'if (inner.kind === "library") return [];',
  },
  {
    rule: "a parameter that is live at the start is passed",
    file: RELEVANCE,
    find: "if (state.live.has(local) || this.variables.has(local)) this.addParameter(declaration, local);",
    replace: "",
  },
  {
    rule: "initial values of fields are printed with their classes",
    file: RELEVANCE,
    find: "for (const { initializer } of this.fields) if (initializer !== null) this.visit(initializer, true, state);",
    replace: "",
  },
  {
    rule: "a kept return sees what is live at the end of its function",
    file: RELEVANCE,
    find: "        this.add(this.jumps, statement);\n        state.become(this.exit);",
    replace: "        this.add(this.jumps, statement);",
  },
  {
    rule: "the value of a kept return is needed",
    file: RELEVANCE,
    find: "if (statement.value !== null) this.visit(statement.value, valueNeeded, state);",
    replace: "if (statement.value !== null) this.visit(statement.value, false, state);",
  },
  {
    rule: "a throw that accesses may follow is kept",
    file: RELEVANCE,
    find: "const keepsJump = this.stops(state);\n        if (keepsJump) {\n          this.add(this.jumps, statement);\n          this.stop(state);\n        }",
    replace: "const keepsJump = false;",
  },
  {
    rule: "an abort that accesses may follow is kept",
    file: RELEVANCE,
    find: "const keeps = this.stops(state);\n        if (keeps) {\n          this.add(this.kept, expression);\n          this.stop(state);\n        }",
    replace: "const keeps = false;",
  },
  {
    rule: "nothing is live before the end of the execution",
    file: RELEVANCE,
    find: '    this.addEffect("stops");\n    state.live.clear();',
    replace: "    state.live.clear();",
  },
  {
    rule: "an end in a callee of a callee is an end in the callee",
    file: RELEVANCE,
    find: 'if (stops) this.addEffect("stops");',
    replace: "",
  },
  {
    rule: "an access behind a call follows what the callee does",
    file: RELEVANCE,
    find: "      if (state.accessFollows && !summary.accessFollows) {\n        summary.accessFollows = true;\n        this.pend(callee);\n      }\n",
    replace: "",
  },
  {
    rule: "an access in a callee follows what stands before the call",
    file: RELEVANCE,
    find: "if (accesses) state.accessFollows = true;",
    replace: "",
  },
  {
    rule: "the initial value of a live variable is needed",
    file: RELEVANCE,
    find: "    state.live.delete(local);\n    this.visit(initializer, true, state);",
    replace: "    state.live.delete(local);\n    this.visit(initializer, false, state);",
  },
  {
    rule: "the condition of a kept do loop is needed",
    file: RELEVANCE,
    find: "          kept = this.visit(statement.condition, kept, point) || kept;\n          point.next = kept ? statement : after.next;",
    replace:
      "          kept = this.visit(statement.condition, false, point) || kept;\n          point.next = kept ? statement : after.next;",
  },
  {
    rule: "the update of a loop belongs to its rounds",
    file: RELEVANCE,
    find: "if (statement.update !== null) kept = this.visit(statement.update, false, point) || kept;",
    replace: "",
    runOnly: "loopUpdate",
  },
  {
    rule: "what is live at the head of a loop is live before it",
    file: RELEVANCE,
    find: "    state.join(head);\n",
    replace: "",
  },
  {
    rule: "the initial statement of a loop runs",
    file: RELEVANCE,
    find: "return this.statements(statement.initial, state) || kept;",
    replace: "return kept;",
  },
  {
    rule: "labels of a kept switch are needed",
    file: RELEVANCE,
    find: "if (choice.label !== null) this.visit(choice.label, kept, state);",
    replace: "if (choice.label !== null) this.visit(choice.label, false, state);",
  },
  {
    rule: "what may trap in a loop without an end is kept",
    file: RELEVANCE,
    find: 'const ends = this.endless > 0 && expression.kind !== "call" && mayTrap(expression);',
    replace: "const ends = false;",
    runOnly: "trapEndsLoop",
  },
  {
    rule: "a callee of a loop without an end may end it",
    file: RELEVANCE,
    find: "if (this.endless > 0 && summary.traps) matters = true;",
    replace: "",
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "what a callee of a loop without an end calls may end it",
    file: RELEVANCE,
    find: 'if (traps) this.addEffect("traps");',
    replace: "",
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "a function that a loop without an end calls is walked as a part of it",
    file: RELEVANCE,
    find: "      if (this.endless > 0 && !this.inEndless.has(callee)) {\n        this.inEndless.add(callee);\n        this.pend(callee);\n      }\n",
    replace: "",
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "a needed variable is live before",
    file: RELEVANCE,
    find: "if (needed) this.need(expression.local, state);",
    replace: "",
  },
  {
    rule: "a needed global is live before",
    file: RELEVANCE,
    find: "if (needed) this.need(expression.global, state);",
    replace: "",
  },
  {
    rule: "the object of a needed field is needed",
    file: RELEVANCE,
    find: "return this.visit(expression.object, needed, state);",
    replace: "return this.visit(expression.object, false, state);",
  },
  {
    rule: "the operands of a needed operation are needed",
    file: RELEVANCE,
    find: "return this.visitAll(operands(expression), needed, state);",
    replace: "return this.visitAll(operands(expression), false, state);",
  },
  {
    rule: "what is live in either side of ?: is live before the condition",
    file: RELEVANCE,
    find: "        state.join(alternative);\n        return this.visit(expression.condition,",
    replace: "        return this.visit(expression.condition,",
  },
  {
    rule: "what a callee uses is used by its caller",
    file: RELEVANCE,
    find: "      if (this.summary.uses.addAll(uses)) this.pendCallers(this.current);\n",
    replace: "",
  },
  {
    rule: "the results of functions with fixed signatures stay",
    file: RELEVANCE,
    find: '    if (isFixed && !isConstructor)\n      for (const callee of callees) if (callee.result.kind !== "void") this.addResult(callee);\n',
    replace: "",
  },
  {
    rule: "an effect in the receiver of a dropped call stays",
    file: RELEVANCE,
    find: "return receiver === null ? kept : this.visit(receiver, false, state) || kept;",
    replace: "return kept;",
  },
  {
    rule: "a field that satisfies the setter of an interface is there",
    file: RELEVANCE,
    find: "    for (const callee of callees) this.fieldBehind(callee);\n",
    replace: "",
  },
  {
    rule: "the content of inner arrays is flattened",
    file: RELEVANCE,
    find: "for (const content of contents) for (const inner of content.targets) this.need(inner.content, state);",
    replace: "void contents;",
  },
  {
    rule: "receiver and arguments of a kept member are needed",
    file: RELEVANCE,
    find: "    this.visitAll(operands(expression), true, state);\n    return writes || callbackMatters;",
    replace: "    this.visitAll(operands(expression), false, state);\n    return writes || callbackMatters;",
  },
  {
    rule: "parameters of the handler are decoded",
    file: POINTS_TO,
    find: "    for (const { local } of program.handler.parameters)\n      this.include(this.variable(local), this.decoded(local, local.type, local.name));\n",
    replace: "",
  },
  {
    rule: "a global refers to its initial value",
    file: POINTS_TO,
    find: "this.include(this.variable(global), this.evaluate(global.initializer));",
    replace: "this.evaluate(global.initializer);",
  },
  {
    rule: "a variable refers to its initial value",
    file: POINTS_TO,
    find: "this.include(this.variable(statement.local), this.of(statement.initializer));",
    replace: "void statement.initializer;",
  },
  {
    rule: "this refers to the receiver",
    file: POINTS_TO,
    find: "if (callee.self !== null && self !== null) this.include(this.variable(callee.self), self);",
    replace: "",
  },
  {
    rule: "a constructor is given the object",
    file: POINTS_TO,
    find: "this.bind(expression.callee, [object], args);",
    replace: "this.bind(expression.callee, null, args);",
  },
  {
    rule: "functions that the library is given become elements and results",
    file: POINTS_TO,
    find: "flatMap((argument) => [...this.of(argument)]);",
    replace: "flatMap((argument) => [...this.of(argument)].filter((object) => object.functionValue === null));",
  },
  {
    rule: "a function or an object of which nothing is known is refused",
    file: DERIVE,
    find: "  refuseUnknownValues(lowered, pointsTo);\n",
    replace: "",
  },
  {
    rule: "union: aborting is leaving",
    file: KEPT_CODE,
    find: 'if (expression.kind === "abort") this.stops = true;',
    replace: "",
  },
  {
    rule: "union: what may trap, traps",
    file: KEPT_CODE,
    find: "if (mayTrap(expression) && !this.isKnownElement(expression)) this.traps = true;",
    replace: "",
  },
  {
    rule: "union: nothing is beyond the largest number",
    file: LOOPS,
    find: 'if (!isNear || Math.abs(step) >= 1 << 30 || (step < 0 && counter.type.name.startsWith("u"))) return false;',
    replace: "",
    runOnly: "unionLastBound",
  },
  {
    rule: "widening: a list that is stored keeps its order",
    file: WIDENING,
    find: 'if (part.kind === "access" && relevance.stored.has(part) && part.value !== null) return false;',
    replace: "",
  },
  {
    rule: "widening: a selection is not counted",
    file: WIDENING,
    find: "if (!isWhole && (!isCounted || isSelection(part.receiver))) return false;",
    replace: "if (!isWhole && !isCounted) return false;",
  },
  {
    rule: "the initial value that decoding supplies is needed",
    file: RELEVANCE,
    find: "      this.visit(initializer, true, state);\n  }",
    replace: "      void initializer;\n  }",
  },
  {
    rule: "what may trap in a loop without an end is an effect of its function",
    file: RELEVANCE,
    find: '      this.add(this.endings, expression);\n      this.addEffect("traps");',
    replace: "      this.add(this.endings, expression);",
    runOnly: "trapInCalleeEndsLoop",
  },
  {
    rule: "the first side of a needed ?: is needed",
    file: RELEVANCE,
    find: "const keepsConsequent = this.visit(expression.consequent, needed, state);",
    replace: "const keepsConsequent = this.visit(expression.consequent, false, state);",
  },
  {
    rule: "the second side of a needed ?: is needed",
    file: RELEVANCE,
    find: "const keepsAlternative = this.visit(expression.alternative, needed, alternative);",
    replace: "const keepsAlternative = this.visit(expression.alternative, false, alternative);",
  },
  {
    rule: "the results of callbacks stay",
    file: RELEVANCE,
    find: '      for (const callee of callees) if (callee.result.kind !== "void") this.addResult(callee);\n      for (const callee of callees) for (const',
    replace: "      for (const callee of callees) for (const",
  },
];
