/** Names and positions of the places that locations are usually called after. */
interface Place {
  readonly name: string;
  /** Degrees east and north. */
  readonly at: readonly [number, number];
}

const PLACES: Readonly<Record<string, Place>> = {
  VA: { name: "Virginia", at: [-77.5, 39] },
  IAD: { name: "Virginia", at: [-77.5, 39] },
  OH: { name: "Ohio", at: [-83, 40] },
  CA: { name: "California", at: [-121.9, 37.4] },
  SFO: { name: "San Francisco", at: [-122.4, 37.6] },
  LAX: { name: "Los Angeles", at: [-118.4, 33.9] },
  OR: { name: "Oregon", at: [-120, 45.8] },
  SEA: { name: "Seattle", at: [-122.3, 47.5] },
  ORD: { name: "Chicago", at: [-87.9, 42] },
  DFW: { name: "Dallas", at: [-97, 32.9] },
  YYZ: { name: "Toronto", at: [-79.6, 43.7] },
  GRU: { name: "São Paulo", at: [-46.5, -23.4] },
  BR: { name: "São Paulo", at: [-46.5, -23.4] },
  IE: { name: "Ireland", at: [-6.3, 53.3] },
  DUB: { name: "Dublin", at: [-6.3, 53.4] },
  UK: { name: "London", at: [-0.5, 51.5] },
  LHR: { name: "London", at: [-0.5, 51.5] },
  FR: { name: "Paris", at: [2.5, 49] },
  CDG: { name: "Paris", at: [2.5, 49] },
  DE: { name: "Frankfurt", at: [8.6, 50] },
  FRA: { name: "Frankfurt", at: [8.6, 50] },
  AMS: { name: "Amsterdam", at: [4.8, 52.3] },
  SE: { name: "Stockholm", at: [17.9, 59.6] },
  IN: { name: "Mumbai", at: [72.9, 19.1] },
  BOM: { name: "Mumbai", at: [72.9, 19.1] },
  SG: { name: "Singapore", at: [104, 1.4] },
  SIN: { name: "Singapore", at: [104, 1.4] },
  HKG: { name: "Hong Kong", at: [113.9, 22.3] },
  KR: { name: "Seoul", at: [126.8, 37.5] },
  ICN: { name: "Seoul", at: [126.8, 37.5] },
  JP: { name: "Tokyo", at: [139.7, 35.7] },
  NRT: { name: "Tokyo", at: [140.4, 35.8] },
  AU: { name: "Sydney", at: [151.2, -33.9] },
  SYD: { name: "Sydney", at: [151.2, -33.9] },
  ZA: { name: "Johannesburg", at: [28.2, -26.1] },
  JNB: { name: "Johannesburg", at: [28.2, -26.1] },
};

/** The name for people; that of the location if its place is not known. */
export function placeName(location: string): string {
  return PLACES[location]?.name ?? location;
}

/** Null: nobody knows where it is. */
export function positionOf(location: string): readonly [number, number] | null {
  return PLACES[location]?.at ?? null;
}
