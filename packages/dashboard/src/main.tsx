/** The page of the dashboard. */
// oxlint-disable-next-line import/no-unassigned-import -- vite takes the styles from here
import "./style.css";
import { render } from "preact";
import { open } from "./store.ts";
import { Shell } from "./views/shell.tsx";

open();
render(<Shell />, document.body);
