/**
 * Sorting whose comparison is statements that stand in a loop. Runs of sorted elements are merged to longer ones, from one
 * copy of the array to another. Elements that compare as equal keep their order, as in TypeScript.
 */
import { as, Token } from "../assemblyscript.ts";
import {
  access,
  again,
  assigned,
  binary,
  block,
  call,
  choice,
  constant,
  counting,
  element,
  hidden,
  integer,
  run,
  variable,
  when,
} from "./syntax.ts";

interface Sorting {
  /** Where the name of the method stands. */
  readonly at: number;
  readonly where: as.Range;
  readonly list: () => as.Expression;
  /** Compares two elements: the variable becomes true if the first goes behind the second. */
  readonly compare: (first: as.Expression, second: as.Expression, isBehind: () => as.Expression) => as.Statement[];
}

/** The statements that sort, and the sorted copy. */
export function mergeSort({ at, where, list, compare }: Sorting): {
  readonly statements: as.Statement[];
  readonly sorted: as.Expression;
} {
  const named = (purpose: string): (() => as.IdentifierExpression) => {
    const name = hidden(purpose, at, where);
    return () => again(name);
  };
  const [from, to, swapped, count] = [named("from"), named("to"), named("swapped"), named("count")];
  /** The length of the runs that are sorted. */
  const width = named("width");
  /** Where the next element goes, and the next elements of both runs, with the ends of these. */
  const [place, left, right] = [named("place"), named("left"), named("right")];
  const [middle, end] = [named("middle"), named("end")];
  const isRight = named("isRight");

  const zero = (): as.Expression => integer(0, where);
  const compared = (operator: Token, one: as.Expression, other: as.Expression): as.Expression =>
    counting(binary(operator, one, other, where));
  const isLess = (one: as.Expression, other: as.Expression): as.Expression => compared(Token.LessThan, one, other);
  const plus = (one: as.Expression, other: as.Expression): as.Expression =>
    counting(binary(Token.Plus, one, other, where));
  const set = (target: as.Expression, value: as.Expression): as.Statement => run(assigned(target, value, where));
  const runFrom = (start: () => as.Expression): as.Expression =>
    choice(isLess(plus(start(), width()), count()), plus(start(), width()), count(), where);
  const taken = (side: () => as.Expression): as.Statement =>
    block(
      [
        set(element(to(), place(), where), element(from(), side(), where)),
        set(side(), plus(side(), integer(1, where))),
      ],
      where,
    );

  const nextRuns = block(
    [set(left(), place()), set(middle(), runFrom(place)), set(right(), middle()), set(end(), runFrom(middle))],
    where,
  );
  const both = binary(Token.Ampersand_Ampersand, isLess(left(), middle()), isLess(right(), end()), where);
  const comparison = compare(element(from(), left(), where), element(from(), right(), where), isRight);
  const round = [
    when(compared(Token.Equals_Equals, place(), end()), nextRuns, where),
    variable(isRight(), compared(Token.Equals_Equals, left(), middle())),
    when(both, block(comparison, where), where),
    as.Node.createIfStatement(isRight(), taken(right), taken(left), where),
  ];
  const pass = [
    ...[left, right, middle, end].map((name) => variable(name(), zero())),
    counted(place, round),
    constant(swapped(), from()),
    set(from(), to()),
    set(to(), swapped()),
  ];
  const passes = as.Node.createForStatement(
    variable(width(), integer(1, where)),
    isLess(width(), count()),
    assigned(width(), plus(width(), width()), where),
    block(pass, where),
    where,
  );
  const copy = (name: () => as.IdentifierExpression): as.Statement =>
    variable(name(), call(list(), "slice", [], where));
  return {
    statements: [copy(from), copy(to), constant(count(), access(from(), "length", where)), passes],
    sorted: from(),
  };

  function counted(index: () => as.IdentifierExpression, body: as.Statement[]): as.Statement {
    const step = counting(as.Node.createUnaryPrefixExpression(Token.Plus_Plus, index(), where));
    return as.Node.createForStatement(
      variable(index(), zero()),
      isLess(index(), count()),
      step,
      block(body, where),
      where,
    );
  }
}
