export { Random } from "./random.ts";
export { checkStrictSerializability, type Transaction, type Version } from "./strict-serializability.ts";
