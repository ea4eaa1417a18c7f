/** Forms that are written where they have no meaning, or in a way that has none yet, each with the form to write. */
import type { DiagnosticCode } from "../../diagnostics/catalogue.ts";

const MISTAKES = {
  never_null: {
    code: "dead_code",
    message: "This is never used: the value before it is never null.",
    help: "Leave it out, or declare what may be absent as T | null.",
  },
  never_null_chain: {
    code: "dead_code",
    message: "This is never null, so ?. tests nothing.",
    help: "Write a dot, or declare what may be absent as T | null.",
  },
  not_iterable: {
    code: "for_of_loop",
    message: "A for…of loop goes over arrays, typed arrays, strings, sets and maps.",
    help: "Give the object a method that returns an array.",
  },
  map_without_parts: {
    code: "for_of_loop",
    message: "A for…of loop over a map has two names.",
    help: "for (const [key, value] of map) { … }; for one of them write map.keys() or map.values()",
  },
  changed_while_looping: {
    code: "for_of_loop",
    message: "A for…of loop can't change the set or map that it goes over.",
    help: "Go over a copy: for (const key of map.keys()) collects first. Change the map behind the loop.",
  },
  callback_without_value: {
    code: "closure",
    message: "This function gives a value on some of its paths only.",
    help: "Return a value at the end of the function too.",
  },
  spread_of_base: {
    code: "spread",
    message: "A record whose class has derived classes can't be spread: its other fields are not known here.",
    help: "Name the fields: { id: order.id, note: order.note }",
  },
  unknown_form: {
    code: "type_error",
    message: "The type of this is not known.",
    help: "Write it into a variable with a type first.",
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
