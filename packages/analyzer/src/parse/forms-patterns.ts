/**
 * Patterns of TypeScript (`{ a, b: c = 1 }`, `[x, , ...rest]`) as declarations and assignments of their parts, from left
 * to right. They need no types, so the parser takes them apart.
 */
import { as, CommonFlags } from "./assemblyscript.ts";
import { access, element, identifier, slicedFrom } from "./expand/syntax.ts";
import { NullishExpression } from "./forms-nodes.ts";

export type Pattern =
  | { readonly kind: "record"; readonly members: readonly PatternMember[]; readonly range: as.Range }
  | {
      readonly kind: "array";
      /** Null: nothing takes the element. */
      readonly elements: readonly (PatternPart | null)[];
      readonly rest: PatternPart | null;
      readonly range: as.Range;
    };

export interface PatternMember {
  readonly property: as.IdentifierExpression;
  readonly part: PatternPart;
}

/** The target of a part of the value, and its value where there is none. */
export interface PatternPart {
  readonly target: as.IdentifierExpression | Pattern;
  readonly initial: as.Expression | null;
}

/** A name that no developer can write, for the value that the pattern at a place takes apart. */
export function heldBy({ range }: Pattern): as.IdentifierExpression {
  return identifier(`parts@${range.start}`, range);
}

/** Whether a pattern stands in place of the name. */
export function isPatternName({ text }: as.IdentifierExpression): boolean {
  return text.startsWith("parts@");
}

function isPattern(target: as.IdentifierExpression | Pattern): target is Pattern {
  return !(target instanceof as.IdentifierExpression);
}

/** The declarations of all names in a pattern, as parts of `value`. */
export function declarationsOf(
  pattern: Pattern,
  value: as.IdentifierExpression,
  flags: CommonFlags,
): as.VariableDeclaration[] {
  return partsOf(pattern, value).flatMap(({ part: { target, initial }, value: found }) => {
    const { range } = target;
    const given = initial === null ? found : new NullishExpression(found, initial, range.start, initial.range, true);
    const name = isPattern(target) ? heldBy(target) : target;
    const declaration = as.Node.createVariableDeclaration(
      name,
      null,
      isPattern(target) ? CommonFlags.Const : flags,
      null,
      given,
      range,
    );
    return isPattern(target) ? [declaration, ...declarationsOf(target, name, flags)] : [declaration];
  });
}

/** Each part of a pattern with the expression for its value. */
function partsOf(
  pattern: Pattern,
  value: as.IdentifierExpression,
): { readonly part: PatternPart; readonly value: as.Expression }[] {
  const valueAt = (range: as.Range): as.IdentifierExpression => identifier(value.text, range);
  switch (pattern.kind) {
    case "record":
      return pattern.members.map(({ property, part }) => ({
        part,
        value: access(valueAt(property.range), property.text, property.range),
      }));
    case "array": {
      const { elements, rest, range } = pattern;
      const parts = elements.flatMap((part, index) =>
        part === null ? [] : [{ part, value: element(valueAt(part.target.range), index, part.target.range) }],
      );
      if (rest !== null)
        parts.push({ part: rest, value: slicedFrom(valueAt(range), elements.length, rest.target.range) });
      return parts;
    }
  }
}
