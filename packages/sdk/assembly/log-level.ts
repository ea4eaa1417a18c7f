/**
 * The least level that handlers log, by its place among `LOG_LINE_LEVELS` of `@radical/protocol`. The build puts another file in
 * the place of this one, as `log` of radical.config.ts says. Internal.
 */
export const LEAST_LEVEL: i32 = 0;
