/**
 * The most time that a test may take, ms: ten times the time of the slowest.
 * `bun test` has no setting for it in `bunfig.toml`, so that the commands pass it, and `preload.ts` sets it for files run by hand.
 */
export const TIME_LIMIT_MS = 300_000;
/** The same in a section of `npm run test:deep`, ms. */
export const DEEP_TIME_LIMIT_MS = 3_600_000;
