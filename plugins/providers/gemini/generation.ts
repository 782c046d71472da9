/** What differs from one generation of models to the next, by the provider's own name of the model. */

/** The name without the prefix that may stand before it. */
export const bareName = (upstream: string): string => upstream.replace(/^models\//, '');

/** True from this version on. `gemini-flash-latest` and its like have no number and mean the newest; other families are none. */
export function isFrom(upstream: string, major: number, minor = 0): boolean {
  const version = /^gemini-(?:(\d+)(?:\.(\d+))?)?/.exec(bareName(upstream));
  if (!version) return false;
  const [, ofName, ofPoint = '0'] = version;
  return ofName === undefined || Number(ofName) > major || (Number(ofName) === major && Number(ofPoint) >= minor);
}

/**
 * True for models that ignore temperature and top_p (Google says that later ones will refuse them), and that refuse to go
 * on from an answer of their own.
 */
export const isFixed = (upstream: string): boolean =>
  isFrom(upstream, 3, 6) || bareName(upstream).startsWith('gemini-3.5-flash-lite');

/** From least to most; what stands beyond the last column of the table below means that column. */
const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * How `none`, `minimal`, `low`, `medium` and `high` are said: a level by its name, or a budget in tokens. The budgets are
 * those of Google's own OpenAI endpoint. What a model cannot do is rounded to what it can: most cannot stop thinking.
 */
const THINKING: readonly (readonly [RegExp, readonly (string | number)[]])[] = [
  [/^gemini-2\.5-pro/, [128, 1_024, 1_024, 8_192, 24_576]],
  [/^gemini-2\.5/, [0, 1_024, 1_024, 8_192, 24_576]],
  [/^gemini-3-pro/, ['LOW', 'LOW', 'LOW', 'HIGH', 'HIGH']],
  [/^gemini-3(?:\.[156])?-flash/, ['MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH']],
  [/(?:)/, ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH']],
];

/** `thinkingConfig` for an effort, or for none asked for; null for an effort that nobody knows. Thoughts come with it. */
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
