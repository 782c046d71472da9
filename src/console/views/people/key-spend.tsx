import { useResource } from '../../api/resource.ts';
import { asSum, NONE, usd, type WrittenFigure } from '../../design/format.ts';
import { moneyFigure } from '../../design/written.tsx';
import type { Column } from '../../kit/columns.tsx';
import { RANGES } from '../../shell/range.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { type TrafficReport, trafficQuery } from '../../shell/traffic.ts';
import type { KeyAnswer } from './words.ts';

/** The spend of a key: its amount; `most` if it is unknown but at most the amount of the last listed key; null if it is not known. */
type KeySpend = (Pick<TrafficReport['total']['whole'], 'usd' | 'credits'> & { readonly isMost: boolean }) | null;

/** As many keys as traffic lists. */
const LISTED = 50;

/** Returns the spend of each key in the last 30 days. */
export function useKeySpend(): (id: string) => KeySpend {
  const query = trafficQuery({ days: null, ms: RANGES['30d'].ms }, Date.now(), {
    by: 'key',
    limit: LISTED,
    isCoarse: true,
    hasPoints: false,
  });
  const { data } = useResource('/admin/traffic', query, { isWanted: reachOfViewer('traffic.read') !== null });
  const listed = new Map(data?.series.map(({ value, whole }) => [value, whole]));
  const last = data?.series.at(-1)?.whole;
  return (id) => {
    const own = listed.get(id);
    if (own) return { usd: own.usd, credits: own.credits, isMost: false };
    if (data === null) return null;
    return data.other === null || !last
      ? { usd: '0', credits: 0, isMost: false }
      : { usd: last.usd, credits: last.credits, isMost: true };
  };
}

const written = (spend: KeySpend): WrittenFigure => {
  if (spend === null) return NONE;
  if (!spend.isMost) return asSum(moneyFigure(spend));
  const text = `at most ${usd(spend.usd).short}`;
  return { short: text, exact: text };
};

/** The column with what each key spent. */
export const spendColumn = (of: (id: string) => KeySpend): Column<KeyAnswer> => ({
  head: 'Spend in 30 days',
  phone: 'more',
  figure: ({ id }) => written(of(id)),
  sort: ({ id }) => of(id)?.credits ?? null,
});
