/**
 * Nothing compares units, keys or commit ids but `compareKeys` and `compareCommits` of packages/protocol/src/ids.ts:
 * `<` orders text by UTF-16, and keys are ordered by UTF-8 bytes. The compiler takes `<` between any two texts, so this
 * check asks it for the types of the operands, in every project of the repository.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { SyntaxKind } from "typescript/unstable/ast";
import { isBinaryExpression, isCallExpression, isPropertyAccessExpression } from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";

/** The one home of both orders. */
const HOME = "packages/protocol/src/ids.ts";

const ORDERED = /\b(?:UnitId|CommitId|Key)\b/;
const COMPARISONS = new Set([
  SyntaxKind.LessThanToken,
  SyntaxKind.LessThanEqualsToken,
  SyntaxKind.GreaterThanToken,
  SyntaxKind.GreaterThanEqualsToken,
]);
/** They compare text when they are given no function. */
const SORTS = new Set(["sort", "toSorted"]);

/** @typedef {import("typescript/unstable/ast").Node} Node */

/**
 * A comparison in a source file, and the expressions whose types decide whether it is one of units or commit ids.
 * @typedef {{ readonly at: Node, readonly operands: readonly Node[] }} Comparison
 */

/** @param {Node} node @param {Comparison[]} found */
function collect(node, found) {
  if (isBinaryExpression(node) && COMPARISONS.has(node.operatorToken.kind)) {
    const operands = [node.left, node.right];
    if (!operands.some(({ kind }) => kind === SyntaxKind.NumericLiteral)) found.push({ at: node, operands });
  } else if (isCallExpression(node) && isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    if ((SORTS.has(name.text) && node.arguments.length === 0) || name.text === "localeCompare")
      found.push({ at: node, operands: [expression] });
  }
  node.forEachChild((child) => collect(child, found));
}

/** The projects that build the repository, and the one of its tests. @param {string} root @returns {string[]} */
function projectsOf(root) {
  /** @type {Set<string>} */
  const projects = new Set();
  /** @param {string} file */
  const add = (file) => {
    if (projects.has(file)) return;
    projects.add(file);
    const text = readFileSync(file, "utf8").replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g, "$1");
    const { references = [] } = /** @type {{ references?: { path: string }[] }} */ (JSON.parse(text));
    for (const reference of references) {
      const full = path.resolve(path.dirname(file), reference.path);
      add(full.endsWith(".json") ? full : path.join(full, "tsconfig.json"));
    }
  };
  for (const name of ["tsconfig.json", "tsconfig.tests.json"]) {
    const file = path.join(root, name);
    if (existsSync(file)) add(file);
  }
  return [...projects];
}

/**
 * Checks a repository and returns each raw comparison, as `file:line: what and what to do`; empty when all is well.
 * @param {string} root @returns {string[]}
 */
export function checkOrder(root) {
  /** @type {Map<string, string>} by place */
  const problems = new Map();
  const api = new API({ cwd: root });
  try {
    for (const project of api.updateSnapshot({ openProjects: projectsOf(root) }).getProjects()) {
      for (const file of project.rootFiles) {
        const shown = path.relative(root, file).replaceAll(path.sep, "/");
        const source = shown === HOME ? undefined : project.program.getSourceFile(file);
        if (source === undefined) continue;
        /** @type {Comparison[]} */
        const found = [];
        collect(source, found);
        for (const { at, operands } of found) {
          const types = project.checker.getTypeAtLocation(operands);
          const isOrdered = types.some(
            (type) => type !== undefined && ORDERED.test(project.checker.typeToString(type)),
          );
          if (!isOrdered) continue;
          const line = source.text.slice(0, at.getStart(source)).split("\n").length;
          const what = "compares units, keys or commit ids as text; use compareKeys, byUnit or compareCommits";
          problems.set(`${shown}:${line}`, `${shown}:${line}: ${what}`);
        }
      }
    }
  } finally {
    api.close();
  }
  return [...problems.values()];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = checkOrder(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
