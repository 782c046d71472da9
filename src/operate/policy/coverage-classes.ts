/** The classes of policy parts that cases can cover: a file of its own, as the schemas of answers need nothing else of coverage. */
export const COVERAGE_CLASSES = ['constraints', 'preferences', 'models', 'endpoints', 'selectors'] as const;
export type CoverageClass = (typeof COVERAGE_CLASSES)[number];
