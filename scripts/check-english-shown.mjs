/**
 * The texts in sources that people see while they work with Radical: the words of diagnostics, the help of commands, and the
 * messages and hints of errors. `check-english.mjs` holds them to the rule for English.
 */
import { parseSync, Visitor } from "oxc-parser";

/** @typedef {import("oxc-parser").Node} Node */

/**
 * @typedef {object} ShownText
 * @property {number} line 1-based
 * @property {string} text computed parts are an ellipsis
 * @property {"diagnostic" | "error" | "notes" | "phrase"} form notes may end with a table, an error with a command, and a phrase has no full stop
 */

/** Sources whose properties `message` and `help` are diagnostics. */
const DIAGNOSTICS = /^packages\/analyzer\/src\/(?!testing\/).*(?<!\.test)\.ts$/;

/** Sources of commands, servers and locations. */
const COMMANDS =
  /^packages\/(admin|app|cli|command-line|create-radical-app|deploy|local|lvi-server|runtime)\/src\/(?!.*(testing|conformance)).*(?<!\.test)\.ts$/;

/**
 * The places of texts among the arguments of an error.
 * @type {Readonly<Record<string, readonly number[]>>}
 */
const ERRORS = {
  CommandError: [1, 2],
  RadicalError: [1, 2],
  errorBody: [1, 2],
  PrimaryError: [1, 2],
  CloudflareError: [2, 3],
  EntryError: [1],
  MisfitError: [1],
  ScaffoldError: [0, 1],
  unauthorized: [0, 1],
};

/** @param {string} file @param {string} source @returns {readonly ShownText[]} */
export function shownTextsOf(file, source) {
  const isDiagnostic = DIAGNOSTICS.test(file);
  if (!isDiagnostic && !COMMANDS.test(file)) return [];
  const { program } = parseSync(file, source, { sourceType: "module" });
  const texts = isDiagnostic ? diagnosticsOf(program) : [...helpOf(program), ...errorsOf(program)];
  const seen = new Set();
  return texts.flatMap(({ node, form }) => {
    const text = textOf(node);
    if (text === null || seen.has(node)) return [];
    seen.add(node);
    return [{ line: source.slice(0, node.start).split("\n").length, text, form }];
  });
}

/** @typedef {{ readonly node: Node, readonly form: ShownText["form"] }} Found */
/** @typedef {import("oxc-parser").Program} Program */

/** @param {Program} program @returns {readonly Found[]} */
function diagnosticsOf(program) {
  /** @type {Found[]} */
  const found = [];
  new Visitor({
    Property({ key, value }) {
      if (key.type === "Identifier" && (key.name === "message" || key.name === "help"))
        for (const node of textsIn(value)) found.push({ node, form: "diagnostic" });
    },
  }).visit(program);
  return found;
}

/**
 * The words of commands and options, the notes below them, exit codes, the words beside examples, and a whole help `HELP`.
 * @param {Program} program @returns {readonly Found[]}
 */
function helpOf(program) {
  /** @type {Found[]} */
  const found = [];
  new Visitor({
    ObjectExpression({ properties }) {
      /** @type {Map<string, Node>} */
      const values = new Map();
      for (const property of properties)
        if (property.type === "Property" && property.key.type === "Identifier")
          values.set(property.key.name, property.value);
      const isHelp = ["kind", "options", "commands"].some((name) => values.has(name));
      if (isHelp) for (const node of textsIn(values.get("words"))) found.push({ node, form: "phrase" });
      for (const node of textsIn(values.get("notes"))) found.push({ node, form: "notes" });
      for (const node of elementsOf(values.get("exitCodes"))) found.push({ node, form: "phrase" });
      for (const example of elementsOf(values.get("examples")))
        for (const node of elementsOf(example).slice(1)) found.push({ node, form: "phrase" });
    },
    VariableDeclarator({ id, init }) {
      if (id.type === "Identifier" && id.name === "HELP" && init !== null) found.push({ node: init, form: "notes" });
    },
  }).visit(program);
  return found;
}

/**
 * Messages and hints. A text may stand in a constant, or be handed to a function of the file that makes the error.
 * @param {Program} program @returns {readonly Found[]}
 */
