/**
 * The part of CloudWatch's language of patterns that the template uses. `{ … }`: conditions on fields of a line of JSON, all of which must
 * hold. `%…%`: a regular expression that the line has somewhere.
 */
type Line = Readonly<Record<string, unknown>>;

/** Whether the filter counts a line. A line without the field is another value than any; one that is not JSON has no fields at all. */
export function metricFilter(pattern: string): (line: string) => boolean {
  const [, expression] = /^%(.*)%$/.exec(pattern) ?? [];
  if (expression !== undefined) return regularFilter(expression);
  const inner = /^\{ (.*) \}$/.exec(pattern)?.[1];
  if (inner === undefined) throw new Error(`${pattern} is not a pattern`);
  const conditions = inner.split(" && ").map(conditionOf);
  return (text) => {
    const line = fieldsOf(text);
    return line !== null && conditions.every((holds) => holds(line));
  };
}

/** The fields of a line; null: it is not JSON. */
export function fieldsOf(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}

/** CloudWatch takes letters, digits, some symbols and some operators, of which a bracket names what it holds, and not the rest. */
function regularFilter(expression: string): (line: string) => boolean {
  if (!/^[A-Za-z0-9:_#=@/;,^$?[\]{}|\\*+.-]+$/.test(expression) || expression.includes("[^"))
    throw new Error(`%${expression}% has something that CloudWatch does not take`);
  const compiled = new RegExp(expression);
  return (line) => compiled.test(line);
}

function conditionOf(text: string): (line: Line) => boolean {
  const [, field = "", operator, value] = /^\$\.(\w+) (=|!=) (.+)$/.exec(text) ?? [];
  if (value === undefined) throw new Error(`${text} is not a condition`);
  const wanted: unknown = JSON.parse(value);
  return (line) => (line[field] === wanted) === (operator === "=");
}
