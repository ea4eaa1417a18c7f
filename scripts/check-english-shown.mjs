/**
 * The texts in sources that people see while they work with Radical: the words of diagnostics, the help of commands, the messages
 * and hints of errors, lines of logs, and the plan of a deployment. `check-english.mjs` holds them to the rule for English.
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

/** Sources whose texts are lines of `radical dev`. */
const LINES = /^packages\/cli\/src\/dev\/(dev-lines|primary-line)\.ts$/;

/** Sources of commands, servers and locations. */
const COMMANDS =
  /^packages\/(admin|app|cli|command-line|create-radical-app|deploy|local|lvi-server|protocol|runtime)\/src\/(?!.*(testing|conformance)).*(?<!\.test)\.ts$/;

/** In the place of a callee: an object with a message, and with a code, a hint, or the event of a line of log. */
const ANSWER = "{ code, message, hint }";
/** In the place of a callee: a line of log, whose field `reason` is a text for people. */
const LOGGED = "log({ reason })";
const LOG_METHODS = new Set(["debug", "info", "warn", "error"]);

/**
 * The places of texts among the arguments of an error, of an answer, or of a warning of a location.
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
  Problem: [2, 3],
  StorageError: [1],
  WrongSchemaError: [0],
  KeysError: [0],
  RegistryError: [0],
  MemoryBudgetError: [0],
  warn: [1],
  [ANSWER]: [0, 1],
  [LOGGED]: [0],
};

/** In the place of a callee: a step of a deployment, or a change that it plans. */
const PLANNED = "{ title, what, detail }";

/** The places of phrases, likewise. @type {Readonly<Record<string, readonly number[]>>} */
const PLANS = { [PLANNED]: [0, 1, 2] };

