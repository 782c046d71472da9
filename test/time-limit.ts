/**
 * The time limit of a test, ms: ten times the time of the slowest test. `bunfig.toml` has no setting for it, so the npm commands pass it to
 * `bun test`, and `preload.ts` sets it for a file that you run by hand. Bun applies that to one file only, so pass `--timeout` to run several.
 */
export const TIME_LIMIT_MS = 300_000;
/** The time limit of a test in `npm run test:deep`, ms. */
export const DEEP_TIME_LIMIT_MS = 3_600_000;
