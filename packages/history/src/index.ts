export { Random } from "./random.ts";
export {
  checkStrictSerializability,
  type Scan,
  type SerialOrder,
  serialOrder,
  type Transaction,
  type Version,
} from "./strict-serializability.ts";
