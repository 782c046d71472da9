/**
 * The time limit of a test, ms: ten times the time of the slowest test. `bunfig.toml` has no setting for it, so the npm commands pass it to
 * `bun test`, and `preload.ts` sets it for files that you run by hand.
 */
export const TIME_LIMIT_MS = 300_000;
/** The time limit of a test in `npm run test:deep`, ms. */
export const DEEP_TIME_LIMIT_MS = 3_600_000;
