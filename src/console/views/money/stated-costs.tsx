import type { Reach } from '../../../admin/use-cases/roles.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { usd } from '../../design/format.ts';
import { Table } from '../../design/table.tsx';
import { range, viewerZone } from '../../shell/range.ts';
import { daysOf } from './spend.ts';

type Group = ReadOf<'/admin/usage'>['groups'][number];
type Compared = Group & { readonly stated_costs: NonNullable<Group['stated_costs']> };

const isCompared = (group: Group): group is Compared => group.stated_costs !== null;

/** The costs that providers state in their answers, compared with the prices of the policy; nothing if no answer states a cost. */
export function StatedCosts({ reach }: { readonly reach: Reach }) {
  const { from, to } = daysOf(range.value, Date.now());
  const query = { by: 'provider,model', from, to, time_zone: viewerZone() };
  const { data } = useResource('/admin/usage', query, { isWanted: reach === 'all' });
  const groups = (data?.groups ?? []).filter(isCompared);
  if (groups.length === 0) return null;
  return (
    <section class="card" aria-labelledby="stated-costs">
      <div class="card-head">
        <h2 id="stated-costs">Costs that providers state</h2>
      </div>
      <Table
        label="Costs that providers state in their answers, and the costs at your prices"
        rows={groups}
        keyOf={({ group }) => `${group.provider} ${group.model}`}
        columns={[
          { id: 'model', head: 'Model', cell: ({ group }) => group.model },
          { id: 'provider', head: 'Provider', cell: ({ group }) => group.provider, phone: 'second' },
          { id: 'stated', head: 'Stated', figure: ({ stated_costs: costs }) => usd(costs.stated_usd) },
          { id: 'own', head: 'At your prices', figure: ({ stated_costs: costs }) => usd(costs.own_usd) },
          { id: 'difference', head: 'Difference', figure: ({ stated_costs: costs }) => usd(costs.difference_usd) },
        ]}
      />
    </section>
  );
}
