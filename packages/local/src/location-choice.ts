/** How a request on the one port of `radical dev` says at which location it arrives. */

export const LOCATION_HEADER = "x-radical-location";

/** The router's service binding of a location. */
export function bindingOf(location: string): string {
  return `AT ${location}`;
}