function errorsOf(program) {
  const { calls, constants } = callsOf(program);
  /** @type {Map<string, Set<number>>} */
  const places = new Map(Object.entries(ERRORS).map(([name, known]) => [name, new Set(known)]));
  let isComplete = false;
  while (!isComplete) {
    isComplete = true;
    for (const { callee, given, within } of calls)
      for (const place of places.get(callee) ?? []) {
        const argument = given[place];
        const parameter = argument?.type === "Identifier" ? (within?.parameters.indexOf(argument.name) ?? -1) : -1;
        if (within === null || parameter === -1) continue;
        const known = places.get(within.name) ?? new Set();
        if (known.has(parameter)) continue;
        places.set(within.name, known.add(parameter));
        isComplete = false;
      }
  }
  /** @type {Node[]} */
  const shown = calls.flatMap(({ callee, given }) => [...(places.get(callee) ?? [])].flatMap((at) => given[at] ?? []));
  new Visitor({
    ObjectExpression({ properties }) {
      const named = properties.filter(
        (property) =>
          property.type === "Property" &&
          property.key.type === "Identifier" &&
          (property.key.name === "message" || property.key.name === "hint"),
      );
      if (named.length === 2) for (const property of named) if ("value" in property) shown.push(property.value);
    },
  }).visit(program);
  const texts = shown.flatMap((node) =>
    node.type === "Identifier" ? (constants.get(node.name) ?? []).flatMap(textsIn) : textsIn(node),
  );
  return texts.map((node) => ({ node, form: "error" }));
}

/**
 * @typedef {object} Call
 * @property {string} callee of `super`, the name of the class above
 * @property {readonly Node[]} given
 * @property {{ readonly name: string, readonly parameters: readonly string[] } | null} within the function around it
 */

/** @param {Program} program @returns {{ readonly calls: readonly Call[], readonly constants: ReadonlyMap<string, readonly Node[]> }} */
function callsOf(program) {
  /** @type {Call[]} */
  const calls = [];
  /** @type {Map<string, Node[]>} */
  const constants = new Map();
  /** @type {{ readonly name: string, readonly parameters: readonly string[] }[]} */
  const functions = [];
  /** @type {{ readonly name: string, readonly base: string | null }[]} */
  const classes = [];
  /** @param {string} name @param {readonly Node[]} params */
  const enter = (name, params) => {
    const parameters = params.map((parameter) => (parameter.type === "Identifier" ? parameter.name : ""));
    functions.push({ name, parameters });
  };
  /** @param {Node} callee @param {readonly Node[]} given */
  const add = (callee, given) => {
    const name = callee.type === "Super" ? classes.at(-1)?.base : callee.type === "Identifier" ? callee.name : null;
    if (typeof name === "string") calls.push({ callee: name, given, within: functions.at(-1) ?? null });
  };
  new Visitor({
    FunctionDeclaration({ id, params }) {
      enter(id?.name ?? "", params);
    },
    "FunctionDeclaration:exit"() {
      functions.pop();
    },
    ClassDeclaration({ id, superClass }) {
      classes.push({ name: id?.name ?? "", base: superClass?.type === "Identifier" ? superClass.name : null });
    },
    "ClassDeclaration:exit"() {
      classes.pop();
    },
    MethodDefinition({ kind, value }) {
      enter(kind === "constructor" ? (classes.at(-1)?.name ?? "") : "", value.params);
    },
    "MethodDefinition:exit"() {
      functions.pop();
    },
    VariableDeclarator({ id, init }) {
      if (id.type !== "Identifier" || init === null) return;
      constants.set(id.name, [...(constants.get(id.name) ?? []), init]);
    },
    NewExpression({ callee, arguments: given }) {
      add(callee, given);
    },
    CallExpression({ callee, arguments: given }) {
      add(callee, given);
    },
  }).visit(program);
  return { calls, constants };
}

/** The literals that an expression may be. @param {Node | undefined} node @returns {readonly Node[]} */
function textsIn(node) {
  if (node === undefined) return [];
  switch (node.type) {
    case "ConditionalExpression":
      return [...textsIn(node.consequent), ...textsIn(node.alternate)];
    case "ArrowFunctionExpression":
      return node.body.type === "BlockStatement" ? [] : textsIn(node.body);
    default:
      return [node];
  }
}

/** @param {Node | undefined} node @returns {readonly Node[]} */
function elementsOf(node) {
  return node?.type === "ArrayExpression" ? node.elements.filter((element) => element !== null) : [];
}

/** The text of a literal, or of a sum that has one; null: the expression is something else. @param {Node} node @returns {string | null} */
function textOf(node) {
  if (node.type === "TemplateLiteral") return node.quasis.map(({ value }) => value.cooked).join("…");
  if (node.type === "BinaryExpression" && node.operator === "+") {
    const parts = [textOf(node.left), textOf(node.right)];
    return parts.every((part) => part === null) ? null : parts.map((part) => part ?? "…").join("");
  }
  return node.type === "Literal" && typeof node.value === "string" ? node.value : null;
}
