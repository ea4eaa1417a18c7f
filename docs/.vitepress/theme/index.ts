/** The default theme of VitePress with the colours of Radical, and the layout of the front page. */
import DefaultTheme from "vitepress/theme";
import "./style.css";

export default DefaultTheme;
