/** Styles are taken by vite. */
declare module "*.css";
