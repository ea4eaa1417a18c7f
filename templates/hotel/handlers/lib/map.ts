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

/** The key of the cell that holds a place. */
export function cellOf(latitude: f64, longitude: f64): string {
  return cellKey(row(latitude), column(longitude));
}

/** The keys of that cell and the eight around it. */
export function cellsAround(latitude: f64, longitude: f64): string[] {
  const keys: string[] = [];
  for (let i = -1; i <= 1; i++) {
    for (let j = -1; j <= 1; j++) {
      keys.push(cellKey(row(latitude) + i, (column(longitude) + j + COLUMNS) % COLUMNS));
    }
  }
  return keys;
}

function cellKey(row: i32, column: i32): string {
  return row.toString() + "/" + column.toString();
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
