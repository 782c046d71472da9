/** Returns the model's name without an optional prefix. */
export const bareName = (upstream: string): string => upstream.replace(/^models\//, '');

/** Returns whether the model has at least this version. Names such as `gemini-flash-latest` mean the newest version. */
export function isFrom(upstream: string, major: number, minor = 0): boolean {
  const version = /^gemini-(?:(\d+)(?:\.(\d+))?)?/.exec(bareName(upstream));
  if (!version) return false;
  const [, ofName, ofPoint = '0'] = version;
  return ofName === undefined || Number(ofName) > major || (Number(ofName) === major && Number(ofPoint) >= minor);
}

/**
 * Returns whether the model ignores temperature and top_p. Google says that later models will reject temperature and top_p. A model with
 * fixed sampling also refuses to continue an answer.
 */
export const hasFixedSampling = (upstream: string): boolean =>
  isFrom(upstream, 3, 6) || bareName(upstream).startsWith('gemini-3.5-flash-lite');

/** The efforts in ascending order. Efforts above the last column of the table `THINKING` use that column. */
const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * The level, or the budget in tokens, for `none`, `minimal`, `low`, `medium` and `high`. The budgets are the same as in Google's OpenAI
 * endpoint. An effort that a model does not support is rounded, because most models cannot stop thinking.
 */
const THINKING: readonly (readonly [RegExp, readonly (string | number)[]])[] = [
  [/^gemini-2\.5-pro/, [128, 1_024, 1_024, 8_192, 24_576]],
  [/^gemini-2\.5/, [0, 1_024, 1_024, 8_192, 24_576]],
  [/^gemini-3-pro/, ['LOW', 'LOW', 'LOW', 'HIGH', 'HIGH']],
  [/^gemini-3(?:\.[156])?-flash/, ['MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH']],
  [/(?:)/, ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH']],
];

/** Returns `thinkingConfig` for an effort; null for an unknown effort. `thinkingConfig` requests the thinking as text. */
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
