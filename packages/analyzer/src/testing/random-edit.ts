/**
 * For tests: edits as somebody makes them while working, good and bad ones.
 */
type Files = Readonly<Record<string, string>>;

/** The files after one edit, which the seed decides. */
export function edited(files: Files, seed: number): Files {
  const draw = generator(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(draw() * items.length)]!;
  const path = pick(Object.keys(files).toSorted());
  const lines = files[path]!.split("\n");
  const at = Math.floor(draw() * lines.length);
  const change = (line: string, replacement: readonly string[], count = 1): Files => {
    const index = lines.indexOf(line, at) === -1 ? lines.indexOf(line) : lines.indexOf(line, at);
    return index === -1 ? files : { ...files, [path]: lines.toSpliced(index, count, ...replacement).join("\n") };
  };
  const statements = lines.filter((line) => /^ {2,}[^ ].*;$/.test(line));
  const statement = statements.length === 0 ? lines[0]! : pick(statements);
  switch (Math.floor(draw() * 8)) {
    case 0:
      return change(pick(lines), ["", "// a remark"], 0);
    case 1:
      return change(statement, []);
    case 2:
      return change(statement, [statement, statement]);
    case 3:
      return change(statement, [statement.replace(/\b\d+\b/, String(Math.floor(draw() * 100)))]);
    case 4:
      return change(statement, [statement.replace(/"[^"]*"/, `"k${Math.floor(draw() * 100)}"`)]);
    case 5:
      return change(statement, [statement.slice(0, Math.floor(draw() * statement.length))]);
    case 6: {
      const name = `edited${Math.floor(draw() * 1_000)}`;
      const source = `${files[path]!}\nclass ${name}Record {\n  text: string = "${name}";\n}\n\nexport function ${name}(text: string): string {\n  return new ${name}Record().text + text;\n}\n`;
      return { ...files, [path]: source };
    }
    default:
      return change(statement, [`  abort(400, "stopped", "here");`, statement]);
  }
}

/** Numbers from 0 to 1, the same for the same seed. */
function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
