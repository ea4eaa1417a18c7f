/**
 * Charts as SVG, without a browser: bars with whiskers, lines, and stacked bars, several panels in one picture under one
 * legend. The same chart gives the same bytes. Colours are Okabe and Ito's, which people with another sense of colour
 * tell apart. They follow the reader's light or dark. The paper is part of the picture, so that it can be read anywhere.
 * The description has the content of the picture, too.
 */

/** A thing that has a colour: its name in the legend, and its place in {@link COLOURS}. */
export interface Series {
  readonly name: string;
  readonly colour: number;
  /** Lines only. */
  readonly dashed?: boolean;
}

export interface Axis {
  /** With the unit. */
  readonly label: string;
  readonly scale: "linear" | "logarithmic";
  /** Where it begins and ends, if not by the data. */
  readonly from?: number;
  readonly to?: number;
  /** The words at these places, instead of numbers that are chosen by the scale. */
  readonly ticks?: readonly number[];
}

interface Bar {
  readonly series: string;
  readonly value: number;
  /** Up to here reaches its whisker. */
  readonly whisker?: number;
}

/** Bars side by side in each category. */
export interface BarPanel {
  readonly kind: "bars";
  readonly heading: string;
  readonly y: Axis;
  readonly categories: readonly {
    readonly label: string;
    readonly bars: readonly Bar[];
    /** A dashed line across the category. */
    readonly mark?: number;
  }[];
}

export interface LinePanel {
  readonly kind: "lines";
  readonly heading: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly {
    readonly series: string;
    readonly points: readonly (readonly [x: number, y: number])[];
    /** Points are marked; else they are too many for that. */
    readonly marked: boolean;
  }[];
}

/** Rows, each a bar of parts one after the other. */
export interface StackPanel {
  readonly kind: "stacks";
  readonly heading: string;
  readonly x: Axis;
  readonly rows: readonly {
    readonly label: string;
    readonly parts: readonly { readonly series: string; readonly value: number }[];
  }[];
}

export type Panel = BarPanel | LinePanel | StackPanel;

export interface Chart {
  readonly title: string;
  /** The content in words, for people who do not see it. */
  readonly description: string;
  readonly legend: readonly Series[];
  /** In the legend beside the series: what the dashed line across a category, and a whisker, are. */
  readonly mark?: string;
  readonly whisker?: string;
  /** Panels in one row. */
  readonly columns: number;
  readonly panels: readonly Panel[];
}

/** Of the light and the dark paper. */
const COLOURS: readonly (readonly [light: string, dark: string])[] = [
  ["#0072b2", "#56b4e9"],
  ["#e69f00", "#f0b93a"],
  ["#8c959f", "#8b949e"],
  ["#009e73", "#2fc99a"],
  ["#cc79a7", "#e29cc4"],
  ["#d55e00", "#ff8f4a"],
  ["#56b4e9", "#2f81c7"],
  ["#b8a000", "#f0e442"],
];

const WIDTH = 820;
const EDGE = 16;
const TITLE_HEIGHT = 40;
const LEGEND_LINE = 22;
const PANEL_GAP = 18;
const HEADING_HEIGHT = 28;
const PLOT_HEIGHT = 190;
const AXIS_LEFT = 54;
const ROW_HEIGHT = 26;
const LETTER = 6.3;

