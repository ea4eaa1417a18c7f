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
 * Numbers are places on the axis of time, downwards. Blue is near the user, orange is near the data. Colours follow the reader's
 * light or dark.
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

const STEP = 42;
const TOP = 72;
const MARGIN = 94;
/** Between two lanes, by the number of lanes. */
const LANES: Readonly<Record<number, number>> = { 3: 312, 4: 230, 5: 196 };
/** Of a box, unless lanes are nearer to each other. */
const MOST_WIDTH = 164;
/** Least room for a message between two boxes. */
const GAP = 54;
/** Of a letter in a box. */
const LETTER = 8.6;
/** Most characters in a line at a message. */
const AT_MESSAGE = 20;

const NEAR_DATA = new Set(["primary", "leader", "storage", "standby"]);

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
  const apart = LANES[lanes.length];
  if (apart === undefined) throw new Error(`a picture has three to five lanes: ${title}`);
  const box = Math.min(MOST_WIDTH, apart - GAP);
  const width = MARGIN * 2 + apart * (lanes.length - 1);
  const height = TOP + STEP * end + 40;
  const x = (lane: string): number => MARGIN + apart * lanes.indexOf(lane);
  const side = (lane: string): string => (NEAR_DATA.has(lane) ? "there" : "here");
  const y = (at: number): number => TOP + STEP * at;
  const drawn = parts.map((part): string => {
    switch (part.kind) {
      case "activity": {
        const [left, top, tall] = [x(part.lane) - box / 2, y(part.at), STEP * (part.until - part.at)];
        return (
          `<rect class="box ${side(part.lane)}" x="${left}" y="${top}" width="${box}" height="${tall}" rx="7"/>` +
          textLines(part.words, "inner", x(part.lane), top + tall / 2, Math.floor(box / LETTER))
        );
      }
      case "message": {
        const way = x(part.to) > x(part.from) ? 1 : -1;
        const [x1, y1] = [x(part.from) + way * inset(part.from, part.at, parts, box), y(part.at)];
        const whole = {
          x: x(part.to) - way * inset(part.to, part.at + part.takes, parts, box),
          y: y(part.at + part.takes),
        };
        const share = part.lost ? 0.6 : 1;
        const [x2, y2] = [x1 + (whole.x - x1) * share, y1 + (whole.y - y1) * share];
        const cross = part.lost ? `<path class="lost" d="M${x2 - 6} ${y2 - 6}l12 12m0 -12l-12 12"/>` : "";
        const head = part.lost ? "" : ' marker-end="url(#head)"';
        const count = linesOf(part.words, AT_MESSAGE).length;
        const words = textLines(part.words, "words", (x1 + x2) / 2, (y1 + y2) / 2 - 4 - 8 * count, AT_MESSAGE);
        return `<line class="message" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"${head}/>${cross}${words}`;
      }
      case "note":
        return `<text class="note" x="${width / 2}" y="${y(part.at)}">${escaped(part.words)}</text>`;
    }
  });
  const tops = lanes.map(
    (lane) =>
      `<line class="lane" x1="${x(lane)}" y1="${TOP - 14}" x2="${x(lane)}" y2="${height - 14}"/>` +
      `<text class="name ${side(lane)}" x="${x(lane)}" y="${TOP - 24}">${escaped(lane)}</text>`,
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
  'text{font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:14px;text-anchor:middle;fill:#12161c}' +
  ".paper{fill:#f4f6f8}.lane{stroke:#8b95a3;stroke-dasharray:2 6}.name{font-weight:700;font-size:16px}.here{fill:#0a62cc}.there{fill:#b5500a}" +
  ".inner{fill:#fff;font-weight:600}.message{stroke:#4a5563;stroke-width:1.75}.head{fill:#4a5563}.lost{stroke:#c62f3b;stroke-width:2.5;fill:none}" +
  ".note{font-style:italic}.words,.note{paint-order:stroke;stroke:#f4f6f8;stroke-width:5px}" +
  "@media (prefers-color-scheme:dark){text{fill:#eaedf2}.paper{fill:#161b22}.lane{stroke:#6b7684}.here{fill:#6eabff}.there{fill:#f2a660}" +
  ".inner{fill:#0d1117}.message{stroke:#a9b3c0}.head{fill:#a9b3c0}.lost{stroke:#ff8a84}.words,.note{stroke:#161b22}}";

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
function inset(lane: string, at: number, parts: readonly Part[], box: number): number {
  return parts.some((part) => part.kind === "activity" && part.lane === lane && part.at <= at && at <= part.until)
    ? box / 2
    : 0;
}

/** Words in lines around a point. */
function textLines(words: string, kind: "inner" | "words", x: number, y: number, most: number): string {
  const lines = linesOf(words, most);
  const first = y + 5 - ((lines.length - 1) * 17) / 2;
  return lines
    .map((line, index) => `<text class="${kind}" x="${x}" y="${first + index * 17}">${escaped(line)}</text>`)
    .join("");
}

/** Lines of at most so many characters, unless a word is longer. */
function linesOf(words: string, most: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
