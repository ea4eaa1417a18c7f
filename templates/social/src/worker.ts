import { createRadical } from "radical:worker";
export default createRadical({ authenticate: ({ headers }) => headers.get("x-bench-caller") });
