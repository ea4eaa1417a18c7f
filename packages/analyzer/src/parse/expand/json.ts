/**
 * `JSON.stringify(value)`, written out for the type of the value. Lists and maps are loops, so the analysis reads the text as
 * it reads one that the developer puts together.
 */
import { as } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import { isGenerated } from "../graft.ts";
import { entriesOf } from "../map-entries.ts";
import { boxedType } from "../nullable-numbers.ts";
import { sdkCall } from "../sdk-functions.ts";
import type { Expansion } from "./expander.ts";
import { fieldsOf } from "./fields.ts";
import { hasDerived } from "./spreads.ts";
import {
  access,
  again,
  call,
  choice,
  constant,
  counted,
  element,
  hidden,
  isNull,
  isThere,
  newList,
  run,
  template,
  textLiteral,
  when,
} from "./syntax.ts";
import { isNullable } from "./typing.ts";

/** The text of a value. Null: the value has none, which is told. `at` is a place that no other call has. */
export function expandJson(
  expansion: Expansion,
  value: as.Expression,
  at: number,
  range: as.Range,
): as.Expression | null {
  return new JsonExpansion(expansion, at, range).written(value);
}

class JsonExpansion {
  readonly #expansion: Expansion;
  readonly #at: number;
  readonly #range: as.Range;
  #names = 0;

  constructor(expansion: Expansion, at: number, range: as.Range) {
    this.#expansion = expansion;
    this.#at = at;
    this.#range = range;
  }

  /** The text of an expression of the developer's. The members of a literal need no type of their own. */
  written(value: as.Expression): as.Expression | null {
    const inner = withoutParentheses(value);
    if (inner instanceof as.ObjectLiteralExpression) {
      const parts = inner.values.map((member) => this.written(member));
      return parts.includes(null)
        ? null
        : this.#object(
            inner.names.map(({ text: name }) => name),
            parts as as.Expression[],
          );
    }
    const { typing, flow } = this.#expansion;
    const type = typing.of(value, flow);
    // Compiling it says what is wrong.
    return type === null ? value : this.text(value, type, []);
  }

  /** The expression for the text of a value, which is evaluated once. `within`: the classes around it. */
  text(value: as.Expression, type: as.Type, within: readonly as.Class[]): as.Expression | null {
    const range = this.#range;
    if (isNullable(type)) return this.#nullable(value, type, within);
    if (type === as.Type.bool || type.isIntegerValue) return template(["", ""], [value], range);
    if (type.isFloatValue) return sdkCall("jsonOfFloat", [value], range);
    const { typing } = this.#expansion;
    if (typing.isText(type)) return sdkCall("quoted", [value], range);
    const entries = entriesOf(type);
    if (entries !== null) return this.#map(value, entries.value, within);
    const found = type.getClass();
    const name = typing.containerOf(type)?.prototype.name ?? "";
    if (name === "Array") return this.#list(value, found!.typeArguments![0]!, within);
    if (name === "Date") return template(['"', '"'], [call(value, "toISOString", [], range)], range);
    if (found === null || found.declaration.range.source.isLibrary) return this.#expansion.tell("json_type", range);
    if (within.includes(found)) return this.#expansion.tell("json_recursive", range);
    if (hasDerived(found)) return this.#expansion.tell("json_of_base", range);
    return this.#record(value, found, [...within, found]);
  }

  #name(purpose: string): as.IdentifierExpression {
    return hidden(`${purpose}${this.#names++}`, this.#at, this.#range);
  }

  #nullable(value: as.Expression, type: as.Type, within: readonly as.Class[]): as.Expression | null {
    const range = this.#range;
    const name = this.#name("some");
    const inner = this.text(again(name), boxedType(type) ?? type.nonNullableType, within);
    if (inner === null) return null;
    return new BlockExpression(
      [constant(name, value, type)],
      choice(isNull(again(name), range), textLiteral("null", range), inner, range),
      range,
    );
  }

  #list(value: as.Expression, type: as.Type, within: readonly as.Class[]): as.Expression | null {
    const range = this.#range;
    const [list, index, parts] = [this.#name("list"), this.#name("index"), this.#name("parts")];
    const part = this.text(element(again(list), again(index), range), type, within);
    if (part === null) return null;
    const loop = counted(index, list, [this.#push(parts, part)], range);
    return new BlockExpression([constant(list, value), this.#parts(parts), loop], this.#joined("[", parts, "]"), range);
  }

  #map(value: as.Expression, type: as.Type, within: readonly as.Class[]): as.Expression | null {
    const range = this.#range;
    const [map, keys, values] = [this.#name("map"), this.#name("keys"), this.#name("values")];
    const [index, parts] = [this.#name("index"), this.#name("parts")];
    const part = this.text(element(again(values), again(index), range), type, within);
    if (part === null) return null;
    const key = sdkCall("quoted", [element(again(keys), again(index), range)], range);
    const statements = [
      constant(map, value),
      constant(keys, call(again(map), "keys", [], range)),
      constant(values, call(again(map), "values", [], range)),
      this.#parts(parts),
      counted(index, keys, [this.#push(parts, template(["", ":", ""], [key, part], range))], range),
    ];
    return new BlockExpression(statements, this.#joined("{", parts, "}"), range);
  }

  #record(value: as.Expression, owner: as.Class, within: readonly as.Class[]): as.Expression | null {
    const range = this.#range;
    const record = this.#name("record");
    const fields = [...fieldsOf(owner)].flatMap(([name, { type, isOptional, declaration }]) => {
      // The build adds one for the fields that only another build knows.
      if (isGenerated(declaration.range.source)) return [];
      return [{ name, type, isOptional, field: (): as.Expression => access(again(record), name, range) }];
    });
    if (fields.some(({ isOptional }) => isOptional)) {
      const parts = this.#name("parts");
      const pushes: as.Statement[] = [];
      for (const { name, field, type, isOptional } of fields) {
        const held = this.#name("field");
        const known = isOptional ? (boxedType(type) ?? type.nonNullableType) : type;
        const part = this.text(again(held), known, within);
        if (part === null) return null;
        const push = this.#push(parts, template([`${JSON.stringify(name)}:`, ""], [part], range));
        pushes.push(constant(held, field(), type), isOptional ? when(isThere(again(held), range), push, range) : push);
      }
      return new BlockExpression(
        [constant(record, value), this.#parts(parts), ...pushes],
        this.#joined("{", parts, "}"),
        range,
      );
    }
    const values = fields.map(({ field, type }) => this.text(field(), type, within));
    if (values.includes(null)) return null;
    const names = fields.map(({ name }) => name);
    return new BlockExpression([constant(record, value)], this.#object(names, values as as.Expression[]), range);
  }

  #object(names: readonly string[], values: as.Expression[]): as.Expression {
    const keys = names.map((name, index) => `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`);
    return names.length === 0 ? textLiteral("{}", this.#range) : template([...keys, "}"], values, this.#range);
  }

  #parts(name: as.IdentifierExpression): as.Statement {
    return newList(name, this.#expansion.typing.program.stringInstance.type);
  }

  #push(parts: as.IdentifierExpression, part: as.Expression): as.Statement {
    return run(call(again(parts), "push", [part], this.#range));
  }

  #joined(open: string, parts: as.IdentifierExpression, close: string): as.Expression {
    const range = this.#range;
    return template([open, close], [call(again(parts), "join", [textLiteral(",", range)], range)], range);
  }
}
