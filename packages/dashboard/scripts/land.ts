/**
 * Writes `src/model/land.ts`: where there is land, on a grid of dots. The shapes are those of Natural Earth (public domain), which
 * the package world-atlas carries. Run it by hand: `node packages/dashboard/scripts/land.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";

/** Degrees between dots; rows are shifted by half of it in turn. */
const STEP = 3;
const NORTH = 78;
const SOUTH = -57;
/** Of a row of bits. */
const HEX_DIGITS = 360 / STEP / 4;

type Ring = readonly (readonly number[])[];

const file = fileURLToPath(import.meta.resolve("world-atlas/land-110m.json"));
const atlas = JSON.parse(readFileSync(file, "utf8")) as Topology<{ readonly land: GeometryCollection }>;
const rings: readonly Ring[] = feature(atlas, atlas.objects.land).features.flatMap(({ geometry }) =>
  geometry.type === "MultiPolygon"
    ? geometry.coordinates.flatMap(([outer]) => (outer === undefined ? [] : [outer]))
    : geometry.type === "Polygon"
      ? geometry.coordinates.slice(0, 1)
      : [],
);

/** Counts the edges that a ray to the east crosses. */
function isIn(east: number, north: number, ring: Ring): boolean {
  let inside = false;
  let [lastX = 0, lastY = 0] = ring.at(-1) ?? [];
  for (const [x = 0, y = 0] of ring) {
    if (y > north !== lastY > north && east < ((lastX - x) * (north - y)) / (lastY - y) + x) inside = !inside;
    [lastX, lastY] = [x, y];
  }
  return inside;
}

const rows: string[] = [];
for (let north = NORTH; north >= SOUTH; north -= STEP) {
  let bits = "";
  for (let east = -180 + ((rows.length % 2) * STEP) / 2; east < 180; east += STEP)
    bits += rings.some((ring) => isIn(east, north, ring)) ? "1" : "0";
  rows.push(BigInt(`0b${bits}`).toString(16).padStart(HEX_DIGITS, "0"));
}
const text = `/** Made by \`scripts/land.ts\`: a bit for each dot, a row for each parallel from the north. */
export const LAND_STEP = ${STEP};
export const LAND_NORTH = ${NORTH};
export const LAND: readonly string[] = [
${rows.map((row) => `  "${row}",`).join("\n")}
];
`;
writeFileSync(fileURLToPath(new URL("../src/model/land.ts", import.meta.url)), text);
