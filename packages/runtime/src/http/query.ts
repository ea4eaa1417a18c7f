/**
 * Arguments in the query of a GET: `?user=ann&limit=20&tag=a&tag=b`. A query is text only, so the declared types say
 * what is meant; what they mean is then checked like the JSON of a POST.
 */
import { type Parameter, RadicalError, type ValueType, formatValueType } from "@radical/protocol";

/** A JSON object with the parameters by name. Throws `invalid_argument`. */
export function argumentsOfQuery(
  query: URLSearchParams,
  parameters: readonly Parameter[],
): Readonly<Record<string, unknown>> {
  const entries = [...new Set(query.keys())].map((name): [name: string, value: unknown] => {
    const texts = query.getAll(name);
    const parameter = parameters.find((candidate) => candidate.name === name);
    // The check of the arguments names an unknown one.
    return [name, parameter === undefined ? texts[0] : valueOf(name, parameter.type, texts)];
  });
  // A nullable parameter has no other way to be null.
  const absent = parameters
    .filter(({ name, type, optional }) => type.kind === "nullable" && !optional && !query.has(name))
    .map(({ name }): [name: string, value: unknown] => [name, null]);
  return Object.fromEntries([...entries, ...absent]);
}

function valueOf(name: string, type: ValueType, texts: readonly string[]): unknown {
  const [text = ""] = texts;
  if (type.kind === "nullable") return valueOf(name, type.inner, texts);
  if (type.kind === "array") {
    const { element } = type;
    if (texts.length === 1 && text.startsWith("[")) return jsonOf(name, type, text);
    return texts.map((part) => valueOf(name, element, [part]));
  }
  if (texts.length > 1)
    throw new RadicalError(
      "invalid_argument",
      `"${name}" is given ${texts.length} times.`,
      `Give it once: it is of type ${formatValueType(type)}.`,
    );
  switch (type.kind) {
    case "string":
      return text;
    case "bool":
      if (text !== "true" && text !== "false") throw wrong(name, type, text, "Send true or false.");
      return text === "true";
    case "tuple":
    case "map":
    case "record":
      return jsonOf(name, type, text);
    case "f32":
    case "f64":
      if (!/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) throw wrong(name, type, text, "Send a decimal number.");
      return Number(text);
    default:
      if (!/^-?\d{1,20}$/.test(text)) throw wrong(name, type, text, "Send a whole number in decimal digits.");
      return BigInt(text);
  }
}

function jsonOf(name: string, type: ValueType, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw wrong(name, type, text, "Send it as JSON, encoded for a URL.");
  }
}

function wrong(name: string, type: ValueType, text: string, hint: string): RadicalError {
  const shown = JSON.stringify(text.slice(0, 80));
  return new RadicalError(
    "invalid_argument",
    `"${name}" must be of type ${formatValueType(type)}, not ${shown}.`,
    hint,
  );
}
