/** What locations tell of alarms, checked. */
import { isExecutionId, isModuleHash, type LocationAlarm, MalformedError } from "@radical/protocol";
import { jsonOf } from "./json-body.ts";

const MAX_NAME_LENGTH = 256;

export function readAlarm(body: Uint8Array): LocationAlarm {
  const { alarm, execution, module, handler, location } = jsonOf(body);
  if (alarm !== "wrote_on_get")
    throw new MalformedError("This alarm is not known. Upgrade the primary before its locations");
  if (!isText(execution) || !isExecutionId(execution) || !isText(module) || !isModuleHash(module))
    throw new MalformedError("The alarm names no execution, or no module");
  if (!isText(handler) || !isText(location)) throw new MalformedError("The alarm names no handler, or no location");
  return { alarm, execution, module, handler, location };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_NAME_LENGTH;
}