export function drawChart(chart: Chart): string {
  const body: string[] = [];
  const legend = legendOf(chart);
  body.push(...legend.drawn);
  const width = (WIDTH - 2 * EDGE - PANEL_GAP * (chart.columns - 1)) / chart.columns;
  let top = TITLE_HEIGHT + legend.height;
  for (let first = 0; first < chart.panels.length; first += chart.columns) {
    const row = chart.panels.slice(first, first + chart.columns);
    const heights = row.map((panel, column) => {
      const left = EDGE + column * (width + PANEL_GAP);
      if (panel.heading !== "") body.push(text("heading", left, top + 14, panel.heading));
      const area = { left, top: top + HEADING_HEIGHT, width };
      const { drawn, height } = drawPanel(panel, area, chart.legend);
      body.push(...drawn);
      return height + HEADING_HEIGHT;
    });
    top += Math.max(...heights) + PANEL_GAP;
  }
  const height = top - PANEL_GAP + EDGE;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${shown(height)}" width="${WIDTH}" height="${shown(height)}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escaped(chart.title)}</title>`,
    `<desc id="description">${escaped(chart.description)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${shown(height)}" rx="8"/>`,
    text("name", EDGE, 27, chart.title),
    ...body,
    "</svg>",
  ].join("\n")}\n`;
}

interface Area {
  readonly left: number;
  readonly top: number;
  readonly width: number;
}

interface Drawn {
  readonly drawn: readonly string[];
  readonly height: number;
}

function drawPanel(panel: Panel, area: Area, legend: readonly Series[]): Drawn {
  switch (panel.kind) {
    case "bars":
      return drawBars(panel, area, legend);
    case "lines":
      return drawLines(panel, area, legend);
    case "stacks":
      return drawStacks(panel, area, legend);
  }
}

// ── Panels ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function drawBars(panel: BarPanel, area: Area, legend: readonly Series[]): Drawn {
  const plot = plotOf(area);
  const values = panel.categories.flatMap(({ bars, mark }) => [
    ...bars.flatMap(({ value, whisker }) => [value, whisker ?? value]),
    ...(mark === undefined ? [] : [mark]),
  ]);
  const y = scaleOf(panel.y, [0, ...values], plot.bottom, plot.top);
  const step = (plot.right - plot.left) / Math.max(1, panel.categories.length);
  const drawn = verticalAxis(panel.y, y, plot);
  let labelLines = 1;
  panel.categories.forEach(({ label, bars, mark }, place) => {
    const [from, to] = [plot.left + step * (place + 0.12), plot.left + step * (place + 0.88)];
    const each = Math.min(34, (to - from) / Math.max(1, bars.length));
    const first = (from + to - each * bars.length) / 2;
    bars.forEach(({ series, value, whisker }, index) => {
      const [left, top] = [first + each * index, y.place(value)];
      const [wide, tall] = [each * 0.86, Math.max(0, plot.bottom - top)];
      const tip = whisker === undefined ? "" : `, up to ${figure(whisker)}`;
      drawn.push(
        `<rect class="f${colourOf(series, legend)}" x="${shown(left)}" y="${shown(top)}" width="${shown(wide)}" height="${shown(tall)}"><title>${escaped(`${label}, ${series}: ${figure(value)}${tip}`)}</title></rect>`,
      );
      if (whisker === undefined) return;
      const [middle, high] = [left + wide / 2, y.place(whisker)];
      drawn.push(
        `<path class="whisker" d="M${shown(middle)} ${shown(top)}V${shown(high)}M${shown(middle - 3)} ${shown(high)}H${shown(middle + 3)}"/>`,
      );
    });
    if (mark !== undefined) {
      const [left, right] = [first - 3, first + each * bars.length + 3];
      drawn.push(
        `<line class="mark" x1="${shown(left)}" x2="${shown(right)}" y1="${shown(y.place(mark))}" y2="${shown(y.place(mark))}"/>`,
      );
    }
    const lines = wrapped(label, Math.floor(step / LETTER));
    labelLines = Math.max(labelLines, lines.length);
    lines.forEach((line, index) =>
      drawn.push(text("tick middle", (from + to) / 2, plot.bottom + 15 + index * 13, line)),
    );
  });
  return { drawn, height: PLOT_HEIGHT + 10 + labelLines * 13 };
}

function drawLines(panel: LinePanel, area: Area, legend: readonly Series[]): Drawn {
  const plot = plotOf(area);
  const points = panel.lines.flatMap((line) => line.points);
  const x = scaleOf(
    panel.x,
    points.map(([at]) => at),
    plot.left,
    plot.right,
  );
  const y = scaleOf(
    panel.y,
    points.map(([, at]) => at),
    plot.bottom,
    plot.top,
  );
  const drawn = [...verticalAxis(panel.y, y, plot), ...horizontalAxis(panel.x, x, plot)];
  for (const { series, points: own, marked } of panel.lines) {
    const { colour, dashed = false } = seriesOf(series, legend);
    const path = own.map(([a, b]) => `${shown(x.place(a))} ${shown(y.place(b))}`).join("L");
    drawn.push(
      `<path class="s${colour}${dashed ? " dashed" : ""}" d="M${path}"><title>${escaped(series)}</title></path>`,
    );
    if (!marked) continue;
    for (const [a, b] of own) {
      drawn.push(
        `<circle class="f${colour}" cx="${shown(x.place(a))}" cy="${shown(y.place(b))}" r="3"><title>${escaped(`${series}, ${figure(a)}: ${figure(b)}`)}</title></circle>`,
      );
    }
  }
  return { drawn, height: PLOT_HEIGHT + 40 };
}

function drawStacks(panel: StackPanel, area: Area, legend: readonly Series[]): Drawn {
  const longest = Math.max(0, ...panel.rows.map(({ label }) => label.length));
  const left = area.left + Math.min(area.width / 3, longest * LETTER + 10);
  const bottom = area.top + ROW_HEIGHT * panel.rows.length;
  const plot: Plot = { left, right: area.left + area.width - 12, top: area.top, bottom };
  const sums = panel.rows.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const x = scaleOf(panel.x, [0, ...sums], plot.left, plot.right);
  const drawn = [...horizontalAxis(panel.x, x, plot)];
  panel.rows.forEach(({ label, parts }, place) => {
    const top = area.top + ROW_HEIGHT * place + 4;
    drawn.push(text("tick end", left - 6, top + 13, label));
    let sum = 0;
    for (const { series, value } of parts) {
      const [from, to] = [x.place(sum), x.place(sum + value)];
      sum += value;
      if (to - from < 0.05) continue;
      drawn.push(
        `<rect class="f${colourOf(series, legend)}" x="${shown(from)}" y="${shown(top)}" width="${shown(to - from)}" height="${ROW_HEIGHT - 8}"><title>${escaped(`${label}, ${series}: ${figure(value)}`)}</title></rect>`,
      );
    }
  });
  return { drawn, height: bottom - area.top + 40 };
}

// ── Axes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Plot {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Scale {
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
}

function plotOf({ left, top, width }: Area): Plot {
  return { left: left + AXIS_LEFT, right: left + width - 4, top, bottom: top + PLOT_HEIGHT };
}

function scaleOf(axis: Axis, values: readonly number[], begin: number, end: number): Scale {
  const [least, most] = [axis.from ?? Math.min(...values), axis.to ?? Math.max(...values)];
  if (!Number.isFinite(least) || !Number.isFinite(most)) throw new Error(`"${axis.label}" has nothing to show`);
  switch (axis.scale) {
    case "linear": {
      const step = stepOf(Math.max(most - least, 1e-9));
      const low = axis.from ?? Math.floor(least / step + 1e-9) * step;
      const high = axis.to ?? Math.ceil(most / step - 1e-9) * step;
      const span = high > low ? high - low : step;
      const ticks = axis.ticks ?? Array.from({ length: Math.floor(span / step + 1e-9) + 1 }, (_, n) => low + n * step);
      return { place: (value) => begin + ((end - begin) * (value - low)) / span, ticks };
    }
    case "logarithmic": {
      if (least <= 0) throw new Error(`"${axis.label}" is logarithmic and has ${least}`);
      const [low, high] = [Math.log10(least), Math.log10(most > least ? most : least * 10)];
      const ticks = axis.ticks ?? decades(least, most);
      return { place: (value) => begin + ((end - begin) * (Math.log10(value) - low)) / (high - low), ticks };
    }
  }
}

/** 1, 2 or 5 times a power of ten, so that some five fit into the span. */
function stepOf(span: number): number {
  const power = 10 ** Math.floor(Math.log10(span / 5));
  return ([1, 2, 5, 10].find((times) => (times * power * 5) / span >= 0.999) ?? 10) * power;
}

/** 1, 2, 5, 10, … between the two. */
function decades(least: number, most: number): readonly number[] {
  const powers = Array.from(
    { length: Math.ceil(Math.log10(most / least)) + 2 },
    (_, place) => Math.floor(Math.log10(least)) + place,
  );
  return powers
    .flatMap((power) => [1, 2, 5].map((times) => times * 10 ** power))
    .filter((value) => value >= least * 0.999 && value <= most * 1.001);
}

function verticalAxis(axis: Axis, { place, ticks }: Scale, plot: Plot): string[] {
  const lines = ticks.flatMap((value) => {
    const at = place(value);
    return [
      `<line class="grid" x1="${shown(plot.left)}" x2="${shown(plot.right)}" y1="${shown(at)}" y2="${shown(at)}"/>`,
      text("tick end", plot.left - 6, at + 4, figure(value)),
    ];
  });
  const [x, y] = [plot.left - 42, (plot.top + plot.bottom) / 2];
  return [
    ...lines,
    `<text class="axis middle" transform="translate(${shown(x)} ${shown(y)}) rotate(-90)">${escaped(axis.label)}</text>`,
  ];
}

function horizontalAxis(axis: Axis, { place, ticks }: Scale, plot: Plot): string[] {
  const lines = ticks.flatMap((value) => [
    `<line class="grid" x1="${shown(place(value))}" x2="${shown(place(value))}" y1="${shown(plot.top)}" y2="${shown(plot.bottom)}"/>`,
    text("tick middle", place(value), plot.bottom + 15, figure(value)),
  ]);
  return [...lines, text("axis middle", (plot.left + plot.right) / 2, plot.bottom + 33, axis.label)];
}

// ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The series, and what marks and whiskers are, in lines that fit. */
function legendOf({ legend, mark, whisker }: Chart): Drawn {
  const entries = [
    ...legend.map(({ name, colour, dashed = false }) => ({
      name,
      sample: (x: number, y: number) =>
        dashed
          ? `<path class="s${colour} dashed" d="M${shown(x)} ${shown(y - 4)}h16"/>`
          : `<rect class="f${colour}" x="${shown(x)}" y="${shown(y - 10)}" width="16" height="11" rx="2"/>`,
    })),
    ...(whisker === undefined
      ? []
      : [
          {
            name: whisker,
            sample: (x: number, y: number) =>
              `<path class="whisker" d="M${shown(x + 8)} ${shown(y + 2)}V${shown(y - 10)}M${shown(x + 4)} ${shown(y - 10)}h8"/>`,
          },
        ]),
    ...(mark === undefined
      ? []
      : [
          {
            name: mark,
            sample: (x: number, y: number) => `<path class="mark" d="M${shown(x)} ${shown(y - 4)}h16"/>`,
          },
        ]),
  ];
  const drawn: string[] = [];
  let [x, y] = [EDGE, TITLE_HEIGHT + 12];
  for (const { name, sample } of entries) {
    const width = 40 + name.length * LETTER;
    if (x > EDGE && x + width > WIDTH - EDGE) [x, y] = [EDGE, y + LEGEND_LINE];
    drawn.push(sample(x, y), text("tick", x + 22, y, name));
    x += width;
  }
  return { drawn, height: entries.length === 0 ? 0 : y - TITLE_HEIGHT + 16 };
}

function seriesOf(name: string, legend: readonly Series[]): Series {
  const series = legend.find((each) => each.name === name);
  if (series === undefined) throw new Error(`the legend has no "${name}"`);
  return series;
}

function colourOf(name: string, legend: readonly Series[]): number {
  return seriesOf(name, legend).colour;
}

/** Words in lines of at most so many characters; a name of several words in one piece is broken before a capital or after `_`. */
function wrapped(words: string, most: number): readonly string[] {
  const lines: string[] = [];
  for (const part of words.split(/(?<=[ _/])|(?<=[a-z])(?=[A-Z])/)) {
    const last = lines.at(-1);
    if (last === undefined || (last + part).trimEnd().length > most) lines.push(part);
    else lines[lines.length - 1] = last + part;
  }
  return lines.map((line) => line.trim());
}

/** A number as a person writes it, with three digits that count. */
function figure(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size))));
  return Number(value.toFixed(digits)).toLocaleString("en");
}

/** A length of the picture. */
function shown(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function text(kind: string, x: number, y: number, words: string): string {
  return `<text class="${kind}" x="${shown(x)}" y="${shown(y)}">${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

const styleOf = (theme: 0 | 1): string =>
  COLOURS.map((both, place) => `.f${place}{fill:${both[theme]}}.s${place}{stroke:${both[theme]}}`).join("");

const STYLE =
  "text{font:12px system-ui,sans-serif;fill:#1f2328}.name{font-weight:600;font-size:15px}.heading{font-weight:600}.tick{font-size:11px}.axis{font-size:11px;fill:#59636e}" +
  ".middle{text-anchor:middle}.end{text-anchor:end}.paper{fill:#f6f8fa}.grid{stroke:#d1d9e0}path[class^=s]{fill:none;stroke-width:2;stroke-linejoin:round}" +
  ".dashed{stroke-dasharray:6 4}.whisker{stroke:#1f2328;fill:none}.mark{stroke:#cf222e;stroke-width:2;stroke-dasharray:5 3;fill:none}" +
  styleOf(0) +
  "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.axis{fill:#9198a1}.paper{fill:#161b22}.grid{stroke:#30363d}.whisker{stroke:#e6edf3}.mark{stroke:#ff7b72}" +
  `${styleOf(1)}}`;
