/**
 * Writes `src/model/land.ts`: where there is land, on a grid of dots. The shapes are those of Natural Earth (public domain), which
 * the package world-atlas carries. Run it by hand: `node packages/dashboard/scripts/land.mjs`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { feature } from "topojson-client";

/** Degrees between dots; rows are shifted by half of it in turn. */
const STEP = 3;
const NORTH = 78;
const SOUTH = -57;

const atlas = JSON.parse(readFileSync(fileURLToPath(import.meta.resolve("world-atlas/land-110m.json")), "utf8"));
const land = feature(atlas, atlas.objects.land);
const polygons = land.features.flatMap(({ geometry }) => geometry.coordinates);

/** @param {number} x @param {number} y @param {readonly (readonly [number, number])[]} ring */
function isIn(x, y, ring) {
  let inside = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
    const [xi, yi] = ring[i];
    const [xj, yj] = ring[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

const rows = [];
for (let north = NORTH, row = 0; north >= SOUTH; north -= STEP, row++) {
  let bits = "";
  for (let east = -180 + (row % 2 === 0 ? 0 : STEP / 2); east < 180; east += STEP)
    bits += polygons.some((rings) => isIn(east, north, rings[0])) ? "1" : "0";
  rows.push(BigInt(`0b${bits}`).toString(16).padStart(30, "0"));
}
const text = `/** Made by \`scripts/land.mjs\`: a bit for each dot, a row for each parallel from the north. */
export const LAND_STEP = ${STEP};
export const LAND_NORTH = ${NORTH};
export const LAND: readonly string[] = [
${rows.map((row) => `  "${row}",`).join("\n")}
];
`;
writeFileSync(fileURLToPath(new URL("../src/model/land.ts", import.meta.url)), text);
