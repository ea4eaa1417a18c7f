/** TypeScript with its words told apart. A few token kinds are enough to read a handler. */
const TOKENS =
  /(?<comment>\/\/.*|\/\*[^]*?\*\/)|(?<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?<word>\b(?:export|function|const|let|if|else|for|while|do|return|import|from|new|class|null|true|false|this|of|in|switch|case|default|break|continue|throw|type|interface)\b)|(?<number>\b\d[\d_.]*\b)/g;

export function Code({
  text,
  kept,
  label,
}: {
  readonly text: string;
  /** Lines that are marked. */
  readonly kept: ReadonlySet<number> | null;
  readonly label: string;
}) {
  return (
    <pre class="code" tabIndex={0} aria-label={label}>
      {text.split("\n").map((line, at) => (
        <span key={at} class={kept?.has(at) === true ? "line kept" : "line"}>
          {tokens(line)}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function tokens(line: string) {
  const parts: preact.ComponentChild[] = [];
  let end = 0;
  for (const match of line.matchAll(TOKENS)) {
    parts.push(line.slice(end, match.index));
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] ?? "";
    parts.push(<span class={`k-${kind}`}>{match[0]}</span>);
    end = match.index + match[0].length;
  }
  parts.push(line.slice(end));
  return parts;
}

/** Words of a doc comment: what stands between backticks is code. */
export function Words({ text }: { readonly text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}</>;
}
