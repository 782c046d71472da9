/** What `npm run test:deep` runs: each section is a test that takes its number of runs from `effort`. */
export interface Section {
  readonly name: string;
  /** The test's file, or several. */
  readonly files: readonly string[];
}

export const SECTIONS: readonly Section[] = [{ name: 'reload', files: ['test/reload/traffic.test.ts'] }];
