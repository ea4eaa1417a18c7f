/**
 * The types that handler parameters, results and stored records may have, as data. The analyzer derives them from the
 * source, the location checks requests against them, and the CLI writes TypeScript from them.
 */

export type IntegerKind = "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64";

export type ValueType =
  | { readonly kind: "bool" }
  | { readonly kind: IntegerKind }
  | { readonly kind: "f32" | "f64" }
  | { readonly kind: "string" }
  | { readonly kind: "array"; readonly element: ValueType }
  | { readonly kind: "nullable"; readonly inner: ValueType }
  | { readonly kind: "record"; readonly name: string };

/** A record class: its fields in encoding order, inherited ones first. */
export interface RecordType {
  readonly name: string;
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly type: ValueType;
  /** A field that may be left out in arguments: its class initializes it. */
  readonly optional: boolean;
}

/** Records by name; recursive types refer to each other by name. */
export type RecordTypes = Readonly<Record<string, RecordType>>;

export interface Parameter {
  readonly name: string;
  readonly type: ValueType;
  /** A parameter that may be left out: the handler declares a default. */
  readonly optional: boolean;
}

/** Inclusive bounds of the integer kinds. */
export const INTEGER_RANGES: Readonly<Record<IntegerKind, readonly [min: bigint, max: bigint]>> = {
  i8: [-(2n ** 7n), 2n ** 7n - 1n],
  u8: [0n, 2n ** 8n - 1n],
  i16: [-(2n ** 15n), 2n ** 15n - 1n],
  u16: [0n, 2n ** 16n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u32: [0n, 2n ** 32n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
};

/** The type as handler source would write it, for messages: `string[]`, `User | null`. */
export function formatValueType(type: ValueType): string {
  switch (type.kind) {
    case "array":
      return type.element.kind === "nullable"
        ? `(${formatValueType(type.element)})[]`
        : `${formatValueType(type.element)}[]`;
    case "nullable":
      return `${formatValueType(type.inner)} | null`;
    case "record":
      return type.name;
    default:
      return type.kind;
  }
}
