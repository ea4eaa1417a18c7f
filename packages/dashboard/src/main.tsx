/** The page of the dashboard. */
import "./style.css";
import { render } from "preact";
import { open } from "./store.ts";
import { Shell } from "./views/shell.tsx";

open();
render(<Shell />, document.body);
