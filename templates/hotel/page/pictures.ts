/** Pictures of hotels. There are no photographs, so each one is drawn: the city decides the view, and the name the light. */
import { type Shape, drawing } from "./kit/elements.ts";

/** Sky, sun, what is far, what is near, and windows. */
type Light = readonly [sky: string, sun: string, far: string, near: string, window: string];

const LIGHTS: readonly Light[] = [
  ["#cfe6f5", "#fff6d8", "#9dbdd4", "#4a6f8c", "#ffe9a8"],
  ["#fbdcc4", "#fff0dc", "#e2a587", "#8c4a3c", "#ffe3a6"],
  ["#2f3560", "#f6f0d2", "#4c5590", "#1b1f3f", "#ffd873"],
  ["#d9ecd9", "#fff8d6", "#a4c9a9", "#3f6b52", "#ffefb0"],
  ["#f3d3e0", "#fff2ea", "#cf95b1", "#74345a", "#ffe6ad"],
];

export function picture({ id, city }: { readonly id: string; readonly city: string }): SVGSVGElement {
  const number = [...id].reduce((sum, character) => (sum * 33 + character.charCodeAt(0)) % 9973, 5);
  const light = LIGHTS[number % LIGHTS.length]!;
  const [sky, sun] = light;
  const drawn = drawing(
    "0 0 320 200",
    [
      ["rect", { width: "320", height: "200", fill: sky }],
      ["circle", { cx: String(60 + (number % 5) * 48), cy: String(42 + (number % 3) * 14), r: "20", fill: sun }],
      ...(VIEWS[city] ?? hills)(light, number),
    ],
    "picture",
  );
  // It fills its frame.
  drawn.setAttribute("preserveAspectRatio", "xMidYMid slice");
  return drawn;
}

type Draw = (light: Light, number: number) => readonly Shape[];

const polygon = (points: string, fill: string): Shape => ["polygon", { points, fill }];
const rectangle = (x: number, y: number, width: number, height: number, fill: string): Shape => [
  "rect",
  { x: String(x), y: String(y), width: String(width), height: String(height), fill },
];

/** Rows of lit windows. */
function windows(x: number, y: number, columns: number, rows: number, fill: string, number: number): readonly Shape[] {
  return Array.from({ length: columns * rows }, (_, i) => i)
    .filter((i) => (i * 7 + number) % 4 !== 0)
    .map((i) => rectangle(x + (i % columns) * 15, y + Math.floor(i / columns) * 19, 8, 11, fill));
}

const hills: Draw = ([, , far, near]) => [
  ["ellipse", { cx: "90", cy: "200", rx: "190", ry: "80", fill: far }],
  ["ellipse", { cx: "260", cy: "210", rx: "170", ry: "80", fill: near }],
];

/** Mountains, and a gabled house by the lake. */
const zurich: Draw = ([, , far, near, window], number) => [
  polygon("-20,160 70,66 120,122 180,52 330,160", far),
  polygon("180,52 158,78 172,84 182,76 196,82 206,76", "#fff"),
  polygon("70,66 52,85 66,92 76,84 88,87", "#fff"),
  polygon("190,112 233,74 276,112", near),
  rectangle(196, 110, 74, 62, near),
  ...windows(206, 118, 4, 2, window, number),
  rectangle(0, 170, 320, 30, far),
  rectangle(30, 178, 90, 3, "#fff8"),
  rectangle(150, 187, 120, 3, "#fff8"),
];

/** Houses on a slope above the river. */
const lisbon: Draw = ([, , far, near, window], number) => [
  polygon("0,120 110,88 220,98 320,64 320,200 0,200", far),
  ...[0, 1, 2, 3, 4].flatMap((house): readonly Shape[] => {
    const x = 14 + house * 62;
    const y = 122 - ((house * 37 + number) % 40) - house * 4;
    return [
      rectangle(x, y, 50, 200 - y, house % 2 === 0 ? near : "#fffd"),
      polygon(`${x - 4},${y} ${x + 25},${y - 18} ${x + 54},${y}`, house % 2 === 0 ? far : "#c8553d"),
      ...windows(x + 6, y + 10, 3, 3, house % 2 === 0 ? window : near, number + house),
    ];
  }),
  rectangle(0, 186, 320, 14, near),
];

/** A pagoda among trees. */
const kyoto: Draw = ([, , far, near, window], number) => [
  ["ellipse", { cx: "60", cy: "190", rx: "150", ry: "70", fill: far }],
  ["ellipse", { cx: "280", cy: "196", rx: "140", ry: "84", fill: far }],
  rectangle(158, 20, 4, 30, near),
  ...[0, 1, 2].flatMap((floor): readonly Shape[] => {
    const [y, half] = [52 + floor * 42, 44 + floor * 14];
    return [
      polygon(
        `${160 - half},${y + 14} ${160 - half / 2},${y - 6} ${160 + half / 2},${y - 6} ${160 + half},${y + 14}`,
        near,
      ),
      rectangle(160 - half + 18, y + 14, half * 2 - 36, 24, near),
      ...windows(160 - half + 26, y + 18, 2 + floor * 2, 1, window, number + floor),
    ];
  }),
  rectangle(0, 176, 320, 24, near),
  ...[20, 58, 252, 296].map((x, i): Shape => [
    "circle",
    { cx: String(x), cy: "172", r: String(15 + (i % 2) * 8), fill: near },
  ]),
];

const VIEWS: Readonly<Record<string, Draw>> = { Zürich: zurich, Lisbon: lisbon, Kyoto: kyoto };
