/** The model's name without an optional prefix. */
export const bareName = (upstream: string): string => upstream.replace(/^models\//, '');

/** Whether the model has at least this version. `gemini-flash-latest` and the like mean the newest. */
export function isFrom(upstream: string, major: number, minor = 0): boolean {
  const version = /^gemini-(?:(\d+)(?:\.(\d+))?)?/.exec(bareName(upstream));
  if (!version) return false;
  const [, ofName, ofPoint = '0'] = version;
  return ofName === undefined || Number(ofName) > major || (Number(ofName) === major && Number(ofPoint) >= minor);
}

/**
 * Whether the model ignores temperature and top_p (Google says that later models will refuse them). Such a model also
 * refuses to continue an answer.
 */
export const hasFixedSampling = (upstream: string): boolean =>
  isFrom(upstream, 3, 6) || bareName(upstream).startsWith('gemini-3.5-flash-lite');

/** Ascending. Efforts beyond the last column of the table below use that column. */
const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * The level, or the budget in tokens, for `none`, `minimal`, `low`, `medium` and `high`. The budgets are those of
 * Google's OpenAI endpoint. An unsupported effort is rounded: most models cannot stop thinking.
 */
const THINKING: readonly (readonly [RegExp, readonly (string | number)[]])[] = [
  [/^gemini-2\.5-pro/, [128, 1_024, 1_024, 8_192, 24_576]],
  [/^gemini-2\.5/, [0, 1_024, 1_024, 8_192, 24_576]],
  [/^gemini-3-pro/, ['LOW', 'LOW', 'LOW', 'HIGH', 'HIGH']],
  [/^gemini-3(?:\.[156])?-flash/, ['MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH']],
  [/(?:)/, ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH']],
];

/** `thinkingConfig` for an effort, if any; null for an unknown one. Requests the thoughts. */
export function thinkingConfig(upstream: string, effort: string | null | undefined): object | null {
  if (effort == null) return { includeThoughts: true };
  const at = Math.min(EFFORTS.indexOf(effort), 4);
  if (at < 0) return null;
  const amount = THINKING.find(([name]) => name.test(bareName(upstream)))?.[1][at];
  return {
    includeThoughts: amount !== 0,
    ...(typeof amount === 'number' ? { thinkingBudget: amount } : { thinkingLevel: amount }),
  };
}
