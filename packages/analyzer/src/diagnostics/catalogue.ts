/**
 * The catalogue of diagnostics. Codes are permanent: tests assert them, users search for them, and pages of the
 * documentation have their names. A code that is no longer made is not used again.
 */
import type { Diagnostic, DiagnosticClass, Fix, Span } from "./diagnostic.ts";

interface Kind {
  readonly severity: Diagnostic["severity"];
  readonly class: DiagnosticClass;
}

const INVALID: Kind = { severity: "error", class: "invalid" };
/** Refused before the compiler: nothing runs. */
const REFUSED: Kind = { severity: "error", class: "unsupported" };
/** Runs, in record mode. */
const NOT_SLICED: Kind = { severity: "warning", class: "unsupported" };
const INTERNAL: Kind = { severity: "error", class: "internal" };

export const CATALOGUE = {
  // The application as a whole
  no_handlers: INVALID,
  duplicate_handler: INVALID,
  service_declaration: INVALID,
  invalid_handler_name: INVALID,
  reserved_name: INVALID,
  import_not_found: INVALID,

  // Syntax and types
  syntax_error: INVALID,
  nested_too_deeply: REFUSED,
  type_error: INVALID,
  unknown_text: INVALID,
  /** A warning of the compiler. */
  compiler_warning: { severity: "warning", class: "invalid" },
  async_function: REFUSED,
  generator_function: REFUSED,
  try_statement: REFUSED,
  for_of_loop: REFUSED,
  for_in_loop: REFUSED,
  spread: REFUSED,
  /** Code that is never used, where the developer surely meant something. */
  dead_code: REFUSED,
  union_type: REFUSED,
  tuple_type: REFUSED,
  any_type: REFUSED,
  unknown_type: REFUSED,
  regular_expression: REFUSED,
  closure: REFUSED,
  labeled_statement: REFUSED,
  type_import: REFUSED,
  delete_operator: REFUSED,
  bigint_literal: REFUSED,
  type_operator: REFUSED,
  assertion_signature: REFUSED,
  symbol: REFUSED,
  template_tag: REFUSED,
  lost_default: REFUSED,
  thrown_value: REFUSED,
  blob_made: REFUSED,
  quoted_call: REFUSED,
  unquoted_service: REFUSED,
  computed_name: REFUSED,
  private_name: REFUSED,
  dynamic_import: REFUSED,
  old_statement: REFUSED,
  void_operator: REFUSED,
  in_operator: REFUSED,
  object_type: REFUSED,
  object_literal: REFUSED,
  index_signature: REFUSED,
  map_entry: REFUSED,
  overload_signature: REFUSED,
  string_enum: REFUSED,
  local_declaration: REFUSED,
  optional_member: REFUSED,
  this_parameter: REFUSED,
  method_value: REFUSED,
  class_form: REFUSED,
  module_form: REFUSED,
  meta_property: REFUSED,
  call_signature: REFUSED,
  unknown_decorator: REFUSED,
  platform_name: REFUSED,

  // Numbers and tests with another meaning than they seem to have
  constant_overflow: INVALID,
  integer_division: INVALID,
  constant_test: INVALID,
  missing_key: INVALID,
  sort_order: INVALID,

  // Names that handlers may not use
  json_not_available: REFUSED,
  nondeterministic: REFUSED,
  console_not_available: REFUSED,
  unsafe_memory: REFUSED,
  float_bits: REFUSED,
  host_import: REFUSED,
  package_import: REFUSED,
  sdk_internal: REFUSED,

  // Handlers, tables, records
  generic_handler: REFUSED,
  handler_not_function: INVALID,
  rest_parameter: REFUSED,
  pattern_parameter: REFUSED,
  missing_type: INVALID,
  unsupported_type: REFUSED,
  misplaced_secret: REFUSED,
  invalid_table_name: INVALID,
  table_not_constant: REFUSED,
  duplicate_table: INVALID,
  invalid_index: INVALID,
  duplicate_index: INVALID,
  index_part: INVALID,
  generic_record: REFUSED,
  duplicate_record: INVALID,
  nested_record: REFUSED,
  private_field: REFUSED,
  infinite_record: INVALID,

  // Workflows
  invalid_signal: INVALID,
  table_in_workflow: INVALID,
  workflow_only: INVALID,
  workflow_called: INVALID,

  // Stores and changes of handlers
  /** A change of a record that no put stores. */
  unsaved_change: { severity: "warning", class: "invalid" },

  // Tags in doc comments of handlers
  unknown_tag: INVALID,
  misplaced_tag: INVALID,
  invalid_schedule: INVALID,
  schedule_comment: INVALID,
  schedule_signature: INVALID,
  /** A tick has no caller. */
  schedule_caller: { severity: "warning", class: "invalid" },
  unknown_given_handler: INVALID,
  duplicate_given_set: INVALID,
  given_set_signature: INVALID,
  given_set_effect: INVALID,
  given_set_only: INVALID,

  // Read/write sets
  not_sliced_library: NOT_SLICED,
  not_sliced_method_value: NOT_SLICED,
  not_sliced_module_code: NOT_SLICED,
  not_sliced_operator_overload: NOT_SLICED,
  not_sliced_syntax: NOT_SLICED,
  not_sliced_table_value: NOT_SLICED,
  not_sliced_type: NOT_SLICED,
  not_sliced_password_hash: NOT_SLICED,
  not_sliced_task_id: NOT_SLICED,
  not_sliced_unknown_value: NOT_SLICED,
  sliced_without_transformations: { severity: "warning", class: "internal" },
  /** On the developer's request; it works, and takes time. */
  expensive_read_write_set: { severity: "info", class: "imprecise" },
  read_write_set_not_compiled: { severity: "warning", class: "internal" },

  compiler_crash: INTERNAL,
  /** The handlers concerned run in record mode. */
  analyzer_crash: { severity: "warning", class: "internal" },
} as const satisfies Readonly<Record<string, Kind>>;

export type DiagnosticCode = keyof typeof CATALOGUE;

export interface DiagnosticDetails {
  readonly message: string;
  readonly primary: Span;
  readonly related?: Diagnostic["related"];
  readonly help?: string | undefined;
  readonly fix?: Fix | undefined;
}

/** A diagnostic with the severity and class that its code has. */
export function diagnostic(code: DiagnosticCode, details: DiagnosticDetails): Diagnostic {
  const { message, primary, related = [], help, fix } = details;
  return {
    code,
    ...CATALOGUE[code],
    message,
    primary,
    related,
    ...(help === undefined ? {} : { help }),
    ...(fix === undefined ? {} : { fix }),
  };
}
