/** The word that the developer meant, for rewrites of misspelt ones. */

/** One wrong letter is a slip, and so are two in a word of six letters or more. */
function mostSlips(word: string): number {
  return word.length < 3 ? 0 : word.length < 6 ? 1 : 2;
}

/** The only known word from which so few letters differ. Null: none does, or several do. */
export function closest(word: string, known: readonly string[]): string | null {
  const near = known.filter((other) => other !== word && slipsBetween(word, other) <= mostSlips(word));
  return near.length === 1 ? near[0]! : null;
}

/** The least number of letters that are missing, additional, different, or swapped with the next one. */
function slipsBetween(one: string, other: string): number {
  let [before, above]: readonly (readonly number[])[] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= one.length; row++) {
    const line = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      line.push(
        Math.min(
          above![column]! + 1,
          line[column - 1]! + 1,
          above![column - 1]! + (isSame ? 0 : 1),
          isSwapped ? before![column - 2]! + 1 : Infinity,
        ),
      );
    }
    [before, above] = [above, line];
  }
  return above!.at(-1)!;
}
