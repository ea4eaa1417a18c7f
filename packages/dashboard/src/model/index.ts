/** The reckoning of the dashboard, for commands that tell the same. */
export { Reckoner } from "./reckoner.ts";
