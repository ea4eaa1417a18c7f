/** The map: places in degrees, distances in km, and the cells that hotels and attractions are found by. */

/** Side of a cell in degrees: 22 km from south to north. */
const CELL_DEGREES = 0.2;
const COLUMNS = 1800;
const EARTH_KM = 6371.0;

/** How far around a place is looked: the cells next to that of the place reach further, up to 60 degrees north and south. */
export const MAX_KM: f64 = 11;

export function isPlace(latitude: f64, longitude: f64): bool {
  return latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180;
}

/** Keys from `from` up to `to`, without `to`. */
export class KeyRange {
  constructor(
    public from: string,
    public to: string,
  ) {}
}

/**
 * Ranges of keys that begin with the cell of a place or with one of the eight cells around it. Cells of one row that are next to
 * each other are one range.
 */
export function cellsAround(latitude: f64, longitude: f64): KeyRange[] {
  const ranges: KeyRange[] = [];
  const middle = column(longitude);
  for (let at = max(0, row(latitude) - 1); at <= row(latitude) + 1; at++) {
    if (middle > 0 && middle < COLUMNS - 1) {
      ranges.push(new KeyRange(cellKey(at, middle - 1), cellKey(at, middle + 2)));
    } else {
      // The first column and the last one are next to each other.
      for (let step = -1; step <= 1; step++) {
        const next = (middle + step + COLUMNS) % COLUMNS;
        ranges.push(new KeyRange(cellKey(at, next), cellKey(at, next + 1)));
      }
    }
  }
  return ranges;
}

/** Fixed numbers of digits, so that keys are in the order of the cells. */
function cellKey(row: i32, column: i32): string {
  return `${row.toString().padStart(3, "0")}-${column.toString().padStart(4, "0")}`;
}

function row(latitude: f64): i32 {
  return <i32>Math.floor((latitude + 90) / CELL_DEGREES);
}

function column(longitude: f64): i32 {
  return <i32>Math.floor((longitude + 180) / CELL_DEGREES) % COLUMNS;
}

/** Along the surface (haversine). */
export function distanceKm(latitude: f64, longitude: f64, toLatitude: f64, toLongitude: f64): f64 {
  const south = Math.sin(radians(toLatitude - latitude) / 2);
  const east = Math.sin(radians(toLongitude - longitude) / 2);
  const square = south * south + Math.cos(radians(latitude)) * Math.cos(radians(toLatitude)) * east * east;
  return 2 * EARTH_KM * Math.asin(Math.sqrt(min(square, 1.0)));
}

function radians(degrees: f64): f64 {
  return (degrees * Math.PI) / 180;
}

/** In steps of 10 m, as it is shown. */
export function roundedKm(km: f64): f64 {
  return Math.round(km * 100) / 100;
}
