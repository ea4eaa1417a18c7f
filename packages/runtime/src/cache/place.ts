/**
 * Where a request is served. In production one Worker runs at all places, and the location is the data centre that has
 * taken the request. A Worker that serves one location only is told its name.
 */

export interface Place {
  readonly location: string;
  /** Where the Durable Object of the location's cache is to be created; null: where it is first asked for. */
  readonly hint: DurableObjectLocationHint | null;
}

/** The place of a request, as far as the platform tells it. */
export type Whereabouts = Pick<IncomingRequestCfProperties, "colo" | "continent" | "longitude">;

/** For calls that no request is known of, and platforms that say nothing. */
export const NO_PLACE: Place = { location: "unknown", hint: null };

/** Of the data centre: the request's own place is near it. */
export function placeOf({ colo, continent, longitude }: Partial<Whereabouts>): Place {
  if (!colo) return NO_PLACE;
  return { location: colo, hint: hintOf(continent, Number(longitude ?? Number.NaN)) };
}

/** Degrees east at which a region is split in two. */
const AMERICA = -100;
const EUROPE = 15;
const ASIA = 62;

function hintOf(continent: ContinentCode | undefined, longitude: number): DurableObjectLocationHint | null {
  switch (continent) {
    case "NA":
      return longitude < AMERICA ? "wnam" : "enam";
    case "EU":
      return longitude > EUROPE ? "eeur" : "weur";
    case "AS":
      return longitude < ASIA ? "me" : "apac";
    case "SA":
      return "sam";
    case "AF":
      return "afr";
    case "OC":
    case "AN":
      return "oc";
    case undefined:
      return null;
  }
}
