/** The part of CloudWatch's language of patterns that the template uses: conditions on fields of a line, all of which must hold. */
type Line = Readonly<Record<string, unknown>>;

/** Whether the filter counts a line. A line without the field is another value than any. */
export function metricFilter(pattern: string): (line: Line) => boolean {
  const inner = /^\{ (.*) \}$/.exec(pattern)?.[1];
  if (inner === undefined) throw new Error(`${pattern} is not a pattern of fields`);
  const conditions = inner.split(" && ").map(conditionOf);
  return (line) => conditions.every((holds) => holds(line));
}

function conditionOf(text: string): (line: Line) => boolean {
  const [, field = "", operator, value] = /^\$\.(\w+) (=|!=) (.+)$/.exec(text) ?? [];
  if (value === undefined) throw new Error(`${text} is not a condition`);
  const wanted: unknown = JSON.parse(value);
  return (line) => (line[field] === wanted) === (operator === "=");
}
