const likes = /** @type {HTMLElement} */ (document.querySelector("output"));

// #region client
import { createClient } from "./client.js";

const client = createClient(); // the page's own origin
// #endregion

// #region speculate
const speculation = client.speculate.like({ post: "7" });
likes.textContent = String(await speculation.first); // in a few milliseconds; may prove wrong
likes.textContent = String(await speculation.confirmed); // the result of the call, or its error
// #endregion