/** @param {string} file @param {string} source @returns {readonly ShownText[]} */
export function shownTextsOf(file, source) {
  const isDiagnostic = DIAGNOSTICS.test(file);
  if (!isDiagnostic && !COMMANDS.test(file)) return [];
  const { program } = parseSync(file, source, { sourceType: "module" });
  const texts = isDiagnostic
    ? diagnosticsOf(program)
    : [
        ...helpOf(program),
        ...givenIn(program, ERRORS).map((node) => ({ node, form: /** @type {const} */ ("error") })),
        ...givenIn(program, PLANS).map((node) => ({ node, form: /** @type {const} */ ("phrase") })),
        ...(LINES.test(file) ? linesOf(program) : []),
      ];
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
    ObjectExpression(object) {
      const values = valuesOf(object);
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

/** Every text of several words. @param {Program} program @returns {readonly Found[]} */
function linesOf(program) {
  /** @type {Found[]} */
  const found = [];
  /** @param {Node} node */
  const add = (node) => {
    if (/\p{L}.*\s.*\p{L}/u.test(textOf(node) ?? "")) found.push({ node, form: "phrase" });
  };
  new Visitor({ TemplateLiteral: add, Literal: add }).visit(program);
  return found;
}

/** The values of an object by their names. @param {import("oxc-parser").ObjectExpression} object @returns {ReadonlyMap<string, Node>} */
function valuesOf({ properties }) {
  /** @type {Map<string, Node>} */
  const values = new Map();
  for (const property of properties)
    if (property.type === "Property" && property.key.type === "Identifier")
      values.set(property.key.name, property.value);
  return values;
}

/**
 * The texts in places of a table. A text may stand in a constant, or be handed to a function of the file that puts it there.
 * @param {Program} program @param {Readonly<Record<string, readonly number[]>>} table @returns {readonly Node[]}
 */
function givenIn(program, table) {
  const { calls, constants } = callsOf(program);
  /** @type {Map<string, Set<number>>} */
  const places = new Map(Object.entries(table).map(([name, known]) => [name, new Set(known)]));
  let isComplete = false;
  while (!isComplete) {
    isComplete = true;
    for (const { callee, given, within } of calls)
      for (const place of places.get(callee) ?? []) {
        const argument = given[place];
        if (argument?.type !== "Identifier") continue;
        const around = within.findLast(({ parameters }) => parameters.includes(argument.name));
        if (around === undefined) continue;
        const known = places.get(around.name) ?? new Set();
        const parameter = around.parameters.indexOf(argument.name);
        if (known.has(parameter)) continue;
        places.set(around.name, known.add(parameter));
        isComplete = false;
      }
  }
  /** @type {Node[]} */
  const shown = calls.flatMap(({ callee, given }) => [...(places.get(callee) ?? [])].flatMap((at) => given[at] ?? []));
  const texts = shown.flatMap((node) =>
    node.type === "Identifier" ? (constants.get(node.name) ?? []).flatMap(textsIn) : textsIn(node),
  );
  return texts.filter((node) => !isCode(node));
}

/**
 * @typedef {object} Call
 * @property {string} callee of `super`, the name of the class above; of a method, its name with `this.` or `#`
 * @property {readonly (Node | undefined)[]} given
 * @property {readonly Func[]} within the functions around it, the innermost last
 */

/** @typedef {{ readonly name: string, readonly parameters: readonly string[] }} Func */

/** @param {Program} program @returns {{ readonly calls: readonly Call[], readonly constants: ReadonlyMap<string, readonly Node[]> }} */
function callsOf(program) {
  /** @type {Call[]} */
  const calls = [];
  /** @type {Map<string, Node[]>} */
  const constants = new Map();
  /** @type {Func[]} */
  const functions = [];
  /** The names of functions that are constants. @type {Map<Node, string>} */
  const named = new Map();
  /** @type {{ readonly name: string, readonly base: string | null }[]} */
  const classes = [];
  /** @param {string} name @param {readonly Node[]} params */
  const enter = (name, params) => {
    const parameters = params.map((parameter) => (parameter.type === "Identifier" ? parameter.name : ""));
    functions.push({ name, parameters });
  };
  /** @param {string} callee @param {readonly (Node | undefined)[]} given */
  const add = (callee, given) => calls.push({ callee, given, within: [...functions] });
  /** @param {Node} callee @param {readonly Node[]} given */
  const addCall = (callee, given) => {
    const name = callee.type === "Super" ? classes.at(-1)?.base : calleeOf(callee);
    if (typeof name === "string") add(name, given);
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
    MethodDefinition({ kind, key, value }) {
      enter(kind === "constructor" ? (classes.at(-1)?.name ?? "") : (memberOf(key) ?? ""), value.params);
    },
    "MethodDefinition:exit"() {
      functions.pop();
    },
    VariableDeclarator({ id, init }) {
      if (id.type !== "Identifier" || init === null) return;
      constants.set(id.name, [...(constants.get(id.name) ?? []), init]);
      if (init.type === "ArrowFunctionExpression") named.set(init, id.name);
    },
    ArrowFunctionExpression(node) {
      enter(named.get(node) ?? "", node.params);
    },
    "ArrowFunctionExpression:exit"() {
      functions.pop();
    },
    NewExpression({ callee, arguments: given }) {
      addCall(callee, given);
    },
    CallExpression({ callee, arguments: given }) {
      addCall(callee, given);
      const isLog = callee.type === "MemberExpression" && LOG_METHODS.has(nameOf(callee.property) ?? "");
      if (!isLog) return;
      for (const fields of given) if (fields.type === "ObjectExpression") add(LOGGED, [valuesOf(fields).get("reason")]);
    },
    ObjectExpression(object) {
      const values = valuesOf(object);
      const code = values.get("code");
      // An issue of zod: a phrase behind the name of a setting.
      const isIssue = code !== undefined && textOf(code) === "custom";
      const isAnswer = code !== undefined || values.has("hint") || values.has("event");
      if (values.has("message") && isAnswer && !isIssue) add(ANSWER, [values.get("message"), values.get("hint")]);
      if (values.has("ifFailed")) add(ANSWER, [values.get("ifFailed")]);
      if (values.has("what") && values.has("detail"))
        add(PLANNED, [undefined, values.get("what"), values.get("detail")]);
      if (values.has("half")) add(PLANNED, [values.get("title")]);
    },
  }).visit(program);
  return { calls, constants };
}

/** The name of a function, or of a method of the same object. @param {Node} callee @returns {string | null} */
function calleeOf(callee) {
  if (callee.type !== "MemberExpression") return nameOf(callee);
  return callee.object.type === "ThisExpression" ? memberOf(callee.property) : null;
}

/** @param {Node} key @returns {string | null} */
function memberOf(key) {
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Identifier" ? `this.${key.name}` : null;
}

/** @param {Node} node @returns {string | null} */
function nameOf(node) {
  return node.type === "Identifier" ? node.name : null;
}

/** A word without blanks, as codes are. @param {Node} node */
function isCode(node) {
  return /^[a-z_-]+$/.test(textOf(node) ?? "");
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
