/** The build takes styles that a module imports. */
declare module "*.css";
