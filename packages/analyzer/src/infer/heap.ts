/**
 * The abstract heap. An object stands for everything that one place in the source creates. Such a place is a `new`, a
 * literal, a result of the library, or a `get` that decodes a record. A cell is one field of such an object, or the whole
 * content of a container.
 *
 * A location is anything that can be defined and needed: a variable, a cell, a table, the draws of a call site.
 */
import type {
  Access,
  DrawSite,
  FieldDeclaration,
  FunctionDeclaration,
  Global,
  Local,
  Scan,
  Type,
} from "../lower/ir.ts";

export class AbstractObject {
  readonly type: Type;
  /** Set for function values. */
  readonly functionValue: FunctionDeclaration | null;
  /** Set for tables. */
  readonly table: TableLocation | null;
  /** The read that has decoded it; null: it comes from elsewhere. */
  readonly decodedBy: Access | Scan | null;
  /** A list that may have nothing at some index, where there should be an object or a text. */
  hasHoles = false;
  readonly #fields = new Map<FieldDeclaration, Cell>();
  /** Elements, keys and length of a container. */
  readonly content: Cell = { kind: "cell", field: null, targets: new Set() };

  constructor(
    type: Type,
    functionValue: FunctionDeclaration | null = null,
    table: TableLocation | null = null,
    decodedBy: Access | Scan | null = null,
  ) {
    this.type = type;
    this.functionValue = functionValue;
    this.table = table;
    this.decodedBy = decodedBy;
  }

  cell(field: FieldDeclaration): Cell {
    let cell = this.#fields.get(field);
    if (cell === undefined) this.#fields.set(field, (cell = { kind: "cell", field, targets: new Set() }));
    return cell;
  }

  cells(): Iterable<Cell> {
    return [...this.#fields.values(), this.content];
  }
}

export interface Cell {
  readonly kind: "cell";
  /** Null: the content of a container. */
  readonly field: FieldDeclaration | null;
  /** The objects that the cell may refer to. */
  readonly targets: Set<AbstractObject>;
}

export interface TableLocation {
  readonly kind: "table";
  readonly name: string;
}

/** A draw site stands for how many draws were taken there: every draw of the site depends on it and changes it. */
export type SharedLocation = Global | Cell | TableLocation | DrawSite;
export type Location = Local | SharedLocation;
