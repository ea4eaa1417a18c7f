/** Forms that are written where they have no meaning, each with the form to write. */
import type { DiagnosticCode } from "../../diagnostics/catalogue.ts";

/** A function that captures, at a place where it would outlive the call. */
export const CLOSURE_KEPT = {
  code: "closure",
  message: "This function uses the variables around it, so it can only be called and passed on.",
  help: "Call it here, or pass it to a function that calls it. To keep something, keep the values that it uses.",
} as const;

const MISTAKES = {
  never_null: {
    code: "dead_code",
    message: "This is never used, because the value before it is never null.",
    help: "Leave it out. If the value before it can be missing, give that a type with `| null`.",
  },
  never_null_chain: {
    code: "dead_code",
    message: "This is never null, so `?.` tests nothing.",
    help: "Write a dot. If the value can be missing, give it a type with `| null`.",
  },
  default_for_null: {
    code: "dead_code",
    message: "This default is never used, because the member is never absent, and null is a value.",
    help: 'Write `??` for a value in place of null: `const note = order.note ?? ""`. Or declare the member as optional: `note?: string`.',
  },
  nullable_keys: {
    code: "type_error",
    message: "Keys of a set or map can't be numbers that may be null, because each of them would be another key.",
    help: "Keep null apart: a `Set<f64>`, and a variable for null.",
  },
  not_iterable: {
    code: "for_of_loop",
    message: "A `for … of` loop goes over arrays, typed arrays, strings, sets and maps, and this is none of them.",
    help: "Give the object a method that returns an array, and loop over that. Of a range of a table take rows: `posts.all().first(100)`.",
  },
  changed_while_looping: {
    code: "for_of_loop",
    message: "A `for … of` loop can't change the set or map that it goes over.",
    help: "Collect the changes in an array, and make them after the loop. Or loop over a copy: `for (const key of map.keys()) …`.",
  },
  tuple_spread: {
    code: "tuple_type",
    message: "A tuple can't be spread, because each part has a type of its own.",
    help: "Write the parts: `[pair[0], pair[1]]`.",
  },
  delete_operand: {
    code: "delete_operator",
    message: "Only an optional member and an entry of a `Record` can be deleted.",
    help: "Declare the member as `name?: string`. Set a nullable field to null. Maps and tables have a method: `ages.delete(name)`.",
  },
  spread_argument: {
    code: "spread",
    message: "This call can't spread its arguments, because the function takes a fixed number of them.",
    help: "Pass the array itself, `sum(numbers)`, or declare a rest parameter: `function sum(...numbers: i32[])`.",
  },
  from_length: {
    code: "closure",
    message: "The elements of a list with a given length come from a function in the call, which uses the index only.",
    help: "Write `Array.from({ length: 3 }, (_, index) => index * 2)`.",
  },
  callback_without_value: {
    code: "closure",
    message: "This function returns a value on some of its paths only.",
    help: "Return a value at the end of the function too.",
  },
  closure_kept: CLOSURE_KEPT,
  closure_to_override: {
    code: "closure",
    message: "A method with overrides can't take a function that uses the variables around it.",
    help: "Pass the function to a function of the file, or pass the values that it uses.",
  },
  closure_without_end: {
    code: "closure",
    message: "This function goes to a function that calls itself with another such function each time.",
    help: "Pass on the function that was given, or pass the values that it uses.",
  },
  closure_arguments: {
    code: "type_error",
    message: "This function takes another number of arguments.",
    help: "Pass one value for each parameter of the function.",
  },
  closure_result: {
    code: "missing_type",
    message: "The result of a function that calls itself has no type.",
    help: "Write the type: `const sum = (n: i32): i32 => …`.",
  },
  result_of_itself: {
    code: "missing_type",
    message: "The result has no type, because this function calls itself in what it returns.",
    help: "Write the type of the result: `function depth(part: Part): i32 { … }`.",
  },
  result_unknown: {
    code: "missing_type",
    message: "The result has no type: what this function returns has none, or several without a type in common.",
    help: "Write the type of the result: `function find(key: string): Post | null { … }`.",
  },
  closure_shadowed: {
    code: "closure",
    message: "Another variable here has the name of one that this function uses and that changes.",
    help: "Give one of the two variables another name.",
  },
  closures_share: {
    code: "closure",
    message: "Two functions in this call change the same variable, and both are constants.",
    help: "Write one of the functions in the call.",
  },
  spread_into_entries: {
    code: "spread",
    message: "Only another `Record<string, T>` can be spread into a `Record`.",
    help: "Write the entries: `{ ...prices, [order.id]: order.price }`.",
  },
  computed_field: {
    code: "object_literal",
    message: "A field of a record can't have a computed name, because the fields are fixed when it is compiled.",
    help: "Name the field. For computed names declare the type as a map: `Record<string, string>`.",
  },
  hole: {
    code: "type_error",
    message: "This array literal has a hole, and an array has a value at each index.",
    help: "Write the value: `[1, 0, 3]`.",
  },
  spread_of_base: {
    code: "spread",
    message: "This record can't be spread: its class has derived classes, whose fields are not known here.",
    help: "Name the fields: `{ id: order.id, note: order.note }`.",
  },
  tuple_part: {
    code: "tuple_type",
    message: "The tuple has no such part, because its parts begin with 0.",
    help: "Write the number of a part: the first one is `pair[0]`.",
  },
  tuple_literal: {
    code: "tuple_type",
    message: "This literal has another number of parts than the tuple.",
    help: 'Write each part: `const pair: [string, f64] = ["ann", 1];`.',
  },
  float_radix: {
    code: "platform_name",
    message: "A float has texts with base 10 only.",
    help: "Make an integer of it first: `(value as i32).toString(16)`. For decimals write `value.toFixed(2)`.",
  },
  null_number: {
    code: "type_error",
    message: "This number can be null, and null has no methods.",
    help: "Test it first: `if (price != null) …`. Or give a number in place of null: `(price ?? 0).toFixed(2)`.",
  },
  number_of_null: {
    code: "platform_name",
    message: "`Number()` can't take a number that may be null.",
    help: "Write the number that null counts as: `value ?? 0`.",
  },
  number_of_object: {
    code: "platform_name",
    message: "`Number()` takes a text, a number or a boolean, and this is none of them.",
    help: "Write the field or method that has the number, such as `date.getTime()`.",
  },
  entries_of_map: {
    code: "platform_name",
    message: "This list is empty in TypeScript, because `Object` takes the members of a `Map` and not its entries.",
    help: "Write `map.keys()` or `map.values()`, which are arrays. A loop goes over both: `for (const [key, value] of map)`.",
  },
  entries_of_record: {
    code: "platform_name",
    message: "`Object` lists a `Record<string, T>` only, because the fields of other objects are known at build time.",
    help: "Read the fields by their names, or declare the object as `Record<string, T>`.",
  },
  from_entries: {
    code: "platform_name",
    message: "Handlers have no `Object.fromEntries`.",
    help: "Set the entries in a loop: `for (const user of users) ages[user.name] = user.age;`.",
  },
  object_assign: {
    code: "platform_name",
    message: "`Object.assign` takes a record, and object literals with the fields that it sets.",
    help: "For a new record with the fields of others write `{ ...first, ...second }`. Else set the fields one by one.",
  },
  json_type: {
    code: "json_not_available",
    message:
      "`JSON.stringify` takes texts, numbers, booleans, dates, arrays, `Record<string, T>` and records of these.",
    help: "Make a record of the value first.",
  },
  json_recursive: {
    code: "json_not_available",
    message: "`JSON.stringify` can't take a record that has records of its own type in it.",
    help: "Write a function that makes the text, and calls itself for the inner records.",
  },
  json_of_base: {
    code: "json_not_available",
    message: "`JSON.stringify` can't take this record: its class has derived classes, whose fields are not known here.",
    help: "Make a record of the fields for the text.",
  },
  json_layout: {
    code: "json_not_available",
    message: "`JSON.stringify` takes the value only, without a replacer and indentation.",
    help: "Leave it out: `JSON.stringify(order)`.",
  },
  literal_value: {
    code: "object_literal",
    message: "The type of this value is not known, so this object literal has no type.",
    help: "Write the type of the record: `type Post = { id: string; tags: string[] }; const post: Post = { id, tags: [] };`.",
  },
  literal_absence: {
    code: "object_literal",
    message: "This value may be null, and nothing says whether JSON has null then or leaves the member out.",
    help: "Write the type of the record. `who: string | null` is null in JSON, and `who?: string` is left out: `type Card = { id: string; who?: string }; const card: Card = { id, who };`.",
  },
  quote_not_call: {
    code: "quoted_call",
    message: "A task is a call of a handler or service, written out as the first argument of `enqueue`.",
    help: "Write the call with its arguments: `enqueue(remind(order), { delay: 3_600_000 })`. It is made later, and nothing is called now.",
  },
  quote_method: {
    code: "quoted_call",
    message: "A task calls a handler or service by its name, and not a method.",
    help: "Export a handler that calls the method, and write `enqueue(remind(order))`. With `/** @internal */` before it, no client can call it.",
  },
  quote_not_handler: {
    code: "quoted_call",
    message: "A task calls a handler or service, and this is not one: no file of handlers exports it.",
    help: "Export the function from a file in `handlers/`. With `/** @internal */` before it, no client can call it. To call it now, leave out `enqueue`.",
  },
  quote_arguments: {
    code: "quoted_call",
    message: "This call has another number of arguments than its function has parameters.",
    help: "Write one value for each parameter, without `...`. Those at the end that have a default can be left out.",
  },
  quote_options: {
    code: "quoted_call",
    message: "The options of a task are `delay` and `key`, each written out once.",
    help: "Write them in braces: `enqueue(remind(order), { delay: 3_600_000, key: order })`. Tags before the handler say how often it is tried: `/** @retry 5 */`.",
  },
  step_not_call: {
    code: "quoted_call",
    message: "A step is a call of a handler, a service or a workflow, written out as the only argument.",
    help: "Write the call with its arguments: `run(hold(order))`. It is made apart from this run, as a transaction of its own.",
  },
  step_method: {
    code: "quoted_call",
    message: "A step calls a handler, a service or a workflow by its name, and not a method.",
    help: "Export a handler that calls the method, and write `run(hold(order))`. With `/** @internal */` before it, no client can call it.",
  },
  step_not_handler: {
    code: "quoted_call",
    message:
      "A step calls a handler, a service or a workflow, and this is none of them: no file of handlers exports it.",
    help: "Export the function from a file in `handlers/`. With `/** @internal */` before it, no client can call it. A function that touches no table needs no step: call it as it is.",
  },
  again_elsewhere: {
    code: "quoted_call",
    message: "`again` calls the workflow in whose body it stands, so that the workflow keeps its result.",
    help: "Write `return again(watch(account, round + 1))` in `watch` itself. To begin another workflow, write `run` or `start`.",
  },
  not_futures: {
    code: "type_error",
    message: "`all` and `any` take an array of futures, which `start` gives.",
    help: "Write `const parts: Future<i64>[] = [];`, then `parts.push(start(count(part)))` for each step, and `all(parts)`.",
  },
  sleep_arguments: {
    code: "type_error",
    message: "`sleep` takes a number of milliseconds.",
    help: "Write `sleep(60_000)`.",
  },
  send_arguments: {
    code: "type_error",
    message: "`send` takes the id of a workflow and a value.",
    help: "Write `approved.send(workflow, value)`. In a workflow, `workflowId()` is its own id.",
  },
  wait_arguments: {
    code: "type_error",
    message: "`wait` takes a number of milliseconds, or nothing.",
    help: "Write `approved.wait(60_000)`, which is null when the time is over. `approved.wait()` waits until a value comes.",
  },
  signal_not_constant: {
    code: "invalid_signal",
    message: "This signal is not a constant at the top of a file with a literal name, so the build does not know it.",
    help: 'Declare it outside of functions: `const approved = new Signal<Approval>("approved");`. Then use this constant.',
  },
  unknown_form: {
    code: "type_error",
    message: "The type of this expression is not known.",
    help: "Put the value into a variable with a type first: `const total: f64 = …;`.",
  },
} as const satisfies Readonly<
  Record<string, { readonly code: DiagnosticCode; readonly message: string; readonly help: string }>
>;

export type FormMistake = keyof typeof MISTAKES;

const MARK = "form: ";

/** The words of a mistake for the compiler. */
export function mistakeText(mistake: FormMistake): string {
  return MARK + mistake;
}

/** The mistake that words of the compiler are about; null: they are about something else. */
export function mistakeIn(words: string): ((typeof MISTAKES)[FormMistake] & { readonly pattern: RegExp }) | null {
  const pattern = new RegExp(`^not implemented: ${MARK}(\\w+)$`);
  const name = pattern.exec(words)?.[1];
  return name !== undefined && Object.hasOwn(MISTAKES, name) ? { pattern, ...MISTAKES[name as FormMistake] } : null;
}
