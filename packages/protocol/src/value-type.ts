/**
 * The types that handler parameters, results and stored records may have, as data. The analyzer derives them from the
 * source, the location checks requests against them, and the CLI writes TypeScript from them.
 */

export type IntegerKind = "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64";

export type ValueType =
  | { readonly kind: "bool" }
  | {
      readonly kind: IntegerKind;
      /** The enum of which it is a value, by its name in {@link NamedTypes}. Values are not checked. */
      readonly named?: string;
    }
  | { readonly kind: "f32" | "f64" }
  | {
      readonly kind: "string";
      /** The texts that it may be; left out: any. */
      readonly oneOf?: readonly string[];
      /** The name that the source gives to the union of these texts. */
      readonly named?: string;
    }
  | { readonly kind: "array"; readonly element: ValueType }
  /** An array of so many values in JSON, each of a type of its own. */
  | { readonly kind: "tuple"; readonly elements: readonly ValueType[] }
  /** Of texts to values, in the order in which they were added: an object in JSON. */
  | { readonly kind: "map"; readonly value: ValueType }
  | { readonly kind: "nullable"; readonly inner: ValueType }
  | { readonly kind: "record"; readonly name: string };

/** Enums and unions of texts, by the names that the source gives them. */
export type NamedTypes = Readonly<Record<string, NamedType>>;

/** `description`: the words of its doc comment, in Markdown. */
export type NamedType = { readonly description?: string } & (
  | { readonly kind: "enum"; readonly values: Readonly<Record<string, number>> }
  | { readonly kind: "texts"; readonly texts: readonly string[] }
);

/** A record class: its fields in encoding order, inherited ones first. */
export interface RecordType {
  readonly name: string;
  /** It is the SDK's `Blob` (`blob.ts`). */
  readonly isBlob?: true;
  /** The words of its doc comment, in Markdown. */
  readonly description?: string;
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly type: ValueType;
  /** A field that may be left out in arguments: its class initializes it, or it is declared as `name?: T`. */
  readonly optional: boolean;
  /**
   * The field is declared as `name?: T`. A handler sees null if it is absent, and it is left out then wherever the record is
   * encoded. Null is not an argument for it. An item that was stored with null is read as absent.
   */
  readonly absent?: true;
  /** Names that the field had in earlier builds: a stored record may have its value under one of them. */
  readonly was?: readonly string[];
  /** The words of its doc comment, in Markdown. */
  readonly description?: string;
}

/** Records by name; recursive types refer to each other by name. */
export type RecordTypes = Readonly<Record<string, RecordType>>;

export interface Parameter {
  readonly name: string;
  readonly type: ValueType;
  /** A parameter that may be left out: the handler declares a default, or it is declared as `name?: T`. */
  readonly optional: boolean;
  /** The parameter is declared as `name?: T`: the handler sees null if it is left out. */
  readonly absent?: true;
  /** The parameter is a `Secret` of the SDK (`secret.ts`). */
  readonly secret?: true;
  /** The words of the handler's doc comment for the parameter, in Markdown. */
  readonly description?: string;
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
    case "string":
      return type.oneOf === undefined ? "string" : type.oneOf.map((text) => JSON.stringify(text)).join(" | ");
    case "array": {
      const element = formatValueType(type.element);
      return element.includes(" | ") ? `(${element})[]` : `${element}[]`;
    }
    case "tuple":
      return `[${type.elements.map(formatValueType).join(", ")}]`;
    case "map":
      return `Record<string, ${formatValueType(type.value)}>`;
    case "nullable":
      return `${formatValueType(type.inner)} | null`;
    case "record":
      return type.name;
    default:
      return type.kind;
  }
}
