/** Jurisdictions, and the regions of AWS in them. */
import type { Jurisdiction } from "@radical/protocol";

/** Regions within the member states of the European Union, and within the United States. London and Zurich are in neither. */
const REGIONS: Readonly<Record<Jurisdiction, readonly string[]>> = {
  eu: ["eu-central-1", "eu-west-1", "eu-west-3", "eu-north-1", "eu-south-1", "eu-south-2"],
  us: ["us-east-1", "us-east-2", "us-west-1", "us-west-2", "us-gov-east-1", "us-gov-west-1"],
};

export function isRegionIn(jurisdiction: Jurisdiction, region: string): boolean {
  return REGIONS[jurisdiction].includes(region);
}

/** `a region in the jurisdiction "eu": eu-central-1, …`. */
export function regionWords(jurisdiction: Jurisdiction): string {
  return `a region in the jurisdiction "${jurisdiction}": ${REGIONS[jurisdiction].join(", ")}`;
}
