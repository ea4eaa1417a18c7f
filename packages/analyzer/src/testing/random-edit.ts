/**
 * For tests: edits as somebody makes them while working, good and bad ones.
 */
import { Random } from "@radical/history";

type Files = Readonly<Record<string, string>>;

/** The files after one edit, which the seed decides. */
export function edited(files: Files, seed: number): Files {
  const random = new Random(seed);
  const path = random.pick(Object.keys(files).toSorted());
  const lines = files[path]!.split("\n");
  const at = random.below(lines.length);
  const change = (line: string, replacement: readonly string[], count = 1): Files => {
    const index = lines.indexOf(line, at) === -1 ? lines.indexOf(line) : lines.indexOf(line, at);
    return index === -1 ? files : { ...files, [path]: lines.toSpliced(index, count, ...replacement).join("\n") };
  };
  const statements = lines.filter((line) => /^ {2,}[^ ].*;$/.test(line));
  const statement = statements.length === 0 ? lines[0]! : random.pick(statements);
  switch (random.below(8)) {
    case 0:
      return change(random.pick(lines), ["", "// a remark"], 0);
    case 1:
      return change(statement, []);
    case 2:
      return change(statement, [statement, statement]);
    case 3:
      return change(statement, [statement.replace(/\b\d+\b/, String(random.below(100)))]);
    case 4:
      return change(statement, [statement.replace(/"[^"]*"/, `"k${random.below(100)}"`)]);
    case 5:
      return change(statement, [statement.slice(0, random.below(statement.length))]);
    case 6: {
      const name = `edited${random.below(1_000)}`;
      const source = `${files[path]!}\nclass ${name}Record {\n  text: string = "${name}";\n}\n\nexport function ${name}(text: string): string {\n  return new ${name}Record().text + text;\n}\n`;
      return { ...files, [path]: source };
    }
    default:
      return change(statement, [`  abort(400, "stopped", "here");`, statement]);
  }
}
