import type { SpreadRecord } from '../core/decision/attempt.ts';

const figure = (value: number): string => String(Number(value.toPrecision(3)));

/**
 * Says in a sentence why an attempt got its endpoint.
 * @param endpoint the index of the endpoint
 */
export function spreadReason(record: SpreadRecord, endpoint: number | undefined): string {
  const { mode, eligible, weights, loads, compared, stays, unmeasured = [], isDrawn } = record;
  const others = eligible.length - 1;
  if (stays) return 'Its cache has the conversation.';
  if (others === 0) return 'No other endpoint had room and was open.';
  const of = `of ${eligible.length} endpoints`;
  const figureAt = (list: readonly number[], at: number | undefined): string =>
    figure(list[eligible.indexOf(at ?? -1)] ?? Number.NaN);
  const drawn = isDrawn ? ', and its key was drawn by weight' : '';
  switch (mode) {
    case 'weighted': {
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      return `Drawn by weight: ${figureAt(weights, endpoint)} of ${figure(total)}.`;
    }
    case 'least_busy': {
      const other = compared?.find((at) => at !== endpoint);
      if (other === undefined) return 'The only endpoint of the first group.';
      return `Less busy than endpoint ${other}: ${figureAt(loads, endpoint)} and ${figureAt(loads, other)}.`;
    }
    case 'fastest':
      return endpoint !== undefined && unmeasured.includes(endpoint)
        ? 'To measure its speed: it has fewer than three measurements.'
        : `The fastest ${of}${drawn}.`;
    case 'cheapest':
      return `The cheapest ${of}${drawn}.`;
    case 'order':
      return `The first ${of}.`;
  }
}
