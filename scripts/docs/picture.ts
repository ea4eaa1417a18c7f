/**
 * Sequence pictures of the documents, SVG from a few lines of text. `pnpm docs:reference` draws `docs/pictures/*.txt`. A picture is:
 *
 *     title A request that is valid
 *     lanes client, location, primary
 *     0 client -> location: POST /api/follow
 *     1-4 location: run the handler            an activity, drawn as a box on its lane
 *     1 location -> primary +2: lock, validate  a message that takes 2 steps
 *     5 location -x primary +2: followup         a message that is lost on its way
 *     6 note: nobody else has seen anything
 *
 * Numbers are places on the axis of time, downwards. Colours follow the reader's light or dark.
 */

interface Message {
  readonly kind: "message";
  readonly at: number;
  readonly from: string;
  readonly to: string;
  readonly takes: number;
  readonly lost: boolean;
  readonly words: string;
}
interface Activity {
  readonly kind: "activity";
  readonly at: number;
  readonly until: number;
  readonly lane: string;
  readonly words: string;
}
interface Note {
  readonly kind: "note";
  readonly at: number;
  readonly words: string;
}
type Part = Message | Activity | Note;

const STEP = 34;
const TOP = 72;
const LANE = 260;
const MARGIN = 110;
const BOX = 148;

export function drawPicture(source: string): string {
  const lines = source.split("\n").filter((line) => line.trim() !== "");
  const [, title = ""] = /^title (.*)$/.exec(lines[0] ?? "") ?? [];
  const lanes =
    /^lanes (.*)$/
      .exec(lines[1] ?? "")?.[1]
      ?.split(",")
      .map((lane) => lane.trim()) ?? [];
  const parts = lines.slice(2).map((line) => partOf(line, lanes));
  const end = Math.max(
    ...parts.map((part) =>
      part.kind === "activity" ? part.until : part.kind === "message" ? part.at + part.takes : part.at,
    ),
  );
  const width = MARGIN * 2 + LANE * (lanes.length - 1);
  const height = TOP + STEP * end + 40;
  const x = (lane: string): number => MARGIN + LANE * lanes.indexOf(lane);
  const y = (at: number): number => TOP + STEP * at;
  const drawn = parts.map((part): string => {
    switch (part.kind) {
      case "activity": {
        const [left, top, tall] = [x(part.lane) - BOX / 2, y(part.at), STEP * (part.until - part.at)];
        return (
          `<rect class="box" x="${left}" y="${top}" width="${BOX}" height="${tall}" rx="5"/>` +
          textLines(part.words, x(part.lane), top + tall / 2, 22)
        );
      }
      case "message": {
        const way = x(part.to) > x(part.from) ? 1 : -1;
        const [x1, y1] = [x(part.from) + way * inset(part.from, part.at, parts), y(part.at)];
        const whole = { x: x(part.to) - way * inset(part.to, part.at + part.takes, parts), y: y(part.at + part.takes) };
        const share = part.lost ? 0.6 : 1;
        const [x2, y2] = [x1 + (whole.x - x1) * share, y1 + (whole.y - y1) * share];
        const cross = part.lost ? `<path class="lost" d="M${x2 - 6} ${y2 - 6}l12 12m0 -12l-12 12"/>` : "";
        const head = part.lost ? "" : ' marker-end="url(#head)"';
        const words = `<text class="words" x="${(x1 + x2) / 2}" y="${(y1 + y2) / 2 - 7}">${escaped(part.words)}</text>`;
        return `<line class="message" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"${head}/>${cross}${words}`;
      }
      case "note":
        return `<text class="note" x="${width / 2}" y="${y(part.at)}">${escaped(part.words)}</text>`;
    }
  });
  const tops = lanes.map(
    (lane) =>
      `<line class="lane" x1="${x(lane)}" y1="${TOP - 14}" x2="${x(lane)}" y2="${height - 14}"/>` +
      `<text class="name" x="${x(lane)}" y="${TOP - 24}">${escaped(lane)}</text>`,
  );
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L10 5L0 10z"/></marker></defs>',
    `<rect class="paper" width="${width}" height="${height}" rx="8"/>`,
    ...tops,
    ...drawn,
    "</svg>",
  ]
    .join("\n")
    .replace(/\d+\.\d{2,}/g, (digits) => String(Math.round(Number(digits) * 10) / 10))}\n`;
}

// The paper is part of the picture, so that it can be read wherever it is shown.
const STYLE =
  "text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#1f2328}.name{font-weight:600;font-size:14px}.paper{fill:#f6f8fa}" +
  ".lane{stroke:#8c959f;stroke-dasharray:4 4}.message{stroke:#1f2328;stroke-width:1.5}.head{fill:#1f2328}.box{fill:#ddf4ff;stroke:#0969da}" +
  ".lost{stroke:#cf222e;stroke-width:2.5;fill:none}.note{font-style:italic}.words,.note{paint-order:stroke;stroke:#f6f8fa;stroke-width:5px}" +
  "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#161b22}.lane{stroke:#6e7681}.message{stroke:#e6edf3}.head{fill:#e6edf3}" +
  ".box{fill:#0c2d6b;stroke:#58a6ff}.lost{stroke:#ff7b72}.words,.note{stroke:#161b22}}";

function partOf(line: string, lanes: readonly string[]): Part {
  const message = /^([\d.]+) (.+?) -(>|x) (.+?)(?: \+([\d.]+))?: (.*)$/.exec(line);
  const activity = /^([\d.]+)-([\d.]+) (.+?): (.*)$/.exec(line);
  const note = /^([\d.]+) note: (.*)$/.exec(line);
  const lane = (name = ""): string => {
    if (!lanes.includes(name)) throw new Error(`there is no lane "${name}": ${line}`);
    return name;
  };
  if (activity !== null) {
    const [, at, until, name, words = ""] = activity;
    return { kind: "activity", at: Number(at), until: Number(until), lane: lane(name), words };
  }
  if (note !== null) return { kind: "note", at: Number(note[1]), words: note[2] ?? "" };
  if (message === null) throw new Error(`a picture has no such line: ${line}`);
  const [, at, from, arrow, to, takes = "0", words = ""] = message;
  return {
    kind: "message",
    at: Number(at),
    from: lane(from),
    to: lane(to),
    takes: Number(takes),
    lost: arrow === "x",
    words,
  };
}

/** How far from the middle of its lane a message ends: at the edge of a box, if one is there. */
function inset(lane: string, at: number, parts: readonly Part[]): number {
  return parts.some((part) => part.kind === "activity" && part.lane === lane && part.at <= at && at <= part.until)
    ? BOX / 2
    : 0;
}

/** Words in lines of about `most` characters around a point. */
function textLines(words: string, x: number, y: number, most: number): string {
  const lines: string[] = [];
  for (const word of words.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= most) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  const first = y + 5 - ((lines.length - 1) * 16) / 2;
  return lines.map((line, index) => `<text x="${x}" y="${first + index * 16}">${escaped(line)}</text>`).join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
